#include "app/setting_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace hearth {
namespace {

std::string_view trimmed(std::string_view text) {
    const char* blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
        return static_cast<char>(c < 128 ? std::tolower(c) : c);
    });
    return out;
}

/// What the user typed, short enough for a sentence.
std::string quoted(std::string_view text) {
    if (text.empty()) return "nothing";
    return fmt::format("'{}{}'", text.substr(0, 40), text.size() > 40 ? "…" : "");
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char next = text[++i];
        if (next == 'n')
            out += '\n';
        else if (next == 't')
            out += '\t';
        else if (next == '\\')
            out += '\\';
        else
            out.append({'\\', next});
    }
    return out;
}

}  // namespace

Result<float> read_number(std::string_view text, double low, double high) {
    text = trimmed(text);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || !std::isfinite(value) || value < low || value > high) {
        return fail(Errc::usage, "a number from {} to {} is expected, found {}", low, high,
                    quoted(text));
    }
    return static_cast<float>(value);
}

Result<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high) {
    text = trimmed(text);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || value < low || value > high) {
        return fail(Errc::usage, "a whole number from {} to {} is expected, found {}", low, high,
                    quoted(text));
    }
    return value;
}

Result<bool> read_switch(std::string_view text) {
    const std::string word = lower(trimmed(text));
    if (word == "on" || word == "true" || word == "yes" || word == "1") return true;
    if (word == "off" || word == "false" || word == "no" || word == "0") return false;
    return fail(Errc::usage, "on or off is expected, found {}", quoted(text));
}

Result<int> read_duration_s(std::string_view text) {
    const std::string word = lower(trimmed(text));
    if (word == "never" || word == "-1") return -1;
    int factor = 1;
    std::string_view digits = word;
    if (!word.empty()) {
        const char unit = word.back();
        factor = unit == 'h' ? 3600 : unit == 'm' ? 60 : 1;
        if (unit == 'h' || unit == 'm' || unit == 's') digits.remove_suffix(1);
    }
    const auto value = read_integer(digits, 0, 1'000'000);
    if (!value) {
        return fail(Errc::usage, "a time such as 300, 5m, 2h or never is expected, found {}",
                    quoted(text));
    }
    return static_cast<int>(*value) * factor;
}

Result<std::int64_t> read_budget(std::string_view text) {
    const std::string word = lower(trimmed(text));
    if (word == "auto") return 0;
    if (word == "off" || word == "none" || word == "0") return -1;
    std::string_view digits = word;
    int shift = 20;
    if (!digits.empty() && digits.back() == 'b') digits.remove_suffix(1);
    if (!digits.empty() && digits.back() == 'i') digits.remove_suffix(1);
    if (!digits.empty() && std::string_view("kmgt").find(digits.back()) != std::string::npos) {
        shift = 10 * (1 + static_cast<int>(std::string_view("kmgt").find(digits.back())));
        digits.remove_suffix(1);
    }
    const auto value = read_integer(digits, 1, (std::int64_t{1} << 50) >> shift);
    if (!value) {
        return fail(Errc::usage, "a size such as 500M or 10G, auto or off is expected, found {}",
                    quoted(text));
    }
    return *value << shift;
}

std::string show_budget(std::int64_t bytes) {
    if (bytes <= 0) return bytes == 0 ? "auto" : "off";
    for (const auto& [unit, shift] : {std::pair{'G', 30}, {'M', 20}}) {
        if (bytes % (std::int64_t{1} << shift) == 0)
            return fmt::format("{}{}", bytes >> shift, unit);
    }
    return fmt::format("{}K", bytes >> 10);
}

Result<int> read_token_count(std::string_view text) {
    const std::string word = lower(trimmed(text));
    std::string_view digits = word;
    const bool kilo = !word.empty() && word.back() == 'k';
    if (kilo) digits.remove_suffix(1);
    const auto value = read_integer(digits, 0, kilo ? 16 * 1024 : 16 * 1024 * 1024);
    if (!value) {
        return fail(Errc::usage, "a number of tokens such as 8192 or 8k is expected, found {}",
                    quoted(text));
    }
    return static_cast<int>(*value) * (kilo ? 1024 : 1);
}

Result<std::vector<std::string>> read_strings(std::string_view text) {
    std::vector<std::string> out;
    const std::string_view whole = trimmed(text);
    if (!whole.empty() && whole.front() == '[' && whole.back() == ']') {
        const auto json = nlohmann::json::parse(whole, nullptr, false);
        if (json.is_array() &&
            std::all_of(json.begin(), json.end(), [](const auto& e) { return e.is_string(); })) {
            for (const auto& element : json) out.push_back(element.get<std::string>());
            return out;
        }
    }
    if (!text.empty()) out.push_back(unescaped(text));
    return out;
}

Result<std::vector<std::int32_t>> read_ids(std::string_view text) {
    std::vector<std::int32_t> ids;
    const char* separators = ", \t\r\n[]";
    std::size_t at = text.find_first_not_of(separators);
    while (at != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
        const auto id = read_integer(text.substr(at, end - at), 0, 0x7fffffff);
        if (!id) {
            return fail(Errc::usage, "token ids such as 1,2,3 are expected, found {}",
                        quoted(text.substr(at, end - at)));
        }
        ids.push_back(static_cast<std::int32_t>(*id));
        at = text.find_first_not_of(separators, end);
    }
    return ids;
}

std::string show_number(float value) { return fmt::format("{}", value); }

std::string show_strings(const std::vector<std::string>& values) {
    return nlohmann::json(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace hearth
