#include "app/repl/commands.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "app/repl/command_table.h"
#include "app/repl/session.h"

namespace hearth::repl {
namespace {

Outcome command_help(ReplSession& s, const std::string& args) {
    s.say(help_text(args, s.columns()));
    return {};
}

Outcome command_exit(ReplSession& s, const std::string&) {
    s.leave = 0;
    return {};
}

Outcome command_multi(ReplSession& s, const std::string&) {
    s.say_dim("Several lines: end them with \"\"\" and Enter. (Ctrl+J also begins a new line.)");
    s.next_text = "\"\"\"\n";
    return {};
}

/// Commands of other programs, and those that come with branches, drafts, files and caches.
constexpr std::string_view kLater[] = {
    "cache", "compact", "compress", "think", "nothink", "reasoning", "image", "audio",
    "video", "glob",    "format",   "tools", "skills",  "download",  "pull",
};

bool has_word(std::string_view words, std::string_view word) {
    for (std::size_t begin = 0; begin < words.size();) {
        const std::size_t end = std::min(words.find(' ', begin), words.size());
        if (words.substr(begin, end - begin) == word) return true;
        begin = end + 1;
    }
    return false;
}

/// Edits (insert, delete, replace, swap of neighbours) between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before = std::exchange(last, row);
    }
    return last[b.size()];
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return out;
}

/// The text of a """ block, or nullopt-like empty with `is_block` false.
bool is_block(const std::string& line, std::string& inside) {
    const std::string text = trimmed(line);
    if (text.size() < 6 || text.compare(0, 3, "\"\"\"") != 0 ||
        text.compare(text.size() - 3, 3, "\"\"\"") != 0) {
        return false;
    }
    inside = text.substr(3, text.size() - 6);
    if (!inside.empty() && inside.front() == '\n') inside.erase(0, 1);
    if (!inside.empty() && inside.back() == '\n') inside.pop_back();
    return true;
}

}  // namespace

const std::vector<Command>& commands() {
    static const std::vector<Command> table{
        {"help", "?", "[topic]", "this list, or more about one thing", "Basics", Argument::command,
         command_help},
        {"exit", "bye quit", "", "leave (also Ctrl+D)", "Basics", Argument::none, command_exit},
        {"new", "", "", "begin a new chat", "Basics", Argument::none, command_new},
        {"clear", "", "", "empty the context, keep the settings", "Basics", Argument::none,
         command_clear},
        {"multi", "", "", "write several lines", "Basics", Argument::none, command_multi},

        {"model", "load", "[name]", "say which model answers, or take another", "Model",
         Argument::model, command_model},
        {"list", "ls models", "", "models on this machine", "Model", Argument::none, command_list},
        {"ps", "", "", "what is loaded", "Model", Argument::none, command_ps},
        {"show", "", "info|template|parameters|system|license", "look into the model", "Model",
         Argument::topic, command_show},

        {"set", "", "[name value]", "settings: temperature, verbose, wordwrap, …", "Settings",
         Argument::setting, command_set},
        {"draft", "speculate", "[auto|off|lookup|name]", "guess ahead, with a small model or not",
         "Settings", Argument::model, command_draft},
        {"preset", "presets", "[name | save name | rm name]",
         "system prompts and settings kept by name", "Settings", Argument::text, command_preset},
        {"system", "", "[text]", "show or set the system prompt", "Settings", Argument::text,
         command_system},

        {"regen", "regenerate retry", "", "answer again (the old answer is kept)", "Turn",
         Argument::none, command_regen},
        {"continue", "", "", "let the last answer go on", "Turn", Argument::none, command_continue},
        {"undo", "", "", "take the last question back, to edit it", "Turn", Argument::none,
         command_undo},
        {"edit", "", "[n]", "ask the last question, or message n, anew", "Turn", Argument::text,
         command_edit},
        {"versions", "", "[n]", "versions of the last answer, or of message n", "Turn",
         Argument::text, command_versions},
        {"switch", "version", "v [n]", "show another version (of message n)", "Turn",
         Argument::text, command_switch},
        {"branch", "", "[n]", "go back to message n and go on from there", "Turn", Argument::text,
         command_branch},
        {"fork", "", "[n]", "a new chat with the messages up to n", "Turn", Argument::text,
         command_fork},
        {"tree", "branches", "", "all branches of this chat", "Turn", Argument::none, command_tree},
        {"copy", "", "[code]", "put the last answer or code on the clipboard", "Turn",
         Argument::text, command_copy},

        {"history", "chats", "[n|trash]", "chats, newest first; archived or trash", "Chats",
         Argument::text, command_history},
        {"resume", "open", "number|title", "go on with another chat", "Chats", Argument::text,
         command_resume},
        {"search", "", "text", "find chats by what was said", "Chats", Argument::text,
         command_search},
        {"title", "", "[text]", "show or set the title of this chat", "Chats", Argument::text,
         command_title},
        {"delete", "", "[number]", "delete a chat (/delete undo brings it back)", "Chats",
         Argument::text, command_delete},
        {"pin", "unpin", "[number]", "keep a chat at the top of the list, or no longer", "Chats",
         Argument::text, command_pin},
        {"archive", "unarchive", "[number]", "take a chat out of the list, or back", "Chats",
         Argument::text, command_archive},
        {"export", "", "[md|json|html] file", "write this chat to a file", "Chats", Argument::path,
         command_export},
        {"import", "", "file", "chats of Hearth, ChatGPT, LM Studio, message lists", "Chats",
         Argument::path, command_import},
        {"save", "", "[file]", "write this chat to a Markdown file", "Chats", Argument::path,
         command_save},

        {"file", "read upload", "path", "put a text file before the next message", "Input",
         Argument::path, command_file},

        {"context", "usage", "[policy NAME]", "how full the context is, and what happens then",
         "Insight", Argument::text, command_context},
        {"stats", "", "", "numbers of the last answer", "Insight", Argument::none, command_stats},
    };
    return table;
}

const Command* find_command(std::string_view word) {
    for (const Command& command : commands()) {
        if (word == command.name || has_word(command.aliases, word)) return &command;
    }
    return nullptr;
}

bool is_later_command(std::string_view word) {
    return std::find(std::begin(kLater), std::end(kLater), word) != std::end(kLater);
}

std::vector<std::string> similar_commands(std::string_view word) {
    const std::string typed = lower(word);
    std::vector<std::pair<std::size_t, std::string>> found;
    const auto consider = [&](const std::string& name) {
        const std::size_t distance = edit_distance(typed, name);
        const bool begins = typed.size() >= 2 && name.compare(0, typed.size(), typed) == 0;
        const std::size_t allowed = std::min<std::size_t>(2, name.size() / 2);
        if (begins || distance <= allowed) found.emplace_back(begins ? 0 : distance, "/" + name);
    };
    for (const Command& command : commands()) {
        consider(command.name);
        std::istringstream aliases(command.aliases);
        for (std::string alias; aliases >> alias;) {
            if (alias.size() > 1) consider(alias);
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> out;
    for (const auto& [distance, name] : found) {
        if (out.size() < 3) out.push_back(name);
    }
    return out;
}

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\n");
    if (first == std::string_view::npos) return "";
    return std::string(text.substr(first, text.find_last_not_of(" \t\n") - first + 1));
}

Split split_word(const std::string& args) {
    const std::string text = trimmed(args);
    const auto space = text.find_first_of(" \t\n");
    if (space == std::string::npos) return {text, ""};
    return {text.substr(0, space), trimmed(std::string_view(text).substr(space))};
}

TypedLine classify(const std::string& line, bool literal) {
    TypedLine out;
    out.text = line.substr(0, line.find_last_not_of(" \t\n") + 1);
    if (out.text.empty()) return out;
    out.kind = TypedLine::Kind::message;
    if (literal) return out;
    if (std::string inside; is_block(line, inside)) {
        out.text = std::move(inside);
        if (trimmed(out.text).empty()) out.kind = TypedLine::Kind::empty;
        return out;
    }
    if (out.text[0] != '/') return out;
    if (out.text.size() > 1 && out.text[1] == '/') {
        out.text.erase(0, 1);
        return out;
    }
    const Split split = split_word(out.text);
    out.word = split.word;
    out.args = split.rest;
    const std::string name = out.word.substr(1);
    out.command = find_command(name);
    if (out.command != nullptr) {
        out.kind = TypedLine::Kind::command;
    } else if (is_later_command(name)) {
        out.kind = TypedLine::Kind::later;
    } else if (name.find('/') != std::string::npos || name.find('.') != std::string::npos) {
        out.kind = TypedLine::Kind::path;
    } else {
        out.kind = TypedLine::Kind::unknown;
    }
    return out;
}

}  // namespace hearth::repl
