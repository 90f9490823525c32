#pragma once
// JSON in and out: context objects to values, tojson and from_json as chat templates know them
// (Transformers' tojson: insertion order, no HTML escapes, non-ASCII kept).

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "engine/text/jinja/value.h"

namespace hearth::jinja {

/// Every string of the result has origin kInput. Nothing when nested deeper than 100 levels.
std::optional<Value> value_from_json(const nlohmann::ordered_json& json);
/// The same from text; nothing when it is not JSON.
std::optional<Value> value_from_json_text(std::string_view text, Origin origin);

struct JsonFormat {
    std::optional<std::string> indent;  ///< one level's; absent: all in one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool ensure_ascii = false;
    bool sort_keys = false;
};

/// json.dumps. `input` becomes true where a string came from the caller. On a value that JSON does
/// not know, an error sentence.
std::optional<std::string> append_json(std::string& out, bool& input, const Value& value,
                                       const JsonFormat& format);

}  // namespace hearth::jinja
