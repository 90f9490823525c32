// How Python prints values: str() and repr().

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "engine/text/jinja/unicode.h"
#include "engine/text/jinja/value.h"

namespace hearth::jinja {
namespace {

void append_escaped(std::string& out, std::int32_t c, std::string_view bytes, char quote) {
    if (c == '\n') {
        out += "\\n";
    } else if (c == '\r') {
        out += "\\r";
    } else if (c == '\t') {
        out += "\\t";
    } else if (c == '\\' || c == quote) {
        out += '\\';
        out += static_cast<char>(c);
    } else if (is_printable(c)) {
        out += bytes;
    } else if (c < 0x100) {
        out += fmt::format("\\x{:02x}", c);
    } else if (c < 0x10000) {
        out += fmt::format("\\u{:04x}", c);
    } else {
        out += fmt::format("\\U{:08x}", c);
    }
}

void append_string_repr(std::string& out, std::string_view text) {
    const bool double_quoted =
        text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
    const char quote = double_quoted ? '"' : '\'';
    out += quote;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode(text, at);
        append_escaped(out, c.value, text.substr(at, c.n_bytes), quote);
        at += c.n_bytes;
    }
    out += quote;
}

void append_items(std::string& out, bool& input, const std::vector<Value>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i) out += ", ";
        append_repr(out, input, items[i]);
    }
}

void append_list(std::string& out, bool& input, const Value& value) {
    const List& list = value.list();
    switch (list.flavor) {
        case Flavor::list:
            out += '[';
            append_items(out, input, list.items);
            out += ']';
            return;
        case Flavor::tuple:
        case Flavor::group:
            out += '(';
            append_items(out, input, list.items);
            out += list.items.size() == 1 ? ",)" : ")";
            return;
        case Flavor::generator:
            out += "<generator object>";
            return;
        default:
            out += type_name(value);
            out += "([";
            append_items(out, input, list.items);
            out += "])";
    }
}

void append_dict(std::string& out, bool& input, const Dict& dict) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : dict.items()) {
        if (!first) out += ", ";
        first = false;
        append_repr(out, input, key);
        out += ": ";
        append_repr(out, input, value);
    }
    out += '}';
}

void append_range(std::string& out, const Range& range) {
    out += fmt::format("range({}, {}", range.start, range.stop);
    if (range.step != 1) out += fmt::format(", {}", range.step);
    out += ')';
}

}  // namespace

std::string real_repr(double d) {
    if (std::isnan(d)) return "nan";
    if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
    char buffer[64];
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific);
    const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
    const std::size_t e = text.find('e');
    int exponent = 0;
    const std::size_t digits = text[e + 1] == '+' ? e + 2 : e + 1;
    std::from_chars(buffer + digits, end.ptr, exponent);
    if (exponent < -4 || exponent >= 16) return std::string(text);
    const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed);
    std::string result(buffer, fixed.ptr);
    if (result.find('.') == std::string::npos) result += ".0";
    return result;
}

void append_repr(std::string& out, bool& input, const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            out += "Undefined";
            return;
        case Kind::none:
            out += "None";
            return;
        case Kind::boolean:
            out += value.integral() ? "True" : "False";
            return;
        case Kind::integer:
            out += fmt::format_int(value.integral()).c_str();
            return;
        case Kind::real:
            out += real_repr(value.number());
            return;
        case Kind::string:
            input = input || !value.text().is_literal();
            append_string_repr(out, value.view());
            return;
        case Kind::list:
            append_list(out, input, value);
            return;
        case Kind::dict:
            append_dict(out, input, value.dict());
            return;
        case Kind::range:
            append_range(out, value.range());
            return;
        default:
            // Contents stay out: a namespace may hold itself.
            out += fmt::format("<{}>", type_name(value));
    }
}

Text to_text(const Value& value) {
    if (value.is(Kind::string)) return value.text();
    if (value.is(Kind::undefined)) return {};
    std::string out;
    bool input = false;
    append_repr(out, input, value);
    return Text(std::move(out), input ? kInput : kLiteral);
}

}  // namespace hearth::jinja
