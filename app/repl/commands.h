#pragma once
// The table of slash commands, and what a typed line is: a message, a command, or neither. Words
// are exact; nothing is a prefix match. Pure but for the functions that the table points to.

#include <string>
#include <string_view>
#include <vector>

#include "app/repl/line_edit.h"
#include "engine/base/result.h"

namespace hearth::repl {

struct ReplSession;

/// What Tab completes after the word.
enum class Argument { none, text, model, path, setting, topic, command };

struct Command {
    const char* name;     ///< without the slash
    const char* aliases;  ///< further words, space separated
    const char* args;     ///< as the help shows them
    const char* help;     ///< one line
    const char* group;    ///< heading in the help
    Argument argument;
    Result<void> (*run)(ReplSession& session, const std::string& args);
};

const std::vector<Command>& commands();
/// By exact word (no slash), name or alias; nullptr when there is none.
const Command* find_command(std::string_view word);
/// Known elsewhere or planned, and not here.
bool is_later_command(std::string_view word);
/// The nearest words (with slash), best first, at most three.
std::vector<std::string> similar_commands(std::string_view word);

struct TypedLine {
    enum class Kind {
        empty,
        message,  ///< `text` goes to the model
        command,  ///< `command` with `args`
        later,    ///< a command that is not there yet
        unknown,  ///< /word that nobody knows
        path,     ///< begins like a path: /usr/bin/…
    };
    Kind kind = Kind::empty;
    std::string text;
    const Command* command = nullptr;
    std::string word;  ///< first word, with the slash
    std::string args;
};
/// `literal`: pasted, so it is a message whatever it looks like. A """ block is one, too; //x is
/// the message /x.
TypedLine classify(const std::string& line, bool literal);

/// Completes words, settings, topics, and through the session models and paths.
Completion complete_command(ReplSession& session, std::string_view text, std::size_t cursor);
/// Paths that begin with `typed` (~ is the home folder); folders end with a slash.
std::vector<std::string> complete_path(const std::string& typed);

/// A path as people type or drag it: quotes, backslashes, ~ and file:// taken off.
std::string path_from(const std::string& typed);
/// Text without white space at both ends.
std::string trimmed(std::string_view text);

/// All of /help, or that of one topic.
std::string help_text(const std::string& topic, int columns);

}  // namespace hearth::repl
