#pragma once
// Text to value and back for the settings table. Errors say what was expected and what was found.

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace hearth {

/// A finite number in [low, high].
Result<float> read_number(std::string_view text, double low, double high);
Result<std::int64_t> read_integer(std::string_view text, std::int64_t low, std::int64_t high);
/// on/off, true/false, yes/no, 1/0.
Result<bool> read_switch(std::string_view text);
/// "300", "300s", "5m", "2h" as seconds; "-1" or "never" = -1.
Result<int> read_duration_s(std::string_view text);
/// "8192", "8k" (1024 each).
/// Bytes: "auto" = 0, "off" = -1, "500M", "10G" (binary units, M without a letter).
Result<std::int64_t> read_budget(std::string_view text);
std::string show_budget(std::int64_t bytes);
Result<int> read_token_count(std::string_view text);
/// One string with \n, \t and \\ understood, or a JSON array of strings.
Result<std::vector<std::string>> read_strings(std::string_view text);
/// "1,2,3", with spaces or line breaks as well; ids are 0 or more.
Result<std::vector<std::int32_t>> read_ids(std::string_view text);

/// The shortest text that reads back as the same float.
std::string show_number(float value);
std::string show_strings(const std::vector<std::string>& values);

}  // namespace hearth
