#pragma once
// The terminal chat: reads lines, runs slash commands, streams answers. Owns the terminal while it
// runs and gives it back on every way out. Draws from ViewState; knows no engine and no database.

namespace hearth {

class ChatController;
struct Options;

/// Talks until the user leaves. Errors are told and the prompt comes back.
/// Returns the exit code: 0, or 130 after a second Ctrl+C at an empty prompt.
int run_repl(ChatController& chat, const Options& options);

}  // namespace hearth
