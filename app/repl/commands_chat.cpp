// Slash commands about chats and turns.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "app/repl/command_table.h"
#include "app/repl/commands.h"
#include "app/repl/graphemes.h"
#include "app/repl/session.h"
#include "app/session.h"

namespace hearth::repl {
namespace {

constexpr int kDefaultHistory = 15;
constexpr int kMostFound = 30;

std::string title_of(const Conversation& chat) {
    return chat.title.empty() ? "(no title)" : sanitize_line(chat.title);
}

void list_chats(ReplSession& s, const std::vector<Conversation>& chats) {
    std::vector<std::vector<std::string>> rows;
    const ConversationId current = s.chat.view().chat.id;
    for (const Conversation& chat : chats) {
        rows.push_back({chat.id == current ? "*" : " ", std::to_string(chat.id),
                        show_time(chat.updated_ms), fmt::format("{} messages", chat.n_messages),
                        title_of(chat)});
    }
    s.say(table(rows, s.columns(), 0));
}

std::string base64(std::string_view bytes) {
    static constexpr char kDigits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
        unsigned value = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            value = value << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        }
        for (std::size_t j = 0; j < 4; ++j) {
            out += j <= n ? kDigits[value >> (18 - 6 * j) & 63] : '=';
        }
    }
    return out;
}

/// The text between the last pair of ``` lines; "" when there is none.
std::string last_code(const std::string& text) {
    std::string code, inside;
    bool in_code = false;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        if (trimmed(line).compare(0, 3, "```") == 0) {
            if (in_code) code = inside;
            inside.clear();
            in_code = !in_code;
        } else if (in_code) {
            inside += line + "\n";
        }
        begin = end + 1;
    }
    return code;
}

const StoredMessage* last_answer(const ReplSession& s) {
    const auto& messages = s.chat.view().messages;
    const auto found = std::find_if(messages.rbegin(), messages.rend(),
                                    [](const auto& m) { return m.role == "assistant"; });
    return found == messages.rend() ? nullptr : &*found;
}

}  // namespace

Outcome command_new(ReplSession& s, const std::string&) {
    HEARTH_TRY_VOID(s.chat.new_chat());
    s.say_dim("A new chat. The others are in /history.");
    return {};
}

Outcome command_clear(ReplSession& s, const std::string&) {
    const std::string system = s.chat.system_prompt();
    std::vector<SettingValue> kept = s.chat.params();
    HEARTH_TRY_VOID(s.chat.new_chat());
    HEARTH_TRY_VOID(s.chat.set_system(system));
    for (const SettingValue& value : kept) {
        if (value.origin == Origin::chat)
            HEARTH_TRY_VOID(s.chat.set_param(value.name, value.value));
    }
    s.say_dim("The context is empty. The chat so far is kept in /history.");
    return {};
}

Outcome command_history(ReplSession& s, const std::string& args) {
    int limit = kDefaultHistory;
    if (args == "trash" || args == "archived") {
        const bool trash = args == "trash";
        HEARTH_TRY(const auto chats,
                   s.chat.chats(kMostFound, 0, trash ? ChatFolder::trash : ChatFolder::archived));
        if (chats.empty()) {
            s.say_dim(trash ? "The trash is empty." : "No chat is archived.");
        } else {
            list_chats(s, chats);
            s.say_dim(trash ? "/delete undo brings the last one back."
                            : "/archive NUMBER brings one back.");
        }
        return {};
    }
    if (!args.empty()) {
        const auto end = std::from_chars(args.data(), args.data() + args.size(), limit);
        if (end.ec != std::errc() || end.ptr != args.data() + args.size() || limit < 1) {
            return fail(Errc::usage,
                        "/history takes how many chats to list, trash or archived, not '{}'", args);
        }
    }
    HEARTH_TRY(const auto chats, s.chat.chats(limit));
    if (chats.empty()) {
        s.say_dim("No chat is stored yet.");
        return {};
    }
    list_chats(s, chats);
    s.say_dim("/resume NUMBER goes on with one of them.");
    return {};
}

Outcome command_resume(ReplSession& s, const std::string& args) {
    if (args.empty()) return command_history(s, "");
    HEARTH_TRY(const Conversation chat, s.chat.find_chat(args));
    HEARTH_TRY_VOID(s.chat.switch_to(chat.id));
    show_where_it_stood(s);
    return {};
}

void show_where_it_stood(ReplSession& s) {
    const ViewState& view = s.chat.view();
    if (view.messages.empty()) return;
    s.say_dim(fmt::format("Chat {}: {} ({} messages, {})", view.chat.id, title_of(view.chat),
                          view.messages.size(), view.model_name));
    if (view.unseen_end > view.unseen_begin) {
        s.say_dim(fmt::format("--- the model does not see messages {} to {} ---",
                              view.unseen_begin + 1, view.unseen_end));
    }
    const std::size_t first = view.messages.size() > 2 ? view.messages.size() - 2 : 0;
    for (std::size_t i = first; i < view.messages.size(); ++i) {
        const StoredMessage& message = view.messages[i];
        const std::string mark = message.role == "user" ? ">>> " : "";
        s.say_dim(clip(mark + sanitize_line(message.content), s.columns() - 1));
    }
}

Outcome command_search(ReplSession& s, const std::string& args) {
    if (args.empty()) return fail(Errc::usage, "what to search for? /search TEXT");
    HEARTH_TRY(const auto chats, s.chat.search(args, kMostFound));
    if (chats.empty()) {
        s.say(fmt::format("No chat has '{}'.", args));
        return {};
    }
    list_chats(s, chats);
    return {};
}

Outcome command_title(ReplSession& s, const std::string& args) {
    if (!args.empty()) HEARTH_TRY_VOID(s.chat.set_title(sanitize_line(args)));
    s.say(title_of(s.chat.view().chat));
    return {};
}

Outcome command_delete(ReplSession& s, const std::string& args) {
    if (args == "undo") {
        HEARTH_TRY(const Conversation chat, s.chat.restore_chat());
        s.say(fmt::format("Chat {} is back: {}. /resume {} goes on with it.", chat.id,
                          title_of(chat), chat.id));
        return {};
    }
    Conversation chat = s.chat.view().chat;
    if (!args.empty()) {
        HEARTH_TRY(chat, s.chat.find_chat(args));
    } else if (chat.id == 0) {
        return fail(Errc::failed, "this chat is empty, there is nothing to delete");
    }
    HEARTH_TRY_VOID(s.chat.remove_chat(chat.id));
    s.say(fmt::format("Chat {} is deleted: {}. /delete undo brings it back.", chat.id,
                      title_of(chat)));
    return {};
}

Outcome command_save(ReplSession& s, const std::string& args) {
    const ViewState& view = s.chat.view();
    if (view.chat.id == 0)
        return fail(Errc::failed, "this chat is empty, there is nothing to save");
    if (args.empty() && !s.options.no_log) {
        s.say(fmt::format("This is chat {}, saved as you write: {}.", view.chat.id,
                          title_of(view.chat)));
        s.say_dim("/save FILE writes a copy as Markdown.");
        return {};
    }
    const std::string path =
        args.empty() ? fmt::format("chat-{}.md", view.chat.id) : path_from(args);
    HEARTH_TRY(const std::string text, s.chat.export_chat(view.chat.id, ExportFormat::markdown));
    HEARTH_TRY_VOID(write_new_file(path, text));
    s.say(fmt::format("Written: {} ({} messages).", path, view.messages.size()));
    return {};
}

Outcome command_regen(ReplSession& s, const std::string&) {
    HEARTH_TRY_VOID(s.chat.regenerate());
    s.turn_started = true;
    return {};
}

Outcome command_continue(ReplSession& s, const std::string&) {
    HEARTH_TRY_VOID(s.chat.continue_last());
    s.turn_started = true;
    return {};
}

Outcome command_undo(ReplSession& s, const std::string&) {
    HEARTH_TRY(s.next_text, s.chat.undo());
    s.next_literal = true;
    s.say_dim("Taken back. The question stands in the line; Ctrl+C drops it.");
    return {};
}

Outcome command_copy(ReplSession& s, const std::string& args) {
    const StoredMessage* answer = last_answer(s);
    if (answer == nullptr) return fail(Errc::failed, "there is no answer yet to copy");
    if (!args.empty() && args != "code") return fail(Errc::usage, "/copy or /copy code");
    const std::string text = args == "code" ? last_code(answer->content) : answer->content;
    if (text.empty()) return fail(Errc::failed, "the last answer has no code between ``` lines");
    if (!s.terminal.editing()) {
        return fail(Errc::failed,
                    "this terminal cannot set the clipboard; /save FILE writes a file");
    }
    // OSC 52: the terminal sets the clipboard, over ssh too.
    s.terminal.write("\x1b]52;c;" + base64(text) + "\x07");
    s.say_dim(fmt::format("Sent {} characters to the clipboard (if the terminal allows it).",
                          grouped(static_cast<std::int64_t>(text.size()))));
    return {};
}

}  // namespace hearth::repl
