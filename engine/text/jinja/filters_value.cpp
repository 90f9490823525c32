// Filters on single values: numbers, defaults, JSON, attributes.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "engine/text/jinja/filter_tables.h"
#include "engine/text/jinja/json.h"
#include "engine/text/jinja/text_ops.h"

namespace hearth::jinja {
namespace {

Value undefined_failure(Evaluator& evaluator, const Value& value) {
    return evaluator.fail(std::string(value.undefined_message()));
}

Value abs_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "abs", arguments, {});
    if (!bound.ok()) return {};
    if (input.is(Kind::undefined)) return undefined_failure(evaluator, input);
    if (input.is(Kind::real)) return Value::real(std::fabs(input.number()));
    if (!input.is_integral()) {
        return evaluator.fail(fmt::format("abs needs a number, found {}", type_name(input)));
    }
    if (input.integral() >= 0) return Value::integer(input.integral());
    return evaluator.binary(Operator::subtract, Value::integer(0), input);
}

Value attr_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "attr", arguments, {"name"}, 1);
    const std::string_view name = bound.view(0, "");
    if (!bound.ok()) return {};
    // Unlike the dot, attr never falls back to the items of a dict.
    if (input.is(Kind::dict)) {
        return Value::undefined(fmt::format("'dict object' has no attribute '{}'", name));
    }
    return evaluator.attribute(input, name);
}

Value default_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "default", arguments, {"default_value", "boolean"});
    if (!bound.ok()) return {};
    const bool missing = input.is(Kind::undefined) || (bound.flag(1, false) && !truth(input));
    if (!missing) return input;
    return bound[0] ? *bound[0] : Value::string("");
}

/// A number as Python's float() reads it; nothing when it is none.
std::optional<double> read_real(std::string_view text) {
    const Text stripped = strip(Text(std::string(text)), "", Side::both);
    std::string digits(stripped.view());
    std::erase(digits, '_');
    if (digits.starts_with('+')) digits.erase(0, 1);
    double value = 0;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value);
    if (digits.empty() || result.ptr != end || result.ec == std::errc::invalid_argument) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::int64_t> read_integer(std::string_view text, int base) {
    const Text stripped = strip(Text(std::string(text)), "", Side::both);
    std::string digits(stripped.view());
    std::erase(digits, '_');
    if (digits.starts_with('+')) digits.erase(0, 1);
    const std::size_t sign = digits.starts_with('-') ? 1 : 0;
    if (digits.size() > sign + 2 && digits[sign] == '0') {
        const char mark = static_cast<char>(digits[sign + 1] | 0x20);
        const bool prefixed =
            (base == 16 && mark == 'x') || (base == 8 && mark == 'o') || (base == 2 && mark == 'b');
        if (prefixed) digits.erase(sign, 2);
    }
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, value, base);
    if (digits.empty() || result.ptr != end || result.ec != std::errc{}) return std::nullopt;
    return value;
}

std::optional<std::int64_t> whole(double d) {
    if (!(std::fabs(d) < 9.2e18)) return std::nullopt;
    return static_cast<std::int64_t>(d);
}

Value int_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "int", arguments, {"default", "base"});
    const std::int64_t base = bound.integer(1, 10);
    if (!bound.ok()) return {};
    if (input.is(Kind::undefined)) return undefined_failure(evaluator, input);
    if (base < 2 || base > 36) return evaluator.fail("int: the base must be 2 to 36");
    std::optional<std::int64_t> value;
    if (input.is_integral()) {
        value = input.integral();
    } else if (input.is(Kind::real)) {
        value = whole(input.number());
    } else if (input.is(Kind::string) && evaluator.charge_bytes(input.cost())) {
        value = read_integer(input.view(), static_cast<int>(base));
        if (!value) {
            if (const auto real = read_real(input.view())) value = whole(*real);
        }
    }
    if (value) return Value::integer(*value);
    return bound[0] ? *bound[0] : Value::integer(0);
}

Value float_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "float", arguments, {"default"});
    if (!bound.ok()) return {};
    if (input.is(Kind::undefined)) return undefined_failure(evaluator, input);
    if (input.is_number()) return Value::real(input.number());
    if (input.is(Kind::string) && evaluator.charge_bytes(input.cost())) {
        if (const auto value = read_real(input.view())) return Value::real(*value);
    }
    return bound[0] ? *bound[0] : Value::real(0.0);
}

/// Half to even on the exact decimal value, as Python's round.
double round_real(double value, std::int64_t precision) {
    if (!std::isfinite(value) || precision > 300) return value;
    if (precision < 0) {
        const double scale = std::pow(10.0, static_cast<double>(-precision));
        return std::isfinite(scale) ? std::nearbyint(value / scale) * scale : 0.0;
    }
    const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(precision));
    double result = 0;
    std::from_chars(text.data(), text.data() + text.size(), result);
    return result;
}

Value round_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "round", arguments, {"precision", "method"});
    const std::int64_t precision = bound.integer(0, 0);
    const std::string_view method = bound.view(1, "common");
    if (!bound.ok()) return {};
    if (input.is(Kind::undefined)) return undefined_failure(evaluator, input);
    if (!input.is_number()) {
        return evaluator.fail(fmt::format("round needs a number, found {}", type_name(input)));
    }
    if (method == "common") {
        if (input.is_integral() && precision >= 0) return Value::integer(input.integral());
        const double rounded = round_real(input.number(), precision);
        const auto integer = whole(rounded);
        return input.is_integral() && integer ? Value::integer(*integer) : Value::real(rounded);
    }
    if (method != "ceil" && method != "floor") {
        return evaluator.fail("round: the method must be common, ceil or floor");
    }
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = input.number() * scale;
    return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

bool read_separators(Evaluator& evaluator, const Value& value, JsonFormat& format) {
    std::vector<Value> parts;
    if (!evaluator.iterate(value, parts)) return false;
    if (parts.size() != 2 || !parts[0].is(Kind::string) || !parts[1].is(Kind::string)) {
        evaluator.fail("tojson: separators must be two strings");
        return false;
    }
    format.item_separator = parts[0].view();
    format.key_separator = parts[1].view();
    return true;
}

Value tojson_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    constexpr std::int64_t kMaxIndent = 32;
    Bound bound(evaluator, "tojson", arguments,
                {"ensure_ascii", "indent", "separators", "sort_keys"});
    if (!bound.ok()) return {};
    JsonFormat format;
    format.ensure_ascii = bound.flag(0, false);
    format.sort_keys = bound.flag(3, false);
    if (bound.has(1)) {
        format.item_separator = ",";
        if (bound[1]->is(Kind::string)) {
            format.indent = std::string(bound[1]->view());
        } else {
            const auto n = std::clamp<std::int64_t>(bound.integer(1, 0), 0, kMaxIndent);
            format.indent = std::string(static_cast<std::size_t>(n), ' ');
        }
    }
    if (!bound.ok() || (bound.has(2) && !read_separators(evaluator, *bound[2], format))) return {};
    // Every item may cost its separators and the indent of its level.
    const std::size_t n_items = input.cost() / 32 + 1;
    const std::size_t n_indent = format.indent ? format.indent->size() : 0;
    const std::size_t per_item = format.item_separator.size() + format.key_separator.size() +
                                 n_indent * static_cast<std::size_t>(input.depth() + 1);
    if (!evaluator.charge_characters(input.cost())) return {};
    if (!evaluator.room(input.cost()) || !evaluator.charge_bytes(n_items * per_item)) return {};
    std::string out;
    bool used_input = false;
    if (auto error = append_json(out, used_input, input, format)) return evaluator.fail(*error);
    return evaluator.text(Text(std::move(out), bound.blend(used_input ? kInput : kLiteral)));
}

Value from_json_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "from_json", arguments, {});
    if (!bound.ok()) return {};
    if (!input.is(Kind::string)) {
        return evaluator.fail(fmt::format("from_json needs a string, found {}", type_name(input)));
    }
    // A value of the tree takes far more memory than its text.
    if (!evaluator.charge_items(input.text().size() / 4)) return {};
    auto value = value_from_json_text(input.view(), input.text().blended());
    return value ? std::move(*value) : evaluator.fail("from_json: the text is not valid JSON");
}

constexpr std::array<Filter, 9> kTable = {{
    {"abs", abs_filter},
    {"attr", attr_filter},
    {"d", default_filter},
    {"default", default_filter},
    {"float", float_filter},
    {"from_json", from_json_filter},
    {"int", int_filter},
    {"round", round_filter},
    {"tojson", tojson_filter},
}};

}  // namespace

std::span<const Filter> value_filters() { return kTable; }

}  // namespace hearth::jinja
