#pragma once
// From Options to what a verb works with: the store, and a chat with its model chosen.

#include <memory>

#include "app/chat_controller.h"
#include "app/options.h"

namespace hearth {

/// A talk in the terminal rather than one question?
bool is_conversation(const Options& options);

/// The database of the options, or one in memory with --no-log. Notices go to stderr.
Result<std::unique_ptr<Store>> open_store(const Options& options);

/// A controller with model, conversation (--chat, --continue), system prompt and documents as the
/// options say; asks which model when several could be meant and there is a terminal. Errors:
/// model_not_found when there is no model to take.
Result<std::unique_ptr<ChatController>> open_chat(const Options& options);
/// The same for the window: without a model when none is certain, so that it can ask.
Result<std::unique_ptr<ChatController>> open_chat_for_window(const Options& options);

/// The model's file for verbs that need no chat.
Result<std::string> model_path_of(const Options& options);

/// What terminals may show: control characters but newline and tab are left out, so that no text
/// of a model or a file can move the cursor or set the title.
std::string printable(const std::string& text);

/// 1536 -> "1.5 KiB"
std::string show_bytes(std::int64_t bytes);
/// Local time, "2026-11-30 14:05".
std::string show_time(std::int64_t unix_ms);

}  // namespace hearth
