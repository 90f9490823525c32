#include "app/config_file.h"

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace hearth {
namespace {

std::vector<std::string> strings_of(const toml::node& node) {
    std::vector<std::string> out;
    if (const auto text = node.value<std::string>()) out.push_back(*text);
    if (const toml::array* array = node.as_array()) {
        for (const toml::node& element : *array) {
            if (const auto text = element.value<std::string>()) out.push_back(*text);
        }
    }
    return out;
}

/// A TOML value as the text that the settings table reads.
std::string text_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto flag = node.value_exact<bool>()) return *flag ? "on" : "off";
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    if (node.is_array()) return nlohmann::json(strings_of(node)).dump();
    return "";
}

}  // namespace

ConfigFile read_config_file(const std::string& path) {
    ConfigFile config;
    std::ifstream file(path);
    if (!file) return config;
    std::stringstream content;
    content << file.rdbuf();
    const toml::parse_result parsed = toml::parse(content.str());
    if (!parsed) {
        config.warnings.push_back(fmt::format("{}, line {}: {}; the file is left out", path,
                                              parsed.error().source().begin.line,
                                              parsed.error().description()));
        return config;
    }
    for (const auto& [key, node] : parsed.table()) {
        const std::string name(key.str());
        if (name == "model") {
            config.model = node.value_or(std::string());
        } else if (name == "system") {
            config.system = node.value_or(std::string());
        } else if (name == "models") {
            config.models = strings_of(node);
        } else if (auto put = put_setting(config.settings, name, text_of(node)); !put) {
            config.warnings.push_back(
                fmt::format("{}, line {}: {}", path, node.source().begin.line, put.error().what));
        }
    }
    return config;
}

}  // namespace hearth
