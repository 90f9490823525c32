#include "engine/text/jinja/clock.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace hearth::jinja {
namespace {

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

std::string_view day_name(const std::tm& time) {
    return kDays[static_cast<std::size_t>(time.tm_wday) % kDays.size()];
}
std::string_view month_name(const std::tm& time) {
    return kMonths[static_cast<std::size_t>(time.tm_mon) % kMonths.size()];
}

/// `flag` is what may stand between % and the letter: - drops the padding, _ pads with spaces.
std::string number(int value, int width, char flag, char fill = '0') {
    if (flag == '-') return fmt::format("{}", value);
    if (flag == '_') fill = ' ';
    std::string digits = fmt::format("{}", value);
    while (static_cast<int>(digits.size()) < width) digits.insert(digits.begin(), fill);
    return digits;
}

std::optional<std::string> directive(char letter, char flag, const std::tm& time) {
    const int hour12 = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
    switch (letter) {
        case 'Y':
            return number(time.tm_year + 1900, 4, flag);
        case 'y':
            return number((time.tm_year + 1900) % 100, 2, flag);
        case 'm':
            return number(time.tm_mon + 1, 2, flag);
        case 'd':
            return number(time.tm_mday, 2, flag);
        case 'e':
            return number(time.tm_mday, 2, flag, ' ');
        case 'j':
            return number(time.tm_yday + 1, 3, flag);
        case 'H':
            return number(time.tm_hour, 2, flag);
        case 'k':
            return number(time.tm_hour, 2, flag, ' ');
        case 'I':
            return number(hour12, 2, flag);
        case 'l':
            return number(hour12, 2, flag, ' ');
        case 'M':
            return number(time.tm_min, 2, flag);
        case 'S':
            return number(time.tm_sec, 2, flag);
        case 'f':
            return "000000";
        case 'p':
            return time.tm_hour < 12 ? "AM" : "PM";
        case 'A':
            return std::string(day_name(time));
        case 'a':
            return std::string(day_name(time).substr(0, 3));
        case 'B':
            return std::string(month_name(time));
        case 'b':
        case 'h':
            return std::string(month_name(time).substr(0, 3));
        case 'w':
            return number(time.tm_wday, 1, flag);
        case 'u':
            return number(time.tm_wday == 0 ? 7 : time.tm_wday, 1, flag);
        case 'D':
        case 'x':
            return format_time("%m/%d/%y", time);
        case 'F':
            return format_time("%Y-%m-%d", time);
        case 'T':
        case 'X':
            return format_time("%H:%M:%S", time);
        case 'R':
            return format_time("%H:%M", time);
        case 'c':
            return format_time("%a %b %e %H:%M:%S %Y", time);
        case 'n':
            return "\n";
        case 't':
            return "\t";
        case 'z':
        case 'Z':
            return "";  // a clock without zone, as Python's datetime.now()
        case '%':
            return "%";
        default:
            return std::nullopt;
    }
}

}  // namespace

std::string format_time(std::string_view format, const std::tm& time) {
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 >= format.size()) {
            out += format[i];
            continue;
        }
        const bool flagged =
            (format[i + 1] == '-' || format[i + 1] == '_') && i + 2 < format.size();
        const std::size_t letter = i + (flagged ? 2 : 1);
        const auto text = directive(format[letter], flagged ? format[i + 1] : '\0', time);
        out += text ? *text : std::string(format.substr(i, letter + 1 - i));
        i = letter;
    }
    return out;
}

std::optional<std::tm> parse_time(std::string_view text) {
    constexpr std::string_view kShape = "dddd-dd-dd dd:dd:dd";
    if (text.size() != kShape.size() && text.size() != 10) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        const bool separator = text[i] == kShape[i] || (i == 10 && text[i] == 'T');
        if (kShape[i] == 'd' ? !digit : !separator) return std::nullopt;
    }
    const auto field = [&](std::size_t at, std::size_t n) {
        int value = 0;
        if (at + n <= text.size()) std::from_chars(text.data() + at, text.data() + at + n, value);
        return value;
    };
    std::tm time{};
    time.tm_year = field(0, 4) - 1900;
    time.tm_mon = field(5, 2) - 1;
    time.tm_mday = field(8, 2);
    time.tm_hour = field(11, 2);
    time.tm_min = field(14, 2);
    time.tm_sec = field(17, 2);
    const bool valid = time.tm_mon >= 0 && time.tm_mon < 12 && time.tm_mday >= 1 &&
                       time.tm_mday <= 31 && time.tm_hour < 24 && time.tm_min < 60 &&
                       time.tm_sec < 61;
    if (!valid) return std::nullopt;
    std::tm normal = time;
    timegm(&normal);  // fills in the day of the week and of the year
    time.tm_wday = normal.tm_wday;
    time.tm_yday = normal.tm_yday;
    return time;
}

std::tm local_time() {
    const std::time_t now = std::time(nullptr);
    std::tm time{};
    localtime_r(&now, &time);
    return time;
}

}  // namespace hearth::jinja
