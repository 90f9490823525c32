#include "app/log_file.h"

#include <ctime>
#include <deque>
#include <memory>
#include <mutex>

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include "engine/base/log.h"

namespace hearth {
namespace {

constexpr std::size_t kMaxLogBytes = 1 << 20;
constexpr std::size_t kMaxRecent = 300;  ///< lines

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warning:
            return spdlog::level::warn;
        case LogLevel::error:
            return spdlog::level::err;
    }
    return spdlog::level::err;
}

/// Opened by the first line that is written: looking at things leaves no file behind.
class LogFile {
  public:
    LogFile(AppPaths paths, std::string level)
        : paths_(std::move(paths)),
          level_(std::move(level)) {}

    void write(LogLevel level, std::string_view text) {
        if (spdlog_level(level) < spdlog::level::from_str(level_)) return;
        std::call_once(once_, [this] { open(); });
        if (logger_) logger_->log(spdlog_level(level), fmt::string_view(text.data(), text.size()));
    }

  private:
    void open() {
        if (!make_private_dir(paths_.state_dir)) return;
        try {
            auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(paths_.log_file(),
                                                                               kMaxLogBytes, 2);
            logger_ = std::make_unique<spdlog::logger>("hearth", std::move(sink));
            logger_->set_level(spdlog::level::trace);
            logger_->flush_on(spdlog::level::warn);
        } catch (const spdlog::spdlog_ex&) {
        }
    }

    const AppPaths paths_;
    const std::string level_;
    std::once_flag once_;
    std::unique_ptr<spdlog::logger> logger_;
};

/// What was logged lately, in memory.
class Recent {
  public:
    void add(LogLevel level, std::string_view text) {
        if (level == LogLevel::debug) return;
        const std::time_t now = std::time(nullptr);
        std::tm parts{};
        ::localtime_r(&now, &parts);
        const char* mark = level == LogLevel::error     ? "error: "
                           : level == LogLevel::warning ? "warning: "
                                                        : "";
        const std::lock_guard lock(mutex_);
        lines_.push_back(fmt::format("{:02}:{:02}:{:02}  {}{}", parts.tm_hour, parts.tm_min,
                                     parts.tm_sec, mark, text));
        if (lines_.size() > kMaxRecent) lines_.pop_front();
    }
    std::vector<std::string> lines() const {
        const std::lock_guard lock(mutex_);
        return {lines_.begin(), lines_.end()};
    }

  private:
    mutable std::mutex mutex_;
    std::deque<std::string> lines_;
};

Recent& recent() {
    static Recent lines;
    return lines;
}

}  // namespace

std::vector<std::string> recent_log() { return recent().lines(); }

void open_log(const Options& options) {
    const std::string level = options.log_level.empty() ? "warning" : options.log_level;
    const bool to_file = !options.no_log && level != "off";
    // Shared, because a sink must be copyable.
    auto file = to_file ? std::make_shared<LogFile>(options.paths, level) : nullptr;
    set_log_sink([file](LogLevel l, std::string_view text) {
        recent().add(l, text);
        if (file) file->write(l, text);
    });
}

}  // namespace hearth
