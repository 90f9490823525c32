#pragma once
// The log sink: the one global of the program, set by app (spdlog). Silent until set.

#include <functional>
#include <string_view>

namespace hearth {

enum class LogLevel { debug, info, warning, error };
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Not thread-safe: call once at start.
void set_log_sink(LogSink sink);
/// Callable from any thread.
void log(LogLevel level, std::string_view text);

}  // namespace hearth
