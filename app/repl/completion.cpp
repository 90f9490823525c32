// What Tab offers.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "app/options.h"
#include "app/repl/commands.h"
#include "app/repl/session.h"
#include "app/settings.h"

namespace hearth::repl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostPaths = 200;

std::string expand_home(const std::string& path) {
    if (path == "~" || path.compare(0, 2, "~/") == 0)
        return process_environment("HOME") + path.substr(1);
    return path;
}

bool begins_with(std::string_view text, std::string_view begin) {
    return text.substr(0, begin.size()) == begin;
}

std::vector<std::string> matching(std::vector<std::string> words, std::string_view typed) {
    words.erase(std::remove_if(words.begin(), words.end(),
                               [&](const auto& word) { return !begins_with(word, typed); }),
                words.end());
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
}

std::vector<std::string> setting_words() {
    std::vector<std::string> words{"verbose", "quiet",     "wordwrap", "nowordwrap",
                                   "history", "nohistory", "system",   "parameter"};
    for (const SettingRow& row : setting_rows()) words.emplace_back(row.name);
    return words;
}

std::vector<std::string> words_for(ReplSession& session, Argument argument) {
    std::vector<std::string> words;
    switch (argument) {
        case Argument::model:
            for (const FoundModel& model : session.chat.models()) words.push_back(model.name);
            return words;
        case Argument::setting:
            return setting_words();
        case Argument::topic:
            return {"info", "template", "parameters", "system", "license"};
        case Argument::command:
            words = {"keys", "settings"};
            for (const Command& command : commands()) words.emplace_back(command.name);
            return words;
        case Argument::none:
        case Argument::text:
        case Argument::path:
            break;
    }
    return words;
}

}  // namespace

std::vector<std::string> complete_path(const std::string& typed) {
    const auto slash = typed.rfind('/');
    const std::string shown_folder = slash == std::string::npos ? "" : typed.substr(0, slash + 1);
    const std::string begin = slash == std::string::npos ? typed : typed.substr(slash + 1);
    const std::string folder = shown_folder.empty() ? "." : expand_home(shown_folder);
    std::vector<std::string> out;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!begins_with(name, begin) || (begin.empty() && name[0] == '.')) continue;
        std::error_code ignored;
        out.push_back(shown_folder + name + (it->is_directory(ignored) ? "/" : ""));
        if (out.size() == kMostPaths) break;
    }
    std::sort(out.begin(), out.end());
    return out;
}

std::string path_from(const std::string& typed) {
    std::string path = trimmed(typed);
    if (path.size() >= 2 && (path[0] == '"' || path[0] == '\'') && path.back() == path[0]) {
        return expand_home(path.substr(1, path.size() - 2));
    }
    if (path.compare(0, 7, "file://") == 0) path.erase(0, 7);
    std::error_code error;
    if (path.find('\\') != std::string::npos && !fs::exists(expand_home(path), error)) {
        std::string plain;
        for (std::size_t i = 0; i < path.size(); ++i) {
            if (path[i] == '\\' && i + 1 < path.size()) ++i;
            plain += path[i];
        }
        path = plain;
    }
    return expand_home(path);
}

Completion complete_command(ReplSession& session, std::string_view text, std::size_t cursor) {
    Completion out;
    if (text.empty() || text[0] != '/' || text.substr(0, 2) == "//") return out;
    const std::string_view typed = text.substr(0, cursor);
    const auto space = typed.find(' ');
    if (space == std::string_view::npos) {
        std::vector<std::string> words;
        for (const Command& command : commands()) words.push_back(fmt::format("/{}", command.name));
        out.candidates = matching(words, typed);
        return out;
    }
    const Command* command = find_command(typed.substr(1, space - 1));
    if (command == nullptr) return out;
    const auto argument = std::min(typed.find_first_not_of(' ', space), typed.size());
    const std::string begin(typed.substr(argument));
    out.begin = argument;
    if (command->argument == Argument::path) {
        out.candidates = complete_path(begin);
    } else if (begin.find(' ') == std::string::npos) {
        out.candidates = matching(words_for(session, command->argument), begin);
    }
    return out;
}

}  // namespace hearth::repl
