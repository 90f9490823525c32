#pragma once
// Settings: one table of everything that shapes an answer (name, flags, help, how to set it), and
// the layers a value can come from. Flags, environment, chats, the config file and `/set` all go
// through this table, so a name means the same everywhere. Reads no environment, and no file but
// a chat template that is named by its path.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace hearth {

/// Where a value came from; later wins.
enum class Origin { built_in, model_card, model_file, config, chat, environment, flag };
const char* origin_name(Origin origin);  ///< "built in", "model file", …

struct Settings {
    SamplingParams sampling;
    EngineOptions engine;
    std::string chat_template;     ///< "" = the model's own; else a name or Jinja source
    std::string draft = "lookup";  ///< auto, off, lookup, or a model's name
    bool random_seed = true;       ///< draw a new seed for each request
    ContextPolicy context_policy = ContextPolicy::stop;
};

/// One row of the table.
struct SettingRow {
    const char* name;      ///< "temperature"; also the key in config.toml
    const char* aliases;   ///< further names for /set and config, space separated: "temp"
    const char* flags;     ///< CLI11 names: "--temp,--temperature"
    const char* env;       ///< environment variable, or ""
    const char* metadata;  ///< key of a model file, or ""
    const char* help;      ///< one line
    bool engine_wide;      ///< a change takes a new engine
    Result<void> (*set)(Settings& settings, std::string_view value);
    std::string (*get)(const Settings& settings);
};
const std::vector<SettingRow>& setting_rows();
/// By name or alias (case and '-' against '_' do not matter); nullptr when unknown.
const SettingRow* find_setting(std::string_view name);

/// Values of one layer as text, by row name.
using SettingLayer = std::map<std::string, std::string>;
/// Checks name and value; the error says what would be right. Stores under the row's name.
Result<void> put_setting(SettingLayer& layer, std::string_view name, std::string_view value);

struct SettingLayers {
    SettingLayer model_card, model_file, config, chat, environment, flag;
};

struct SettingValue {
    std::string name, value, help;
    Origin origin = Origin::built_in;
};

/// Folds the layers over the built-in values. Values that do not parse (an old chat, a strange
/// model file) are skipped and named in `notes`.
Settings resolve_settings(const SettingLayers& layers, std::vector<std::string>* notes = nullptr);
/// The same as a table with the origin of each value, in table order.
std::vector<SettingValue> describe_settings(const SettingLayers& layers);

/// A layer as a JSON object and back; what cannot be read is left out.
std::string settings_to_json(const SettingLayer& layer);
SettingLayer settings_from_json(const std::string& json);
/// The `general.sampling.*` keys of a model file's metadata.
SettingLayer settings_from_metadata(
    const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace hearth
