#include "engine/text/jinja/unicode.h"

#include <utf8proc.h>

#include "engine/text/utf8.h"

namespace hearth::jinja {

CodePoint decode(std::string_view text, std::size_t at) {
    const std::size_t n_bytes = utf8_character(text, at);
    const auto byte = [&](std::size_t i) {
        return static_cast<std::int32_t>(static_cast<unsigned char>(text[at + i]));
    };
    switch (n_bytes) {
        case 1:
            return {byte(0), 1, true};
        case 2:
            return {((byte(0) & 0x1F) << 6) | (byte(1) & 0x3F), 2, true};
        case 3:
            return {((byte(0) & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), 3, true};
        case 4:
            return {((byte(0) & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) |
                        (byte(3) & 0x3F),
                    4, true};
        default:
            return {0xFFFD, 1, false};
    }
}

void encode(std::string& out, std::int32_t code_point) {
    utf8proc_uint8_t bytes[4];
    const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
    const bool valid = utf8proc_codepoint_valid(code_point) && !surrogate;
    const auto n = utf8proc_encode_char(valid ? code_point : 0xFFFD, bytes);
    for (utf8proc_ssize_t i = 0; i < n; ++i) out.push_back(static_cast<char>(bytes[i]));
}

std::size_t count_characters(std::string_view text) {
    std::size_t n = 0;
    for (std::size_t at = 0; at < text.size(); at += decode(text, at).n_bytes) ++n;
    return n;
}

std::vector<std::size_t> character_offsets(std::string_view text) {
    std::vector<std::size_t> offsets;
    offsets.reserve(text.size() + 1);
    for (std::size_t at = 0; at < text.size(); at += decode(text, at).n_bytes) {
        offsets.push_back(at);
    }
    offsets.push_back(text.size());
    return offsets;
}

bool is_space(std::int32_t c) {
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

bool is_letter(std::int32_t c) {
    const auto category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

bool is_digit(std::int32_t c) {
    const bool superscript = c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0x2070 && c <= 0x2079) ||
                             (c >= 0x2080 && c <= 0x2089);
    return superscript || is_decimal(c);
}

bool is_numeric(std::int32_t c) {
    const auto category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_upper(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(std::int32_t c) { return utf8proc_category(c) == UTF8PROC_CATEGORY_LL; }

bool is_word(std::int32_t c) {
    const auto category = utf8proc_category(c);
    const bool mark = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
    return c == '_' || is_letter(c) || is_numeric(c) || mark;
}

bool is_printable(std::int32_t c) {
    if (c == ' ') return true;
    const auto category = utf8proc_category(c);
    return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

void append_upper(std::string& out, std::int32_t c) {
    if (c == 0xDF) {
        out += "SS";
    } else {
        encode(out, utf8proc_toupper(c));
    }
}

void append_lower(std::string& out, std::int32_t c) { encode(out, utf8proc_tolower(c)); }

void append_title(std::string& out, std::int32_t c) {
    if (c == 0xDF) {
        out += "Ss";
    } else {
        encode(out, utf8proc_totitle(c));
    }
}

std::string lower_copy(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = decode(text, at);
        if (c.valid) {
            append_lower(result, c.value);
        } else {
            result.push_back(text[at]);
        }
        at += c.n_bytes;
    }
    return result;
}

}  // namespace hearth::jinja
