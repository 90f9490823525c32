#pragma once
// Reads reference/templates: from HEARTH_REFERENCE, beside the source tree, or in tests/golden.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace hearth::test {

std::string read_template(const std::string& file);
nlohmann::ordered_json read_cases(const std::string& file);
/// The template files of the reference.
std::vector<std::string> template_files();

}  // namespace hearth::test
