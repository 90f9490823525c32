// Methods of str.

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "engine/text/jinja/arguments.h"
#include "engine/text/jinja/functions.h"
#include "engine/text/jinja/text_ops.h"
#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

template <Side side>
Value strip_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "strip()", arguments, {"chars"});
    const std::string_view chars = bound.view(0, "");
    if (!bound.ok()) return {};
    if (bound.has(0) && chars.empty()) return self;
    return evaluator.text(strip(self.text(), chars, side));
}

template <Text (*function)(const Text&)>
Value case_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "a case method", arguments, {});
    if (!bound.ok() || !evaluator.charge_characters(self.cost())) return {};
    return evaluator.text(function(self.text()));
}

template <bool right>
Value split_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "split()", arguments, {"sep", "maxsplit"});
    const std::string_view separator = bound.view(0, "");
    const std::int64_t limit = bound.integer(1, -1);
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    if (!bound.has(0)) {
        if (right && limit >= 0) return evaluator.fail("rsplit() needs a separator here");
        return text_list(split_space(evaluator, self.text(), limit));
    }
    if (separator.empty()) return evaluator.fail("split(): the separator is empty");
    return text_list(right ? split_from_right(evaluator, self.text(), separator, limit)
                           : split(evaluator, self.text(), separator, limit));
}

Value splitlines_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "splitlines()", arguments, {"keepends"});
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    return text_list(split_lines(evaluator, self.text(), bound.flag(0, false)));
}

template <bool right>
Value partition_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "partition()", arguments, {"sep"}, 1);
    const std::string_view separator = bound.view(0, "");
    if (!bound.ok() || !evaluator.charge_bytes(2 * self.cost())) return {};
    if (separator.empty()) return evaluator.fail("partition(): the separator is empty");
    const Text& text = self.text();
    const std::size_t found = right ? text.view().rfind(separator) : text.view().find(separator);
    std::vector<Text> parts;
    if (found == kNone) {
        parts = {right ? Text() : text, Text(), right ? text : Text()};
    } else {
        parts = {text.slice(0, found), text.slice(found, found + separator.size()),
                 text.slice(found + separator.size(), text.size())};
    }
    std::vector<Value> items;
    for (Text& part : parts) items.push_back(Value::string(std::move(part)));
    return Value::list(std::move(items), Flavor::tuple);
}

/// The part of `self` that optional start and end arguments (in characters) leave.
std::string_view window(const Value& self, Bound& bound, std::size_t first,
                        std::size_t& n_skipped) {
    n_skipped = 0;
    if (!bound.has(first) && !bound.has(first + 1)) return self.view();
    const auto offsets = character_offsets(self.view());
    const auto n = static_cast<std::int64_t>(offsets.size()) - 1;
    const auto place = [&](std::int64_t i) {
        return static_cast<std::size_t>(std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n));
    };
    const std::size_t begin = place(std::max(bound.integer(first, 0), -n));
    const std::size_t end = place(std::max(bound.integer(first + 1, n), -n));
    n_skipped = begin;
    return begin < end ? self.view().substr(offsets[begin], offsets[end] - offsets[begin])
                       : std::string_view();
}

template <bool at_end>
Value affix_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, at_end ? "endswith()" : "startswith()", arguments,
                {"prefix", "start", "end"}, 1);
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    std::size_t n_skipped = 0;
    const std::string_view text = window(self, bound, 1, n_skipped);
    std::vector<Value> options = {*bound[0]};
    if (bound[0]->is_list(Flavor::tuple)) options = bound[0]->list().items;
    for (const Value& option : options) {
        if (!option.is(Kind::string)) {
            return evaluator.fail(fmt::format("{} needs a string or tuple of strings, found {}",
                                              at_end ? "endswith()" : "startswith()",
                                              type_name(option)));
        }
        const bool fits = at_end ? text.ends_with(option.view()) : text.starts_with(option.view());
        if (fits) return Value::boolean(true);
    }
    return Value::boolean(false);
}

template <bool right, bool must_find>
Value find_method_of(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "find()", arguments, {"sub", "start", "end"}, 1);
    const std::string_view sub = bound.view(0, "");
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    std::size_t n_skipped = 0;
    const std::string_view text = window(self, bound, 1, n_skipped);
    const std::size_t found = right ? text.rfind(sub) : text.find(sub);
    if (found == kNone) {
        return must_find ? evaluator.fail("index(): the substring is not found")
                         : Value::integer(-1);
    }
    return Value::integer(
        static_cast<std::int64_t>(n_skipped + count_characters(text.substr(0, found))));
}

Value count_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "count()", arguments, {"sub", "start", "end"}, 1);
    const std::string_view sub = bound.view(0, "");
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    std::size_t n_skipped = 0;
    const std::string_view text = window(self, bound, 1, n_skipped);
    if (sub.empty()) return Value::integer(static_cast<std::int64_t>(count_characters(text)) + 1);
    std::int64_t n = 0;
    for (std::size_t at = text.find(sub); at != kNone; at = text.find(sub, at + sub.size())) ++n;
    return Value::integer(n);
}

Value replace_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "replace()", arguments, {"old", "new", "count"}, 2);
    const std::string_view from = bound.view(0, "");
    bound.view(1, "");
    const std::int64_t limit = bound.integer(2, -1);
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    if (!bound.has(0) || !bound.has(1)) return evaluator.fail("replace() needs two strings");
    return evaluator.text(replace(evaluator, self.text(), from, bound[1]->text(), limit));
}

template <bool at_end>
Value remove_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "removeprefix()", arguments, {"affix"}, 1);
    const std::string_view affix = bound.view(0, "");
    if (!bound.ok()) return {};
    const Text& text = self.text();
    if (at_end ? !text.view().ends_with(affix) : !text.view().starts_with(affix)) return self;
    return evaluator.text(at_end ? text.slice(0, text.size() - affix.size())
                                 : text.slice(affix.size(), text.size()));
}

/// True where every character fits, and there is one.
template <bool (*fits)(std::int32_t)>
Value all_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "a class method", arguments, {});
    if (!bound.ok() || !evaluator.charge_characters(self.cost())) return {};
    const std::string_view view = self.view();
    bool all = !view.empty();
    for (std::size_t at = 0; all && at < view.size(); at += decode(view, at).n_bytes) {
        all = fits(decode(view, at).value);
    }
    return Value::boolean(all);
}

bool is_alphanumeric(std::int32_t c) { return is_letter(c) || is_numeric(c); }
bool is_ascii(std::int32_t c) { return c < 0x80; }

template <bool upper_wanted>
Value is_case_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "isupper()", arguments, {});
    if (!bound.ok() || !evaluator.charge_characters(self.cost())) return {};
    const std::string_view view = self.view();
    bool seen = false, other = false;
    for (std::size_t at = 0; at < view.size(); at += decode(view, at).n_bytes) {
        const std::int32_t c = decode(view, at).value;
        seen = seen || (upper_wanted ? is_upper(c) : is_lower(c));
        other = other || (upper_wanted ? is_lower(c) : is_upper(c));
    }
    return Value::boolean(seen && !other);
}

Value join_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "join()", arguments, {"iterable"}, 1);
    std::vector<Value> items;
    if (!bound.ok() || !evaluator.iterate(*bound[0], items)) return {};
    Text result;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!items[i].is(Kind::string)) {
            return evaluator.fail(
                fmt::format("join() needs strings, found {}", type_name(items[i])));
        }
        if (i) result.append(self.text());
        result.append(items[i].text());
        if (!evaluator.fits(result.size()) || !evaluator.charge_bytes(self.cost())) return {};
    }
    return evaluator.text(std::move(result));
}

enum class Align : std::uint8_t { left, right, center };

template <Align align>
Value justify_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "center()", arguments, {"width", "fillchar"}, 1);
    const std::int64_t width = bound.integer(0, 0);
    const std::string_view fill = bound.view(1, " ");
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    const auto n = static_cast<std::int64_t>(count_characters(self.view()));
    const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(width - n, 0));
    if (count_characters(fill) != 1) return evaluator.fail("the fill must be one character");
    if (!evaluator.fits(missing) || !evaluator.room(self.cost() + missing * fill.size())) return {};
    std::size_t left = 0;
    if (align == Align::right) left = missing;
    if (align == Align::center)
        left = missing / 2 + (missing & static_cast<std::size_t>(width) & 1);
    return Value::string(pad(self.text(), left, missing - left, fill));
}

Value zfill_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    Bound bound(evaluator, "zfill()", arguments, {"width"}, 1);
    const std::int64_t width = bound.integer(0, 0);
    if (!bound.ok() || !evaluator.charge_bytes(self.cost())) return {};
    const auto n = static_cast<std::int64_t>(count_characters(self.view()));
    const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(width - n, 0));
    if (!evaluator.room(missing)) return {};
    const std::size_t sign = self.view().starts_with('-') || self.view().starts_with('+') ? 1 : 0;
    Text result = self.text().slice(0, sign);
    result.append(pad(self.text().slice(sign, self.text().size()), missing, 0, "0"));
    return evaluator.text(std::move(result));
}

Value format_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    return format_braces(evaluator, self.text(), arguments);
}

constexpr std::array<std::pair<std::string_view, MethodPointer>, 39> kMethods = {{
    {"capitalize", case_method<capitalize>},
    {"casefold", case_method<lower>},
    {"center", justify_method<Align::center>},
    {"count", count_method},
    {"endswith", affix_method<true>},
    {"find", find_method_of<false, false>},
    {"format", format_method},
    {"index", find_method_of<false, true>},
    {"isalnum", all_method<is_alphanumeric>},
    {"isalpha", all_method<is_letter>},
    {"isascii", all_method<is_ascii>},
    {"isdecimal", all_method<is_decimal>},
    {"isdigit", all_method<is_digit>},
    {"islower", is_case_method<false>},
    {"isnumeric", all_method<is_numeric>},
    {"isspace", all_method<is_space>},
    {"isupper", is_case_method<true>},
    {"join", join_method},
    {"ljust", justify_method<Align::left>},
    {"lower", case_method<lower>},
    {"lstrip", strip_method<Side::left>},
    {"partition", partition_method<false>},
    {"removeprefix", remove_method<false>},
    {"removesuffix", remove_method<true>},
    {"replace", replace_method},
    {"rfind", find_method_of<true, false>},
    {"rindex", find_method_of<true, true>},
    {"rjust", justify_method<Align::right>},
    {"rpartition", partition_method<true>},
    {"rsplit", split_method<true>},
    {"rstrip", strip_method<Side::right>},
    {"split", split_method<false>},
    {"splitlines", splitlines_method},
    {"startswith", affix_method<false>},
    {"strip", strip_method<Side::both>},
    {"swapcase", case_method<swap_case>},
    {"title", case_method<title>},
    {"upper", case_method<upper>},
    {"zfill", zfill_method},
}};

}  // namespace

MethodPointer find_string_method(std::string_view name) {
    for (const auto& [known, method] : kMethods) {
        if (known == name) return method;
    }
    return nullptr;
}

}  // namespace hearth::jinja
