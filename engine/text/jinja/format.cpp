// Python's two ways to format: 'text %s' % values and 'text {}'.format(values).

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/functions.h"
#include "engine/text/jinja/text_ops.h"
#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

struct Spec {
    std::string fill = " ";
    char align = '\0';  ///< < > ^ =
    char sign = '-';    ///< - + or space
    bool alternate = false;
    bool comma = false;
    std::size_t width = 0;
    int precision = -1;
    char type = 's';
};

constexpr std::size_t kMaxWidth = 1 << 16;
constexpr int kMaxPrecision = 300;

std::size_t read_number(std::string_view text, std::size_t& at) {
    std::size_t value = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        value = std::min(value * 10 + static_cast<std::size_t>(text[at] - '0'), kMaxWidth + 1);
        ++at;
    }
    return value;
}

std::string with_commas(std::string digits) {
    const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    for (std::size_t at = whole; at > 3; at -= 3) digits.insert(at - 3, ",");
    return digits;
}

/// The digits of a number under `spec`, without sign; nothing for a type that fits no number.
std::optional<std::string> digits_of(const Value& value, const Spec& spec) {
    const auto magnitude = [&] {
        const auto i = value.integral();
        return i < 0 ? 0 - static_cast<std::uint64_t>(i) : static_cast<std::uint64_t>(i);
    };
    const int precision = std::min(spec.precision < 0 ? 6 : spec.precision, kMaxPrecision);
    switch (spec.type) {
        case 'd':
        case 'i':
        case 'u':
            return value.is_integral()
                       ? fmt::format("{}", magnitude())
                       : fmt::format("{:.0f}", std::fabs(std::trunc(value.number())));
        case 'x':
        case 'X':
        case 'o':
        case 'b': {
            if (!value.is_integral()) return std::nullopt;
            const std::uint64_t m = magnitude();
            if (spec.type == 'x') return fmt::format("{}{:x}", spec.alternate ? "0x" : "", m);
            if (spec.type == 'X') return fmt::format("{}{:X}", spec.alternate ? "0X" : "", m);
            if (spec.type == 'o') return fmt::format("{}{:o}", spec.alternate ? "0o" : "", m);
            return fmt::format("{}{:b}", spec.alternate ? "0b" : "", m);
        }
        case 'f':
        case 'F':
            return fmt::format("{:.{}f}", std::fabs(value.number()), precision);
        case 'e':
            return fmt::format("{:.{}e}", std::fabs(value.number()), precision);
        case 'E':
            return fmt::format("{:.{}E}", std::fabs(value.number()), precision);
        case 'g':
            return fmt::format("{:.{}g}", std::fabs(value.number()), precision);
        case 'G':
            return fmt::format("{:.{}G}", std::fabs(value.number()), precision);
        case '%':
            return fmt::format("{:.{}f}%", std::fabs(value.number()) * 100, precision);
        default:
            return std::nullopt;
    }
}

Text padded(const Text& text, std::string_view sign, const Spec& spec, char default_align) {
    const std::size_t n = count_characters(text.view()) + sign.size();
    const std::size_t missing = spec.width > n ? spec.width - n : 0;
    const char align = spec.align ? spec.align : default_align;
    Text result;
    if (align == '=') {
        result.append(sign, kLiteral);
        result.append(pad(text, missing, 0, spec.fill));
        return result;
    }
    result.append(sign, kLiteral);
    result.append(text);
    const std::size_t left = align == '>' ? missing : (align == '^' ? missing / 2 : 0);
    return pad(result, left, missing - left, spec.fill);
}

/// One formatted value; nothing when the spec does not fit its type.
std::optional<Text> formatted(Evaluator& evaluator, const Value& value, const Spec& spec) {
    if (spec.type == 's' || spec.type == 'r') {
        Text text;
        if (spec.type == 's') {
            text = evaluator.print(value);
        } else if (evaluator.charge_bytes(value.cost())) {
            std::string repr;
            bool input = false;
            append_repr(repr, input, value);
            text = Text(std::move(repr), input ? kInput : kLiteral);
        }
        if (spec.precision >= 0) {
            const auto offsets = character_offsets(text.view());
            const auto keep = static_cast<std::size_t>(spec.precision);
            if (keep < offsets.size() - 1) text = text.slice(0, offsets[keep]);
        }
        return padded(text, "", spec, value.is_number() ? '>' : '<');
    }
    if (!value.is_number()) return std::nullopt;
    const bool whole = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (whole && !value.is_integral() && !std::isfinite(value.number())) return std::nullopt;
    auto digits = digits_of(value, spec);
    if (!digits) return std::nullopt;
    if (spec.comma) *digits = with_commas(std::move(*digits));
    const bool negative = value.is_integral() ? value.integral() < 0 : std::signbit(value.number());
    std::string sign;
    if (negative) {
        sign = "-";
    } else if (spec.sign != '-') {
        sign = std::string(1, spec.sign);
    }
    return padded(Text(std::move(*digits)), sign, spec, '>');
}

/// Reads "%[flags][width][.precision]type" after the percent sign.
bool read_percent_spec(std::string_view text, std::size_t& at, Spec& spec) {
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '-') {
            spec.align = '<';
        } else if (c == '0') {
            if (spec.align != '<') spec.align = '=';
            spec.fill = "0";
        } else if (c == '+' || c == ' ') {
            spec.sign = c;
        } else if (c == '#') {
            spec.alternate = true;
        } else {
            break;
        }
    }
    if (spec.align == '<') spec.fill = " ";
    spec.width = read_number(text, at);
    if (at < text.size() && text[at] == '.') {
        ++at;
        spec.precision = static_cast<int>(read_number(text, at));
    }
    if (at >= text.size() || spec.width > kMaxWidth) return false;
    spec.type = text[at++];
    return true;
}

class PercentFormatter {
  public:
    PercentFormatter(Evaluator& evaluator, const Text& format, const Value& values)
        : evaluator_(evaluator),
          format_(format),
          values_(values) {
        const bool tuple = values.is_list(Flavor::tuple) || values.is_list(Flavor::group);
        items_ = tuple ? values.list().items : std::vector<Value>{values};
    }

    Value run() {
        const std::string_view view = format_.view();
        std::size_t at = 0;
        while (!evaluator_.failed()) {
            const std::size_t percent = view.find('%', at);
            if (percent == std::string_view::npos) break;
            result_.append(format_, at, percent);
            at = percent + 1;
            if (at < view.size() && view[at] == '%') {
                result_.append(format_, at, at + 1);
                ++at;
                continue;
            }
            if (!one(view, at)) return {};
        }
        result_.append(format_, at, view.size());
        const bool tuple = values_.is_list(Flavor::tuple) || values_.is_list(Flavor::group);
        if (next_ < items_.size() && (tuple || !values_.is(Kind::dict)) && !by_name_) {
            return evaluator_.fail("not all values were used by the % format");
        }
        return evaluator_.text(std::move(result_));
    }

  private:
    bool one(std::string_view view, std::size_t& at) {
        Value value;
        if (at < view.size() && view[at] == '(') {
            const std::size_t close = view.find(')', at);
            if (close == std::string_view::npos || !values_.is(Kind::dict)) {
                return refuse("a % format by name needs a dict");
            }
            const Value* found = values_.dict().find(view.substr(at + 1, close - at - 1));
            if (!found) return refuse("a % format names a key that the dict lacks");
            value = *found;
            by_name_ = true;
            at = close + 1;
        } else if (next_ < items_.size()) {
            value = items_[next_++];
        } else {
            return refuse("not enough values for the % format");
        }
        Spec spec;
        if (!read_percent_spec(view, at, spec)) return refuse("a % format is incomplete");
        const auto text = formatted(evaluator_, value, spec);
        if (!text) {
            return refuse(fmt::format("% format '{}' does not fit a value of type {}", spec.type,
                                      type_name(value)));
        }
        result_.append(*text);
        return evaluator_.fits(result_.size()) && evaluator_.charge_items(1);
    }

    bool refuse(std::string message) {
        evaluator_.fail(std::move(message));
        return false;
    }

    Evaluator& evaluator_;
    const Text& format_;
    const Value& values_;
    std::vector<Value> items_;
    std::size_t next_ = 0;
    bool by_name_ = false;
    Text result_;
};

/// "[[fill]align][sign][#][0][width][,][.precision][type]".
bool read_brace_spec(std::string_view text, Spec& spec) {
    std::size_t at = 0;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    if (!text.empty()) {
        const std::size_t n = decode(text, 0).n_bytes;
        if (n < text.size() && is_align(text[n])) {
            spec.fill = text.substr(0, n);
            spec.align = text[n];
            at = n + 1;
        } else if (is_align(text[0])) {
            spec.align = text[0];
            at = 1;
        }
    }
    const auto take = [&](char c) {
        return at < text.size() && text[at] == c ? (++at, true) : false;
    };
    for (const char sign : {'+', '-', ' '}) {
        if (take(sign)) spec.sign = sign;
    }
    spec.alternate = take('#');
    if (take('0') && !spec.align) {
        spec.align = '=';
        spec.fill = "0";
    }
    spec.width = read_number(text, at);
    spec.comma = take(',');
    if (take('.')) spec.precision = static_cast<int>(read_number(text, at));
    spec.type = at < text.size() ? text[at++] : '\0';
    return at == text.size() && spec.width <= kMaxWidth;
}

class BraceFormatter {
  public:
    BraceFormatter(Evaluator& evaluator, const Text& format, const Arguments& arguments)
        : evaluator_(evaluator),
          format_(format),
          arguments_(arguments) {}

    Value run() {
        const std::string_view view = format_.view();
        std::size_t at = 0;
        while (at < view.size()) {
            const std::size_t brace = std::min(view.find_first_of("{}", at), view.size());
            result_.append(format_, at, brace);
            if (brace == view.size()) break;
            at = brace + 1;
            if (at < view.size() && view[at] == view[brace]) {
                result_.append(format_, at, at + 1);
                ++at;
                continue;
            }
            const std::size_t close = view.find('}', at);
            if (view[brace] == '}' || close == std::string_view::npos) {
                return evaluator_.fail("format(): a single brace");
            }
            if (!field(view.substr(at, close - at))) return {};
            at = close + 1;
        }
        return evaluator_.text(std::move(result_));
    }

  private:
    bool field(std::string_view text) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        std::string_view name = text.substr(0, colon);
        const bool repr = name.ends_with("!r");
        if (repr || name.ends_with("!s")) name.remove_suffix(2);
        const auto value = lookup(name);
        if (!value) {
            evaluator_.fail(fmt::format("format(): there is no value for '{}'", name));
            return false;
        }
        Spec spec;
        const bool read = read_brace_spec(colon < text.size() ? text.substr(colon + 1) : "", spec);
        if (repr || spec.type == '\0') {
            // Without a type, numbers print as str() does, padded to the right.
            const bool precise = value->is(Kind::real) && spec.precision >= 0;
            const bool grouped =
                value->is_integral() && (spec.comma || spec.sign != '-' || spec.fill == "0");
            spec.type = repr ? 'r' : (precise ? 'g' : (grouped ? 'd' : 's'));
        }
        const auto done = read ? formatted(evaluator_, *value, spec) : std::nullopt;
        if (!done) {
            evaluator_.fail(fmt::format("format(): '{}' does not fit a value of type {}", text,
                                        type_name(*value)));
            return false;
        }
        result_.append(*done);
        return evaluator_.fits(result_.size()) && evaluator_.charge_items(1);
    }

    std::optional<Value> lookup(std::string_view name) {
        std::size_t index = next_;
        if (name.empty()) {
            ++next_;
        } else {
            const auto end = std::from_chars(name.data(), name.data() + name.size(), index);
            if (end.ec != std::errc{} || end.ptr != name.data() + name.size()) {
                for (const auto& [known, value] : arguments_.keyword) {
                    if (known == name) return value;
                }
                return std::nullopt;
            }
        }
        if (index >= arguments_.positional.size()) return std::nullopt;
        return arguments_.positional[index];
    }

    Evaluator& evaluator_;
    const Text& format_;
    const Arguments& arguments_;
    std::size_t next_ = 0;
    Text result_;
};

}  // namespace

Value format_percent(Evaluator& evaluator, const Text& format, const Value& values) {
    return PercentFormatter(evaluator, format, values).run();
}

Value format_braces(Evaluator& evaluator, const Text& format, const Arguments& arguments) {
    return BraceFormatter(evaluator, format, arguments).run();
}

}  // namespace hearth::jinja
