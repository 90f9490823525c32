#pragma once
// ReplSession: what slash commands work with: the chat, the screen, and the switches of this run.
// Plain data with two ways of saying something.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/chat_controller.h"
#include "app/options.h"
#include "app/repl/input_history.h"
#include "app/repl/terminal.h"

namespace hearth::repl {

struct ReplSession {
    ChatController& chat;
    const Options& options;
    Terminal& terminal;
    InputHistory& history;

    // Switches.
    bool show_stats = false;  ///< a line after each answer
    bool word_wrap = true;
    std::string dim_on = {}, dim_off = {};  ///< "" without colour

    // What a command leaves for the loop.
    std::optional<int> leave = {};  ///< exit code
    bool turn_started = false;      ///< an answer is being written: show it
    std::string next_text = {};     ///< stands in the next line, to be edited
    bool next_literal = false;      ///< and is no command
    MessageId editing = 0;          ///< the next message is another version of this one

    /// A sentence or a table; controls are made inert, a newline is added.
    void say(std::string_view text);
    /// The same in grey.
    void say_dim(std::string_view text);
    int columns() const { return terminal.columns(); }
};

/// Control characters inert, lines broken at words; an indent is kept. 0 columns = not broken.
std::string fold(std::string_view text, int columns);
/// 1234567 -> "1,234,567"
std::string grouped(std::int64_t n);
/// Rows of cells as aligned columns, `indent` spaces before; the last column is clipped.
std::string table(const std::vector<std::vector<std::string>>& rows, int columns, int indent = 2);
/// A gauge of `cells` characters, in plain ASCII.
std::string gauge(double share, int cells);

}  // namespace hearth::repl
