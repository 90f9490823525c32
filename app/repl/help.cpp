// The texts of /help.
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/repl/commands.h"
#include "app/repl/graphemes.h"
#include "app/repl/session.h"
#include "app/settings.h"

namespace hearth::repl {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr const char* kKeys[][2] = {
    {"Enter", "send; after \\ or inside \"\"\" a new line"},
    {"Ctrl+J, Alt+Enter", "new line"},
    {"Ctrl+C", "stop the answer; clear the line; twice on an empty line: leave"},
    {"Ctrl+D", "leave, on an empty line"},
    {"Up, Down, Ctrl+P, Ctrl+N", "what was typed before"},
    {"Ctrl+R", "search in it"},
    {"Tab", "complete commands, models, files"},
    {"Ctrl+A, Ctrl+E, Home, End", "begin, end of the line"},
    {"Alt+B, Alt+F, Ctrl+Left, Ctrl+Right", "a word back, forward"},
    {"Ctrl+W, Alt+D", "cut the word before, behind the cursor"},
    {"Ctrl+U, Ctrl+K", "cut to the begin, to the end of the line"},
    {"Ctrl+Y, Alt+Y", "put back what was cut; the cut before it"},
    {"Ctrl+T", "swap two characters"},
    {"Ctrl+G, Ctrl+O, Ctrl+X Ctrl+E", "write in $VISUAL or $EDITOR"},
    {"Ctrl+L", "clear the screen"},
    {"Ctrl+Z", "put hearth to sleep (fg wakes it)"},
};

std::string alias_text(const Command& command) {
    std::istringstream words(command.aliases);
    std::string out;
    for (std::string word; words >> word;) out += (out.empty() ? "/" : ", /") + word;
    return out;
}

std::string usage(const Command& command) {
    std::string out = std::string("/") + command.name;
    if (*command.args != '\0') out += std::string(" ") + command.args;
    return out;
}

/// Every command with what it does: more rows than a small screen has.
std::string all_commands(int columns) {
    Rows rows;
    std::string group;
    for (const Command& command : commands()) {
        const std::string args = std::string(command.args).size() > 14 ? "…" : command.args;
        rows.push_back({command.group == group ? "" : command.group,
                        std::string("/") + command.name + (args.empty() ? "" : " " + args),
                        command.help});
        group = command.group;
    }
    return table(rows, columns);
}

/// The words alone, a group in one or two rows.
std::string command_words(int columns) {
    constexpr int kIndent = 12;
    std::string out, group, line;
    for (const Command& command : commands()) {
        const std::string word = " " + usage(command);
        if (group != command.group) {
            out += line + (line.empty() ? "" : "\n");
            group = command.group;
            line = fmt::format("  {:<{}}", group, kIndent - 3);
        }
        if (text_columns(line + word) >= columns && text_columns(line) > kIndent) {
            out += line + "\n";
            line.assign(kIndent - 1, ' ');
        }
        line += word;
    }
    return out + line +
           "\n\nAnything else is a message; a line that begins with // is sent with one slash.\n"
           "More: /help all, /help keys, /help settings, /help COMMAND";
}

std::string keys(int columns) {
    Rows rows;
    for (const auto& key : kKeys) rows.push_back({key[0], key[1]});
    return "Keys\n" + table(rows, columns);
}

std::string settings(int columns) {
    Rows rows;
    for (const SettingRow& row : setting_rows()) rows.push_back({row.name, row.help});
    return "/set NAME VALUE changes one for this chat, /set NAME default gives it back.\n" +
           table(rows, columns) + "\nHow the terminal shows things\n" +
           table({{"verbose, quiet", "numbers after each answer, or none"},
                  {"wordwrap, nowordwrap", "break rows at words, or leave it to the terminal"},
                  {"history, nohistory", "remember what is typed, or not"}},
                 columns);
}

std::string one_command(const Command& command) {
    std::string out = fmt::format("{}\n  {}", usage(command), command.help);
    const std::string aliases = alias_text(command);
    if (!aliases.empty()) out += "\n  also: " + aliases;
    const std::string name = command.name;
    if (name == "save" || name == "model") {
        out +=
            "\n  (In Ollama /save and /load are about models; here /save writes the chat and "
            "/load\n  takes a model.)";
    } else if (name == "delete") {
        out += "\n  /delete undo brings the last one back.";
    } else if (name == "system") {
        out += "\n  /system clear takes it away.";
    } else if (name == "regen") {
        out += "\n  The answer so far stays in the database as another version.";
    } else if (name == "file") {
        out += "\n  /file alone lists what waits, /file clear takes it away.";
    }
    return out;
}

}  // namespace

std::string help_text(const std::string& topic, int columns) {
    std::string word = trimmed(topic);
    if (!word.empty() && word[0] == '/') word.erase(0, 1);
    if (word.empty()) return command_words(columns);
    if (word == "all" || word == "commands") return all_commands(columns);
    if (word == "keys" || word == "shortcuts") return keys(columns);
    if (word == "settings" || word == "set" || word == "parameters") return settings(columns);
    if (const Command* command = find_command(word)) return one_command(*command);
    return fmt::format("There is no help about '{}'. /help lists the commands.", word);
}

}  // namespace hearth::repl
