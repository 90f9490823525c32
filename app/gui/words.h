#pragma once
// Small texts of the window: numbers, sizes, dates, case.

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::gui {

std::string grouped_number(std::int64_t n);  ///< "7,912"
std::string show_size(std::uint64_t bytes);  ///< "12 KB"
/// Simple case folding of every script, one character at a time; same number of characters.
std::string lower_case(std::string_view text);
/// "Today", "Yesterday", "Last 7 days", "Older"
std::string date_group(std::int64_t then_ms, std::int64_t now_ms);
std::int64_t unix_ms();

}  // namespace hearth::gui
