// Slash commands about branches, order and exchange of chats.
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "app/repl/command_table.h"
#include "app/repl/commands.h"
#include "app/repl/graphemes.h"
#include "app/repl/session.h"
#include "app/session.h"

namespace hearth::repl {
namespace {

/// A whole number of 1 or more, nothing else.
std::optional<std::size_t> number(const std::string& text) {
    std::size_t value = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || value == 0)
        return std::nullopt;
    return value;
}

/// The message with this number in the chat that is shown, counted from 1.
Result<StoredMessage> message_at(const ReplSession& s, const std::string& text) {
    const auto& messages = s.chat.view().messages;
    const auto n = number(text);
    if (!n || *n > messages.size())
        return fail(Errc::usage,
                    "a message from 1 to {} is expected, found '{}' (/tree lists them)",
                    messages.size(), text);
    return messages[*n - 1];
}

/// The last message that has a role; nullptr when there is none.
const StoredMessage* last_with_role(const ReplSession& s, const char* role) {
    const auto& messages = s.chat.view().messages;
    for (auto m = messages.rbegin(); m != messages.rend(); ++m)
        if (m->role == role) return &*m;
    return nullptr;
}

/// What /versions and /switch are about without a number: the last message that has several.
Result<StoredMessage> message_with_versions(const ReplSession& s) {
    const auto& messages = s.chat.view().messages;
    for (auto m = messages.rbegin(); m != messages.rend(); ++m)
        if (m->n_versions > 1) return *m;
    if (messages.empty()) return fail(Errc::failed, "this chat is empty");
    return messages.back();
}

std::string preview(const std::string& text) {
    return sanitize_line(std::string_view(text).substr(0, 200));
}

Result<Conversation> chat_named(const ReplSession& s, const std::string& args) {
    if (!args.empty()) return s.chat.find_chat(args);
    if (s.chat.view().chat.id == 0) return fail(Errc::failed, "this chat is empty so far");
    return s.chat.view().chat;
}

}  // namespace

Outcome command_edit(ReplSession& s, const std::string& args) {
    StoredMessage question;
    if (!args.empty()) {
        HEARTH_TRY(question, message_at(s, args));
        if (question.role != "user")
            return fail(Errc::usage, "message {} is an answer; /regen answers again", args);
    } else {
        const StoredMessage* last = last_with_role(s, "user");
        if (last == nullptr) return fail(Errc::failed, "there is no question yet to edit");
        question = *last;
    }
    s.editing = question.id;
    s.next_text = question.content;
    s.next_literal = true;
    s.say_dim("The question stands in the line; Enter asks it anew, Ctrl+C leaves all as it was.");
    return {};
}

Outcome command_branch(ReplSession& s, const std::string& args) {
    if (args.empty()) {
        const StoredMessage* last = last_with_role(s, "user");
        if (last == nullptr) return fail(Errc::failed, "this chat is empty, it has no branches");
        HEARTH_TRY_VOID(s.chat.branch_from(last->parent));
    } else {
        HEARTH_TRY(const StoredMessage message, message_at(s, args));
        HEARTH_TRY_VOID(s.chat.branch_from(message.id));
        // An answer is missing after a question: it is what comes next.
        if (message.role == "user") s.say_dim("/regen answers the question here.");
    }
    s.say_dim(
        fmt::format("The chat goes on after message {}. What came later is kept as a branch "
                    "(/tree shows it).",
                    s.chat.view().messages.size()));
    return {};
}

Outcome command_fork(ReplSession& s, const std::string& args) {
    MessageId last = 0;
    if (!args.empty()) {
        HEARTH_TRY(const StoredMessage message, message_at(s, args));
        last = message.id;
    }
    HEARTH_TRY_VOID(s.chat.fork(last));
    s.say_dim(fmt::format("This is chat {} now, a copy of {} messages.", s.chat.view().chat.id,
                          s.chat.view().messages.size()));
    return {};
}

Outcome command_versions(ReplSession& s, const std::string& args) {
    StoredMessage message;
    if (args.empty()) {
        HEARTH_TRY(message, message_with_versions(s));
    } else {
        HEARTH_TRY(message, message_at(s, args));
    }
    HEARTH_TRY(const auto versions, s.chat.versions(message.id));
    std::vector<std::vector<std::string>> rows;
    for (const StoredMessage& v : versions)
        rows.push_back({v.id == message.id ? "*" : " ", std::to_string(v.version),
                        show_time(v.created_ms), preview(v.content)});
    s.say(table(rows, s.columns(), 0));
    s.say_dim(versions.size() > 1 ? fmt::format("/switch NUMBER{} shows another one.",
                                                args.empty() ? "" : fmt::format(" {}", args))
                                  : "There is one version; /regen or /edit make others.");
    return {};
}

Outcome command_switch(ReplSession& s, const std::string& args) {
    const Split split = split_word(args);
    const auto wanted = number(split.word);
    if (!wanted)
        return fail(Errc::usage,
                    "/switch takes the number of a version (/versions lists them) and, "
                    "if it is not the last, of the message; /resume opens another "
                    "chat");
    StoredMessage message;
    if (split.rest.empty()) {
        HEARTH_TRY(message, message_with_versions(s));
    } else {
        HEARTH_TRY(message, message_at(s, split.rest));
    }
    HEARTH_TRY(const auto versions, s.chat.versions(message.id));
    if (*wanted > versions.size())
        return fail(Errc::usage, "there is no version {}: the message has {}", *wanted,
                    versions.size());
    HEARTH_TRY_VOID(s.chat.show_version(versions[*wanted - 1].id));
    show_where_it_stood(s);
    return {};
}

Outcome command_tree(ReplSession& s, const std::string&) {
    HEARTH_TRY(const auto tree, s.chat.tree());
    if (tree.empty()) {
        s.say_dim("This chat is empty.");
        return {};
    }
    std::map<MessageId, std::vector<const TreeEntry*>> below;
    for (const TreeEntry& entry : tree) below[entry.parent].push_back(&entry);
    std::map<MessageId, std::size_t> places;
    for (std::size_t i = 0; i < s.chat.view().messages.size(); ++i)
        places[s.chat.view().messages[i].id] = i + 1;
    // Depth first; a branch is indented where it begins, not at each message.
    std::string text;
    std::vector<std::pair<const TreeEntry*, int>> todo;
    const auto push = [&](MessageId parent, int indent) {
        const auto& children = below[parent];
        const int inner = indent + (children.size() > 1 ? 2 : 0);
        for (auto c = children.rbegin(); c != children.rend(); ++c) todo.emplace_back(*c, inner);
    };
    push(0, 0);
    while (!todo.empty()) {
        const auto [entry, indent] = todo.back();
        todo.pop_back();
        const auto place = places.find(entry->id);
        const std::string line = fmt::format(
            "{:{}}{} {} {}", "", std::min(indent, 40),
            place != places.end() ? fmt::format("{:>3}", place->second) : std::string("  ·"),
            entry->role == "user" ? ">>>" : "   ", sanitize_line(entry->preview));
        text += (text.empty() ? "" : "\n") + clip(line, s.columns() - 1);
        push(entry->id, indent);
    }
    s.say(text);
    s.say_dim("Numbers: messages of the branch that is shown, for /edit, /branch, /versions.");
    return {};
}

Outcome command_pin(ReplSession& s, const std::string& args) {
    HEARTH_TRY(const Conversation chat, chat_named(s, args));
    HEARTH_TRY_VOID(s.chat.set_pinned(chat.id, !chat.pinned));
    s.say(fmt::format("Chat {} {}.", chat.id,
                      chat.pinned ? "is no longer pinned" : "is pinned: it stands first"));
    return {};
}

Outcome command_archive(ReplSession& s, const std::string& args) {
    HEARTH_TRY(const Conversation chat, chat_named(s, args));
    HEARTH_TRY_VOID(s.chat.set_archived(chat.id, !chat.archived));
    s.say(chat.archived ? fmt::format("Chat {} is back in the list.", chat.id)
                        : fmt::format("Chat {} is archived: not listed, still found by /search and "
                                      "/resume {}; /archive {} brings it back.",
                                      chat.id, chat.id, chat.id));
    return {};
}

Outcome command_export(ReplSession& s, const std::string& args) {
    const Split split = split_word(args);
    auto format = export_format(split.word);
    const std::string file = path_from(format ? split.rest : args);
    if (!format && !args.empty()) format = export_format_of_file(file, ExportFormat::markdown);
    if (!format || file.empty())
        return fail(Errc::usage, "/export md|json|html FILE, or /export FILE.md");
    if (s.chat.view().chat.id == 0)
        return fail(Errc::failed, "this chat is empty, there is nothing to export");
    HEARTH_TRY(const std::string text, s.chat.export_chat(s.chat.view().chat.id, *format));
    HEARTH_TRY_VOID(write_new_file(file, text));
    s.say(fmt::format("Written: {}.", file));
    return {};
}

Outcome command_import(ReplSession& s, const std::string& args) {
    if (args.empty())
        return fail(Errc::usage,
                    "/import FILE (of Hearth, ChatGPT, LM Studio, or a list of "
                    "messages)");
    HEARTH_TRY(const ImportSum sum, s.chat.import_chats(path_from(args)));
    for (const std::string& note : sum.notes) s.say_dim(note);
    s.say(fmt::format("Imported: {}.", import_sentence(sum)));
    if (sum.last != 0 && sum.n_new > 0) s.say_dim(fmt::format("/resume {} opens it.", sum.last));
    return {};
}

}  // namespace hearth::repl
