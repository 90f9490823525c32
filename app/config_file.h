#pragma once
// config.toml: names of the settings table, and `model`, `system`, `models` (folders). Read only;
// unknown keys warn and change nothing.

#include <string>
#include <vector>

#include "app/settings.h"

namespace hearth {

struct ConfigFile {
    SettingLayer settings;
    std::string model;                ///< default model
    std::string system;               ///< system prompt of new chats
    std::vector<std::string> models;  ///< further folders with models
    std::vector<std::string> warnings;
};

/// A missing file is an empty one; a broken file is one warning.
ConfigFile read_config_file(const std::string& path);

}  // namespace hearth
