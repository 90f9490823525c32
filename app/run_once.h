#pragma once
// One question, one answer: stdin, documents and prompt in; only the answer on stdout.

#include "app/chat_controller.h"
#include "app/options.h"

namespace hearth {

/// Returns the exit code; 130 and 143 after SIGINT and SIGTERM, 141 when nobody reads stdout.
int run_once(ChatController& chat, const Options& options);

}  // namespace hearth
