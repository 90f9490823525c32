// Filters on strings. A value that is no string is printed first, as in Jinja.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/text/jinja/filter_tables.h"
#include "engine/text/jinja/functions.h"
#include "engine/text/jinja/text_ops.h"
#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

template <Text (*function)(const Text&)>
Value map_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "a text filter", arguments, {});
    if (!bound.ok() || !evaluator.charge_characters(input.cost())) return {};
    return evaluator.text(function(evaluator.print(input)));
}

Value string_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "string", arguments, {});
    return bound.ok() ? evaluator.text(evaluator.print(input)) : Value();
}

Text escape_html(const Text& text) {
    return map_characters(text, [](std::string& out, std::int32_t c) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '"':
                out += "&#34;";
                break;
            default:
                encode(out, c);
        }
    });
}

Value trim_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "trim", arguments, {"chars"});
    const std::string_view chars = bound.view(0, "");
    if (!bound.ok()) return {};
    const Text text = evaluator.print(input);
    if (bound.has(0) && chars.empty()) return evaluator.text(text);
    return evaluator.text(strip(text, chars, Side::both));
}

Value replace_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "replace", arguments, {"old", "new", "count"}, 2);
    const std::int64_t limit = bound.integer(2, -1);
    if (!bound.ok()) return {};
    const Text text = evaluator.print(input);
    const Text from = evaluator.print(*bound[0]);
    const Text to = evaluator.print(*bound[1]);
    if (evaluator.failed()) return {};
    return evaluator.text(replace(evaluator, text, from.view(), to, limit));
}

Value center_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "center", arguments, {"width"});
    const std::int64_t width = bound.integer(0, 80);
    if (!bound.ok()) return {};
    Arguments method;
    method.positional = {Value::integer(width)};
    const Value text = Value::string(evaluator.print(input));
    return find_string_method("center")(evaluator, text, method);
}

Value indent_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "indent", arguments, {"width", "first", "blank"});
    if (!bound.ok()) return {};
    Text margin;
    if (bound.has(0) && bound[0]->is(Kind::string)) {
        margin = bound[0]->text();
    } else {
        const std::int64_t width = std::max<std::int64_t>(bound.integer(0, 4), 0);
        if (!bound.ok() || !evaluator.fits(static_cast<std::size_t>(width))) return {};
        margin = Text(std::string(static_cast<std::size_t>(width), ' '));
    }
    Text text = evaluator.print(input);
    text.append("\n", kLiteral);
    const auto lines = split_lines(evaluator, text);
    Text result;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i) result.append("\n", kLiteral);
        const bool wanted =
            i == 0 ? bound.flag(1, false) : bound.flag(2, false) || !lines[i].empty();
        if (wanted) result.append(margin);
        result.append(lines[i]);
        if (!evaluator.fits(result.size()) || !evaluator.charge_bytes(margin.size())) return {};
    }
    return evaluator.text(std::move(result));
}

Value truncate_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "truncate", arguments, {"length", "killwords", "end", "leeway"});
    const std::int64_t length = bound.integer(0, 255);
    const std::string_view end = bound.view(2, "...");
    const std::int64_t leeway = bound.integer(3, 5);
    const auto n_end = static_cast<std::int64_t>(count_characters(end));
    if (!bound.ok()) return {};
    if (length < n_end || leeway < 0) return evaluator.fail("truncate: the length is too small");
    const Text text = evaluator.print(input);
    const auto offsets = character_offsets(text.view());
    const auto n = static_cast<std::int64_t>(offsets.size()) - 1;
    if (n <= length || n - length <= leeway) return evaluator.text(text);
    Text result = text.slice(0, offsets[static_cast<std::size_t>(length - n_end)]);
    if (!bound.flag(1, false)) {
        const std::size_t space = result.view().rfind(' ');
        if (space != std::string_view::npos) result = result.slice(0, space);
    }
    result.append(bound[2] ? bound[2]->text() : Text("..."));
    return evaluator.text(std::move(result));
}

Value wordcount_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "wordcount", arguments, {});
    if (!bound.ok()) return {};
    const Text text = evaluator.print(input);
    std::int64_t n = 0;
    bool inside = false;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode(text.view(), at);
        const bool word = c.valid && is_word(c.value);
        if (word && !inside) ++n;
        inside = word;
        at += c.n_bytes;
    }
    return Value::integer(n);
}

void unescape_html(std::string& text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kEntities = {{
        {"&lt;", "<"},
        {"&gt;", ">"},
        {"&#34;", "\""},
        {"&quot;", "\""},
        {"&#39;", "'"},
        {"&amp;", "&"},
    }};
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto found =
            std::find_if(kEntities.begin(), kEntities.end(), [&](const auto& entity) {
                return std::string_view(text).substr(at).starts_with(entity.first);
            });
        if (found == kEntities.end()) {
            out += text[at++];
        } else {
            out += found->second;
            at += found->first.size();
        }
    }
    text = std::move(out);
}

Value striptags_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "striptags", arguments, {});
    if (!bound.ok()) return {};
    const Text text = evaluator.print(input);
    std::string plain(text.view());
    for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>{"<!--", "-->"},
                                      std::pair<std::string_view, std::string_view>{"<", ">"}}) {
        std::string out;
        std::size_t at = 0;
        while (at < plain.size()) {
            const std::size_t begin = plain.find(open, at);
            const std::size_t end =
                begin == std::string::npos ? begin : plain.find(close, begin + open.size());
            if (end == std::string::npos) break;
            out.append(plain, at, begin - at);
            at = end + close.size();
        }
        out.append(plain, std::min(at, plain.size()));
        plain = std::move(out);
    }
    std::string joined;
    for (const Text& word : split_space(evaluator, Text(std::move(plain)), -1)) {
        if (!joined.empty()) joined += ' ';
        joined += word.view();
    }
    unescape_html(joined);
    return evaluator.text(Text(std::move(joined), text.blended()));
}

std::string quote_url(std::string_view text, bool keep_slash) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '~' ||
                           (c == '/' && keep_slash);
        if (plain) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return out;
}

Value urlencode_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "urlencode", arguments, {});
    if (!bound.ok()) return {};
    if (!input.is(Kind::dict)) {
        const Text text = evaluator.print(input);
        return evaluator.text(Text(quote_url(text.view(), true), text.blended()));
    }
    std::string out;
    Origin origin = kLiteral;
    for (const auto& [key, value] : input.dict().items()) {
        const Text name = evaluator.print(key), text = evaluator.print(value);
        if (evaluator.failed()) return {};
        if (!out.empty()) out += '&';
        out += quote_url(name.view(), false) + "=" + quote_url(text.view(), false);
        if (name.blended() == kInput || text.blended() == kInput) origin = kInput;
    }
    return evaluator.text(Text(std::move(out), origin));
}

Value format_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Text format = evaluator.print(input);
    if (!arguments.keyword.empty()) {
        auto dict = std::make_shared<Dict>();
        for (const auto& [name, value] : arguments.keyword) dict->set(Value::string(name), value);
        return format_percent(evaluator, format, Value::object(Kind::dict, std::move(dict)));
    }
    return format_percent(evaluator, format, Value::list(arguments.positional, Flavor::tuple));
}

constexpr std::array<Filter, 18> kTable = {{
    {"capitalize", map_filter<capitalize>},
    {"center", center_filter},
    {"e", map_filter<escape_html>},
    {"escape", map_filter<escape_html>},
    {"forceescape", map_filter<escape_html>},
    {"format", format_filter},
    {"indent", indent_filter},
    {"lower", map_filter<lower>},
    {"replace", replace_filter},
    {"safe", string_filter},
    {"string", string_filter},
    {"striptags", striptags_filter},
    {"title", map_filter<title_words>},
    {"trim", trim_filter},
    {"truncate", truncate_filter},
    {"upper", map_filter<upper>},
    {"urlencode", urlencode_filter},
    {"wordcount", wordcount_filter},
}};

}  // namespace

std::span<const Filter> text_filters() { return kTable; }

}  // namespace hearth::jinja
