#pragma once
// The clock that strftime_now shows: English names whatever the locale, read from text or the
// system.

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::jinja {

/// strftime in the C locale; directives it does not know stay as they are.
std::string format_time(std::string_view format, const std::tm& time);
/// "YYYY-MM-DD HH:MM:SS", or the date alone; nothing when it is not that.
std::optional<std::tm> parse_time(std::string_view text);
/// Now, local time.
std::tm local_time();

}  // namespace hearth::jinja
