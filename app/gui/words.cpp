#include "app/gui/words.h"

#include <chrono>
#include <ctime>

#include <fmt/format.h>
#include <utf8proc.h>

#include "app/gui/math.h"
#include "app/repl/graphemes.h"

namespace hearth::gui {
namespace {

/// Days since 1970 in local time.
std::int64_t local_day(std::int64_t ms) {
    const std::time_t seconds = ms / 1000;
    std::tm local = {};
    if (::localtime_r(&seconds, &local) == nullptr) return 0;
    return (seconds + local.tm_gmtoff) / 86400;
}

}  // namespace

std::string grouped_number(std::int64_t n) {
    std::string digits = std::to_string(n);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

std::string show_size(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    if (bytes < 1'000'000) return fmt::format("{:.0f} KB", static_cast<double>(bytes) / 1e3);
    if (bytes < 1'000'000'000) return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string lower_case(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < 0x80) {
            out += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
            ++at;
            continue;
        }
        const repl::CodePoint point = repl::code_point_at(text, at);
        std::string lower;
        append_character(lower, static_cast<char32_t>(utf8proc_tolower(point.value)));
        // Positions in the folded text must be positions in the text.
        out += lower.size() == point.n_bytes ? lower : std::string(text.substr(at, point.n_bytes));
        at += point.n_bytes;
    }
    return out;
}

std::string date_group(std::int64_t then_ms, std::int64_t now_ms) {
    const std::int64_t days = local_day(now_ms) - local_day(then_ms);
    if (days <= 0) return "Today";
    if (days == 1) return "Yesterday";
    return days <= 7 ? "Last 7 days" : "Older";
}

std::int64_t unix_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace hearth::gui
