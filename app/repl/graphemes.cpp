#include "app/repl/graphemes.h"

#include <algorithm>

#include <utf8proc.h>

namespace hearth::repl {
namespace {

constexpr std::int32_t kReplacement = 0xFFFD;
constexpr std::int32_t kEmojiVariation = 0xFE0F;
constexpr int kTabStop = 4;
/// Clusters longer than this many bytes are cut when walking backwards; real ones are < 64.
constexpr std::size_t kLookBack = 512;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

bool is_control(std::int32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

bool is_regional_indicator(std::int32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }

std::size_t sequence_bytes(unsigned char lead) {
    if (lead >= 0xF0 && lead <= 0xF4) return 4;
    if (lead >= 0xE0 && lead < 0xF0) return 3;
    if (lead >= 0xC2 && lead < 0xE0) return 2;
    return 1;
}

void append_utf8(std::string& out, std::int32_t value) {
    utf8proc_uint8_t bytes[4];
    const auto n = utf8proc_encode_char(value, bytes);
    for (utf8proc_ssize_t i = 0; i < n; ++i) out += static_cast<char>(bytes[i]);
}

/// The picture of a control character: U+2400 block, U+FFFD for C1.
void append_control_symbol(std::string& out, std::int32_t value) {
    if (value < 0x20) {
        append_utf8(out, 0x2400 + value);
    } else {
        append_utf8(out, value == 0x7F ? 0x2421 : kReplacement);
    }
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t pos) {
    const char c = text[pos];
    if (static_cast<unsigned char>(c) < 0x80) return {c, 1, true};
    utf8proc_int32_t value = 0;
    const auto rest = std::min<std::size_t>(text.size() - pos, 4);
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + pos),
                                    static_cast<utf8proc_ssize_t>(rest), &value);
    if (n <= 0) return {kReplacement, 1, false};
    return {value, static_cast<std::size_t>(n), true};
}

std::size_t incomplete_tail(std::string_view text) {
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const char c = text[text.size() - back];
        if (is_continuation(c)) continue;
        return sequence_bytes(static_cast<unsigned char>(c)) > back ? back : 0;
    }
    return 0;
}

std::string repair_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint cp = code_point_at(text, i);
        if (cp.valid) {
            out.append(text.substr(i, cp.n_bytes));
        } else {
            append_utf8(out, kReplacement);
        }
        i += cp.n_bytes;
    }
    return out;
}

std::size_t next_grapheme(std::string_view text, std::size_t pos) {
    if (pos >= text.size()) return text.size();
    const bool next_is_ascii =
        pos + 1 >= text.size() || static_cast<unsigned char>(text[pos + 1]) < 0x80;
    if (static_cast<unsigned char>(text[pos]) < 0x80 && next_is_ascii) return pos + 1;
    CodePoint left = code_point_at(text, pos);
    pos += left.n_bytes;
    utf8proc_int32_t state = 0;
    while (pos < text.size()) {
        const CodePoint right = code_point_at(text, pos);
        if (!left.valid || !right.valid) break;
        if (utf8proc_grapheme_break_stateful(left.value, right.value, &state)) break;
        pos += right.n_bytes;
        left = right;
    }
    return pos;
}

std::size_t previous_grapheme(std::string_view text, std::size_t pos) {
    if (pos == 0) return 0;
    if (static_cast<unsigned char>(text[pos - 1]) < 0x80) return pos - 1;
    // Clusters are only found forwards: start at a place that is surely between two of them.
    std::size_t start = pos - 1;
    const std::size_t limit = pos > kLookBack ? pos - kLookBack : 0;
    while (start > limit && text[start - 1] != '\n') --start;
    while (start < pos && is_continuation(text[start])) ++start;
    std::size_t last = start;
    for (std::size_t i = start; i < pos; i = next_grapheme(text.substr(0, pos), i)) last = i;
    return std::min(last, pos - 1);
}

int cluster_columns(std::string_view cluster) {
    if (cluster.size() == 1) return 1;
    int sum = 0, widest = 0, n_flags = 0;
    bool emoji = false;
    for (std::size_t i = 0; i < cluster.size();) {
        const CodePoint cp = code_point_at(cluster, i);
        const int width = cp.valid ? utf8proc_charwidth(cp.value) : 1;
        sum += width;
        widest = std::max(widest, width);
        n_flags += is_regional_indicator(cp.value) ? 1 : 0;
        emoji = emoji || cp.value == kEmojiVariation;
        i += cp.n_bytes;
    }
    if (emoji || n_flags == 2) return 2;
    return widest == 2 ? 2 : sum;
}

Display display_of(std::string_view cluster, int column) {
    if (cluster.size() == 1) {
        const char c = cluster[0];
        if (is_plain(c)) return {std::string(cluster), 1};
        if (c == '\t') {
            const int n = kTabStop - column % kTabStop;
            return {std::string(static_cast<std::size_t>(n), ' '), n};
        }
        if (c == '\n') return {"", 0};
        if (c == 0x7F) return {"^?", 2};
        if (static_cast<unsigned char>(c) < 0x20) return {{'^', static_cast<char>(c + 0x40)}, 2};
    }
    std::string safe = sanitize_line(cluster);
    const int columns = cluster_columns(safe);
    return {std::move(safe), columns};
}

int text_columns(std::string_view text) {
    int column = 0;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t end = next_grapheme(text, i);
        column += display_of(text.substr(i, end - i), column).columns;
        i = end;
    }
    return column;
}

std::string sanitize(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint cp = code_point_at(text, i);
        const bool kept = cp.value == '\n' || cp.value == '\t' || !is_control(cp.value);
        if (cp.value == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
            // the newline follows
        } else if (!kept) {
            append_control_symbol(out, cp.value);
        } else if (!cp.valid) {
            append_utf8(out, kReplacement);
        } else {
            out.append(text.substr(i, cp.n_bytes));
        }
        i += cp.n_bytes;
    }
    return out;
}

std::string sanitize_line(std::string_view text) {
    std::string out = sanitize(text);
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return out;
}

std::string clip(std::string_view text, int columns) {
    const std::string line = sanitize_line(text);
    if (text_columns(line) <= columns) return line;
    std::string out;
    int used = 0;
    for (std::size_t i = 0; i < line.size();) {
        const std::size_t end = next_grapheme(line, i);
        const int width = cluster_columns(std::string_view(line).substr(i, end - i));
        if (used + width > columns - 1) break;
        out.append(line, i, end - i);
        used += width;
        i = end;
    }
    return out + "…";
}

bool is_word_character(std::int32_t code_point) {
    if (code_point < 0x80) {
        return (code_point >= '0' && code_point <= '9') ||
               (code_point >= 'a' && code_point <= 'z') ||
               (code_point >= 'A' && code_point <= 'Z') || code_point == '_';
    }
    switch (utf8proc_category(code_point)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
            return true;
        default:
            return false;
    }
}

}  // namespace hearth::repl
