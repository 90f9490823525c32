#include "engine/text/jinja/text_ops.h"

#include <algorithm>

#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

bool holds(std::string_view chars, std::string_view character, std::int32_t value) {
    return chars.empty() ? is_space(value) : chars.find(character) != kNone;
}

std::size_t previous_character(std::string_view text, std::size_t at) {
    for (std::size_t n = 1; n <= 4 && n <= at; ++n) {
        const CodePoint c = decode(text, at - n);
        if (c.valid && c.n_bytes == n) return at - n;
    }
    return at - 1;
}

bool line_end(std::int32_t c) {
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
           c == 0x2029;
}

}  // namespace

Text strip(const Text& text, std::string_view chars, Side side) {
    const std::string_view view = text.view();
    std::size_t begin = 0, end = view.size();
    while (side != Side::right && begin < end) {
        const CodePoint c = decode(view, begin);
        if (!holds(chars, view.substr(begin, c.n_bytes), c.value)) break;
        begin += c.n_bytes;
    }
    while (side != Side::left && end > begin) {
        const std::size_t last = previous_character(view, end);
        if (!holds(chars, view.substr(last, end - last), decode(view, last).value)) break;
        end = last;
    }
    return text.slice(begin, end);
}

Text replace(Evaluator& evaluator, const Text& text, std::string_view from, const Text& to,
             std::int64_t limit) {
    Text result;
    const std::string_view view = text.view();
    std::size_t at = 0;
    while (limit != 0 && at <= view.size()) {
        std::size_t found = at;
        if (from.empty()) {
            // Between all characters, as in Python.
            result.append(to);
            if (at == view.size()) return result;
            found = at + decode(view, at).n_bytes;
            result.append(text, at, found);
            at = found;
        } else {
            found = view.find(from, at);
            if (found == kNone) break;
            result.append(text, at, found);
            result.append(to);
            at = found + from.size();
        }
        if (limit > 0) --limit;
        if (!evaluator.charge_items(1) || !evaluator.charge_bytes(to.cost())) return {};
        if (!evaluator.fits(result.size())) return {};
    }
    result.append(text, at, view.size());
    return result;
}

std::vector<Text> split(Evaluator& evaluator, const Text& text, std::string_view separator,
                        std::int64_t limit) {
    std::vector<Text> pieces;
    std::size_t at = 0;
    for (; limit != 0; --limit) {
        const std::size_t found = text.view().find(separator, at);
        if (found == kNone || !evaluator.charge_items(1)) break;
        pieces.push_back(text.slice(at, found));
        at = found + separator.size();
    }
    pieces.push_back(text.slice(at, text.size()));
    return pieces;
}

std::vector<Text> split_from_right(Evaluator& evaluator, const Text& text,
                                   std::string_view separator, std::int64_t limit) {
    std::vector<Text> pieces;
    std::size_t end = text.size();
    for (; limit != 0 && end >= separator.size(); --limit) {
        const std::size_t found = text.view().rfind(separator, end - separator.size());
        if (found == kNone || !evaluator.charge_items(1)) break;
        pieces.push_back(text.slice(found + separator.size(), end));
        end = found;
    }
    pieces.push_back(text.slice(0, end));
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
}

std::vector<Text> split_space(Evaluator& evaluator, const Text& text, std::int64_t limit) {
    std::vector<Text> pieces;
    const std::string_view view = text.view();
    std::size_t at = 0;
    for (;;) {
        while (at < view.size() && is_space(decode(view, at).value)) at += decode(view, at).n_bytes;
        if (at >= view.size() || !evaluator.charge_items(1)) return pieces;
        if (limit == 0) {
            pieces.push_back(strip(text.slice(at, view.size()), "", Side::right));
            return pieces;
        }
        if (limit > 0) --limit;
        const std::size_t begin = at;
        while (at < view.size() && !is_space(decode(view, at).value))
            at += decode(view, at).n_bytes;
        pieces.push_back(text.slice(begin, at));
    }
}

std::vector<Text> split_lines(Evaluator& evaluator, const Text& text, bool keep_ends) {
    std::vector<Text> lines;
    const std::string_view view = text.view();
    std::size_t begin = 0;
    for (std::size_t at = 0; at < view.size();) {
        const CodePoint c = decode(view, at);
        std::size_t next = at + c.n_bytes;
        if (!line_end(c.value)) {
            at = next;
            continue;
        }
        if (c.value == '\r' && next < view.size() && view[next] == '\n') ++next;
        if (!evaluator.charge_items(1)) break;
        lines.push_back(text.slice(begin, keep_ends ? next : at));
        begin = at = next;
    }
    if (begin < view.size()) lines.push_back(text.slice(begin, view.size()));
    return lines;
}

Value text_list(std::vector<Text> pieces) {
    std::vector<Value> items;
    items.reserve(pieces.size());
    for (Text& piece : pieces) items.push_back(Value::string(std::move(piece)));
    return Value::list(std::move(items));
}

Text map_characters(const Text& text,
                    const std::function<void(std::string& out, std::int32_t c)>& append) {
    Text result;
    std::size_t begin = 0;
    std::string out;
    for (const Run& run : text.runs()) {
        const std::string_view view = text.view().substr(begin, run.end - begin);
        out.clear();
        for (std::size_t at = 0; at < view.size();) {
            const CodePoint c = decode(view, at);
            if (c.valid) {
                append(out, c.value);
            } else {
                out.push_back(view[at]);
            }
            at += c.n_bytes;
        }
        result.append(out, run.origin == kLiteral ? kLiteral : kInput);
        begin = run.end;
    }
    return result;
}

Text upper(const Text& text) { return map_characters(text, append_upper); }
Text lower(const Text& text) { return map_characters(text, append_lower); }

Text capitalize(const Text& text) {
    bool first = true;
    return map_characters(text, [&](std::string& out, std::int32_t c) {
        first ? append_title(out, c) : append_lower(out, c);
        first = false;
    });
}

Text swap_case(const Text& text) {
    return map_characters(text, [](std::string& out, std::int32_t c) {
        is_upper(c) ? append_lower(out, c) : append_upper(out, c);
    });
}

Text title(const Text& text) {
    bool inside = false;
    return map_characters(text, [&](std::string& out, std::int32_t c) {
        inside ? append_lower(out, c) : append_title(out, c);
        inside = is_letter(c);
    });
}

Text title_words(const Text& text) {
    bool inside = false;
    return map_characters(text, [&](std::string& out, std::int32_t c) {
        inside ? append_lower(out, c) : append_upper(out, c);
        inside = !is_space(c) &&
                 (c > 0x7F || std::string_view("-({[<").find(static_cast<char>(c)) == kNone);
    });
}

Text pad(const Text& text, std::size_t n_left, std::size_t n_right, std::string_view fill) {
    Text result;
    for (std::size_t i = 0; i < n_left; ++i) result.append(fill, kLiteral);
    result.append(text);
    for (std::size_t i = 0; i < n_right; ++i) result.append(fill, kLiteral);
    return result;
}

}  // namespace hearth::jinja
