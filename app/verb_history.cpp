// hearth history, search, rm: conversations that are stored.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "app/chat_turn.h"
#include "app/session.h"
#include "app/verbs.h"
#include "engine/cache_files.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
    const std::string text =
        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
}

Json as_json(const Conversation& chat) {
    return {{"id", chat.id},
            {"title", chat.title},
            {"model", chat.model},
            {"system_prompt", chat.system_prompt},
            {"created_ms", chat.created_ms},
            {"updated_ms", chat.updated_ms},
            {"n_messages", chat.n_messages}};
}

const char* state_name(MessageState state) {
    switch (state) {
        case MessageState::complete:
            return "complete";
        case MessageState::streaming:
            return "streaming";
        case MessageState::stopped:
            return "stopped";
        case MessageState::failed:
            return "failed";
    }
    return "";
}

/// Stored JSON as a value; null when there is none.
Json embedded(const std::string& text) {
    Json json = Json::parse(text, nullptr, false);
    return json.is_discarded() ? Json(nullptr) : json;
}

Json as_json(const StoredMessage& message) {
    return {{"id", message.id},
            {"parent", message.parent},
            {"role", message.role},
            {"content", message.content},
            {"state", state_name(message.state)},
            {"finish_reason", message.finish_reason},
            {"model", message.model},
            {"created_ms", message.created_ms},
            {"params", embedded(message.params_json)},
            {"stats", embedded(message.stats_json)}};
}

int print_list(const std::vector<Conversation>& chats, const Options& options) {
    if (options.json) {
        Json list = Json::array();
        for (const Conversation& chat : chats) list.push_back(as_json(chat));
        print_json(list);
        return 0;
    }
    if (chats.empty() && !options.quiet) std::fputs("no conversations\n", stderr);
    for (const Conversation& chat : chats) {
        fmt::print("{:>5}  {}  {:>3} messages  {}\n", chat.id, show_time(chat.updated_ms),
                   chat.n_messages, printable(chat.title));
    }
    return 0;
}

int print_chat(Store& store, const Conversation& chat, const Options& options) {
    const auto messages = store.path(chat.id);
    if (!messages) return tell_error(messages.error());
    if (options.json) {
        Json json = as_json(chat);
        json["messages"] = Json::array();
        for (const StoredMessage& message : *messages) json["messages"].push_back(as_json(message));
        print_json(json);
        return 0;
    }
    fmt::print("# {}\n", printable(chat.title));
    if (!chat.system_prompt.empty()) fmt::print("\n[system]\n{}\n", printable(chat.system_prompt));
    for (const StoredMessage& message : *messages) {
        const bool is_whole = message.state == MessageState::complete;
        fmt::print("\n[{}{}]\n{}\n", message.role,
                   is_whole ? "" : fmt::format(", {}", state_name(message.state)),
                   printable(message.content));
    }
    return 0;
}

Result<Conversation> find_chat(Store& store, const std::string& name) {
    HEARTH_TRY(const auto chat, store.find(name));
    if (!chat) {
        return fail(Errc::failed, "there is no conversation '{}'; `hearth history` lists them",
                    name);
    }
    return *chat;
}

/// What was computed of it goes at once: should it come back, it is computed again.
void forget_computed(ConversationId id, const Options& options) {
    const auto gone = cache_files::forget(options.paths.cache_dir, engine_name(id));
    if (!gone && !options.quiet) {
        std::fprintf(stderr, "what was computed of it stays cached: %s\n",
                     gone.error().what.c_str());
    }
}

/// Deletes a chat of the list or, by its number, of the trash, with no way back.
Result<void> purge_chat(Store& store, const Options& options) {
    HEARTH_TRY(const auto listed, store.find(options.target));
    ConversationId id = 0;
    if (listed) {
        id = listed->id;
        HEARTH_TRY_VOID(store.remove(id));
    } else {
        HEARTH_TRY(const auto trash, store.list(1'000'000'000, 0, ChatFolder::trash));
        for (const Conversation& chat : trash) {
            if (std::to_string(chat.id) == options.target) id = chat.id;
        }
        if (id == 0) {
            return fail(Errc::failed,
                        "there is no conversation '{}', and none of this number in the trash; "
                        "`hearth history --trash` lists it",
                        options.target);
        }
    }
    HEARTH_TRY_VOID(store.purge(id));
    forget_computed(id, options);
    if (!options.quiet) {
        std::fprintf(stderr, "%lld is gone for good\n", static_cast<long long>(id));
    }
    return {};
}

Result<void> remove_chat(Store& store, const Options& options) {
    if (options.forever) return purge_chat(store, options);
    auto chat = find_chat(store, options.target);
    if (!chat) {
        // People type `rm MODEL` from other programs: say why nothing happens.
        if (resolve_model(options.target, options.places)) {
            return fail(Errc::usage,
                        "{} is a model; hearth removes only what it downloaded itself, and it has "
                        "downloaded nothing. `hearth show {}` says where the file is",
                        options.target, options.target);
        }
        return tl::unexpected<Error>(chat.error());
    }
    HEARTH_TRY_VOID(store.remove(chat->id));
    forget_computed(chat->id, options);
    if (!options.quiet) {
        std::fprintf(stderr, "removed %lld, %s (hearth rm --undo brings it back)\n",
                     static_cast<long long>(chat->id), printable(chat->title).c_str());
    }
    return {};
}

Result<void> restore_chat(Store& store, const Options& options) {
    HEARTH_TRY(const auto chat, store.latest_removed());
    if (!chat) return fail(Errc::failed, "no conversation was removed");
    HEARTH_TRY_VOID(store.restore(chat->id));
    if (!options.quiet) {
        std::fprintf(stderr, "%lld, %s is back\n", static_cast<long long>(chat->id),
                     printable(chat->title).c_str());
    }
    return {};
}

}  // namespace

int verb_history(const Options& options) {
    const auto store = open_store(options);
    if (!store) return tell_error(store.error());
    if (!options.target.empty()) {
        const auto chat = find_chat(**store, options.target);
        return chat ? print_chat(**store, *chat, options) : tell_error(chat.error());
    }
    const auto chats = options.query.empty() ? (*store)->list(options.limit, 0, options.folder)
                                             : (*store)->search(options.query, options.limit);
    return chats ? print_list(*chats, options) : tell_error(chats.error());
}

int verb_rm(const Options& options) {
    const auto store = open_store(options);
    if (!store) return tell_error(store.error());
    const Result<void> done =
        options.undo ? restore_chat(**store, options) : remove_chat(**store, options);
    return done ? 0 : tell_error(done.error());
}

}  // namespace hearth
