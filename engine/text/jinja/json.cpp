#include "engine/text/jinja/json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

constexpr int kMaxLevels = 100;

std::optional<Value> convert(const nlohmann::ordered_json& json, Origin origin, int level);

std::optional<Value> convert_array(const nlohmann::ordered_json& json, Origin origin, int level) {
    std::vector<Value> items;
    items.reserve(json.size());
    for (const auto& item : json) {
        auto value = convert(item, origin, level + 1);
        if (!value) return std::nullopt;
        items.push_back(std::move(*value));
    }
    return Value::list(std::move(items));
}

std::optional<Value> convert_object(const nlohmann::ordered_json& json, Origin origin, int level) {
    auto dict = std::make_shared<Dict>();
    for (auto it = json.begin(); it != json.end(); ++it) {
        auto value = convert(it.value(), origin, level + 1);
        if (!value) return std::nullopt;
        dict->set(Value::string(it.key(), origin), *value);
    }
    return Value::object(Kind::dict, std::move(dict));
}

std::optional<Value> convert(const nlohmann::ordered_json& json, Origin origin, int level) {
    if (level > kMaxLevels) return std::nullopt;
    switch (json.type()) {
        case nlohmann::ordered_json::value_t::boolean:
            return Value::boolean(json.get<bool>());
        case nlohmann::ordered_json::value_t::number_integer:
            return Value::integer(json.get<std::int64_t>());
        case nlohmann::ordered_json::value_t::number_unsigned: {
            const auto value = json.get<std::uint64_t>();
            if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
                return Value::real(static_cast<double>(value));
            }
            return Value::integer(static_cast<std::int64_t>(value));
        }
        case nlohmann::ordered_json::value_t::number_float:
            return Value::real(json.get<double>());
        case nlohmann::ordered_json::value_t::string:
            return Value::string(json.get_ref<const std::string&>(), origin);
        case nlohmann::ordered_json::value_t::array:
            return convert_array(json, origin, level);
        case nlohmann::ordered_json::value_t::object:
            return convert_object(json, origin, level);
        default:
            return Value::none();
    }
}

void append_unicode_escape(std::string& out, std::int32_t c) {
    if (c < 0x10000) {
        out += fmt::format("\\u{:04x}", c);
        return;
    }
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10),
                       0xDC00 + ((c - 0x10000) & 0x3FF));
}

void append_json_string(std::string& out, std::string_view text, bool ensure_ascii) {
    out += '"';
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode(text, at);
        constexpr std::string_view kFrom = "\"\\\n\r\t\b\f";
        constexpr std::string_view kTo = "\"\\nrtbf";
        const std::size_t simple =
            c.value < 0x80 ? kFrom.find(static_cast<char>(c.value)) : std::string_view::npos;
        if (simple != std::string_view::npos) {
            out += '\\';
            out += kTo[simple];
        } else if (c.value < 0x20 || (ensure_ascii && c.value > 0x7E)) {
            append_unicode_escape(out, c.value);
        } else {
            out += text.substr(at, c.n_bytes);
        }
        at += c.n_bytes;
    }
    out += '"';
}

class Writer {
  public:
    Writer(std::string& out, bool& input, const JsonFormat& format)
        : out_(out),
          input_(input),
          format_(format) {}

    std::optional<std::string> write(const Value& value, std::size_t level) {
        switch (value.kind()) {
            case Kind::none:
                out_ += "null";
                return std::nullopt;
            case Kind::boolean:
                out_ += value.integral() ? "true" : "false";
                return std::nullopt;
            case Kind::integer:
                out_ += std::to_string(value.integral());
                return std::nullopt;
            case Kind::real:
                out_ += number(value.number());
                return std::nullopt;
            case Kind::string:
                text(value);
                return std::nullopt;
            case Kind::list:
                return list(value, level);
            case Kind::dict:
                return dict(value.dict(), level);
            default:
                return fmt::format("tojson: a value of type {} has no JSON form", type_name(value));
        }
    }

  private:
    static std::string number(double d) {
        if (std::isnan(d)) return "NaN";
        if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
        return real_repr(d);
    }

    void text(const Value& value) {
        input_ = input_ || !value.text().is_literal();
        append_json_string(out_, value.view(), format_.ensure_ascii);
    }

    void line(std::size_t level) {
        if (!format_.indent) return;
        out_ += '\n';
        for (std::size_t i = 0; i < level; ++i) out_ += *format_.indent;
    }

    std::optional<std::string> list(const Value& value, std::size_t level) {
        const List& list = value.list();
        if (list.flavor != Flavor::list && list.flavor != Flavor::tuple &&
            list.flavor != Flavor::group) {
            return fmt::format("tojson: a value of type {} has no JSON form", type_name(value));
        }
        out_ += '[';
        for (std::size_t i = 0; i < list.items.size(); ++i) {
            if (i) out_ += format_.item_separator;
            line(level + 1);
            if (auto error = write(list.items[i], level + 1)) return error;
        }
        if (!list.items.empty()) line(level);
        out_ += ']';
        return std::nullopt;
    }

    /// The key as json.dumps spells it, without quotes; nothing for a type that cannot be one.
    static std::optional<std::string> key_text(const Value& key) {
        switch (key.kind()) {
            case Kind::string:
                return std::string(key.view());
            case Kind::none:
                return "null";
            case Kind::boolean:
                return key.integral() ? "true" : "false";
            case Kind::integer:
                return std::to_string(key.integral());
            case Kind::real:
                return number(key.number());
            default:
                return std::nullopt;
        }
    }

    std::optional<std::string> dict(const Dict& dict, std::size_t level) {
        std::vector<const std::pair<Value, Value>*> items;
        for (const auto& item : dict.items()) items.push_back(&item);
        if (format_.sort_keys) {
            bool ordered = true;
            for (const auto* item : items) ordered = ordered && order(items[0]->first, item->first);
            if (!ordered) return "tojson: the keys have no common order";
            std::stable_sort(items.begin(), items.end(), [](const auto* a, const auto* b) {
                return order(a->first, b->first).value_or(0) < 0;
            });
        }
        out_ += '{';
        for (std::size_t i = 0; i < items.size(); ++i) {
            if (i) out_ += format_.item_separator;
            line(level + 1);
            const Value& key = items[i]->first;
            const auto spelled = key_text(key);
            if (!spelled) return fmt::format("tojson: a {} cannot be a key", type_name(key));
            if (key.is(Kind::string)) input_ = input_ || !key.text().is_literal();
            append_json_string(out_, *spelled, format_.ensure_ascii);
            out_ += format_.key_separator;
            if (auto error = write(items[i]->second, level + 1)) return error;
        }
        if (!items.empty()) line(level);
        out_ += '}';
        return std::nullopt;
    }

    std::string& out_;
    bool& input_;
    const JsonFormat& format_;
};

/// Depth of brackets in `text`, so that the parser of the library never builds a deep tree.
bool too_deep(std::string_view text) {
    int level = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            if (++level > kMaxLevels) return true;
        } else if (c == ']' || c == '}') {
            --level;
        }
    }
    return false;
}

}  // namespace

std::optional<Value> value_from_json(const nlohmann::ordered_json& json) {
    return convert(json, kInput, 0);
}

std::optional<Value> value_from_json_text(std::string_view text, Origin origin) {
    if (too_deep(text)) return std::nullopt;
    const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
    if (json.is_discarded()) return std::nullopt;
    return convert(json, origin, 0);
}

std::optional<std::string> append_json(std::string& out, bool& input, const Value& value,
                                       const JsonFormat& format) {
    return Writer(out, input, format).write(value, 0);
}

}  // namespace hearth::jinja
