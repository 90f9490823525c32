#include "app/help_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/environment.h"

namespace hearth {
namespace {

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::string_view first = words.substr(0, words.find(' '));
        if (first == word) return true;
        words.remove_prefix(std::min(first.size() + 1, words.size()));
    }
    return false;
}

/// Insertions, deletions and changes from `a` to `b` (Levenshtein).
std::size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
        }
    }
    return row[b.size()];
}

}  // namespace

const std::vector<VerbRow>& verb_rows() {
    static const std::vector<VerbRow> rows = {
        {Verb::run, "run", "chat", "[MODEL] [PROMPT]", "talk with a model, or ask once"},
        {Verb::window, "window", "gui", "", "the chat in a window (hearth alone opens it too)"},
        {Verb::ls, "ls", "list", "", "models on this machine"},
        {Verb::show, "show", "", "MODEL [info|template|parameters|metadata|license]",
         "what a model file says"},
        {Verb::history, "history", "logs", "[CHAT]", "conversations, or one as text"},
        {Verb::history, "search", "", "TEXT", "conversations that contain a text"},
        {Verb::rm, "rm", "", "CHAT", "remove a conversation (rm --undo brings it back)"},
        {Verb::export_chats, "export", "", "CHAT|--all [FILE]",
         "a conversation as Markdown, JSON or HTML"},
        {Verb::import_chats, "import", "", "FILE…",
         "conversations of Hearth, ChatGPT, LM Studio, or lists of messages"},
        {Verb::backup, "backup", "", "[FILE]", "a whole copy of the conversations"},
        {Verb::paths, "paths", "", "", "files and folders in use"},
        {Verb::cache, "cache", "", "[ls|prune|verify|clear]",
         "what is kept on disk of prefixes that were computed"},
        {Verb::inspect, "inspect", "", "tokenize|detokenize|template|logits|nll MODEL …",
         "what the engine computes, as JSON"},
        {Verb::bench, "bench", "", "MODEL", "speed at several context lengths"},
        {Verb::doctor, "doctor", "", "", "what this machine has and what is wrong"},
        {Verb::version, "version", "", "", "version of this program"},
        {Verb::help, "help", "", "[VERB]", "this text, or the flags of a verb"},
    };
    return rows;
}

const VerbRow* find_verb(const std::string& word) {
    for (const VerbRow& row : verb_rows()) {
        if (word == row.name || has_word(row.aliases, word)) return &row;
    }
    return nullptr;
}

std::string version_number() { return HEARTH_VERSION; }
std::string version_text() { return "hearth " HEARTH_VERSION "\n"; }

std::string main_help() {
    std::string text =
        "hearth: a private chat with a language model on your own machine\n\n"
        "  hearth                             talk with the model used last\n"
        "  hearth run MODEL                   talk with a model: a name, or a .gguf file\n"
        "  hearth run MODEL \"question\"        ask once\n"
        "  cat FILE | hearth run MODEL \"question about it\"\n\nVerbs:\n";
    for (const VerbRow& row : verb_rows()) {
        text += fmt::format("  {:<10} {}{}\n", row.name, row.help,
                            *row.aliases ? fmt::format(" (also: {})", row.aliases) : "");
    }
    text += "\n`hearth help VERB` lists the flags of a verb.\n\nEnvironment:\n";
    for (const EnvironmentVariable& variable : environment_variables()) {
        text += fmt::format("  {}\n      {}\n", variable.name, variable.help);
    }
    text +=
        "\nExit codes: 0 ok, 1 failed, 2 usage, 3 model not found or invalid, 4 out of memory,\n"
        "5 the prompt does not fit the context, 130 interrupted, 143 terminated.\n"
        "A value comes from: flag, environment, chat, config file, model file, model card, built "
        "in.\n";
    return text;
}

std::string not_yet(const std::string& word) {
    static const std::vector<std::pair<const char*, const char*>> later = {
        {"pull get", "downloading models: put a GGUF file into the folder of `hearth paths`"},
        {"serve", "the server"},
        {"ps stop", "a shared engine: each hearth has its own"},
        {"fit", "this verb"},
        {"gui window", "the window"},
        {"--model-draft -md --draft-max --draft-min", "speculation has one setting: --draft"},
        {"--gpu-layers -ngl", "running layers on a graphics card"},
        {"--kv-type-k --kv-type-v -ctk -ctv", "separate types: --kv-type f16 or bf16 sets both"},
        {"--think --hide-thinking", "control of thinking"},
        {"--schema --grammar", "constrained answers"},
        {"--image", "images"},
    };
    const std::string name = word.substr(0, word.find('='));
    for (const auto& [words, what] : later) {
        if (has_word(words, name)) {
            return fmt::format("{} is not there yet ({})", name, what);
        }
    }
    return "";
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
    std::string best;
    std::size_t best_distance = 3;
    for (const std::string& candidate : known) {
        const std::size_t d = distance(word, candidate);
        if (d < best_distance && d < candidate.size()) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

}  // namespace hearth
