#include "engine/base/log.h"

#include <utility>

namespace hearth {
namespace {
LogSink& sink() {
    static LogSink s;
    return s;
}
}  // namespace

void set_log_sink(LogSink s) { sink() = std::move(s); }

void log(LogLevel level, std::string_view text) {
    if (sink()) sink()(level, text);
}

}  // namespace hearth
