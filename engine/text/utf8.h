#pragma once
// Strict UTF-8 (Unicode table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF), as
// the tokenizers need it: where is a character, where is a byte that belongs to none.

#include <cstddef>
#include <string_view>

namespace hearth {

/// What a byte can open: total length of the sequence and the allowed range of its second byte.
/// length 0: the byte opens nothing.
struct Utf8Lead {
    unsigned char length = 0;
    unsigned char second_min = 0x80;
    unsigned char second_max = 0xBF;
};

constexpr Utf8Lead utf8_lead(unsigned char byte) {
    if (byte < 0x80) return {1, 0x80, 0xBF};
    if (byte < 0xC2) return {0, 0x80, 0xBF};
    if (byte < 0xE0) return {2, 0x80, 0xBF};
    if (byte == 0xE0) return {3, 0xA0, 0xBF};
    if (byte == 0xED) return {3, 0x80, 0x9F};
    if (byte < 0xF0) return {3, 0x80, 0xBF};
    if (byte == 0xF0) return {4, 0x90, 0xBF};
    if (byte < 0xF4) return {4, 0x80, 0xBF};
    if (byte == 0xF4) return {4, 0x80, 0x8F};
    return {0, 0x80, 0xBF};
}

/// Bytes of the character that begins at `text[at]`, or 0 when none does (invalid or cut).
constexpr std::size_t utf8_character(std::string_view text, std::size_t at) {
    const Utf8Lead lead = utf8_lead(static_cast<unsigned char>(text[at]));
    if (lead.length == 0 || text.size() - at < lead.length) return 0;
    for (std::size_t i = 1; i < lead.length; ++i) {
        const auto byte = static_cast<unsigned char>(text[at + i]);
        const bool fits = i == 1 ? byte >= lead.second_min && byte <= lead.second_max
                                 : byte >= 0x80 && byte <= 0xBF;
        if (!fits) return 0;
    }
    return lead.length;
}

/// The largest position <= `at` that does not lie inside a character (looks back 3 bytes at most).
constexpr std::size_t utf8_floor(std::string_view text, std::size_t at) {
    if (at >= text.size()) return text.size();
    for (std::size_t back = 1; back <= 3 && back <= at; ++back) {
        if (utf8_character(text, at - back) > back) return at - back;
    }
    return at;
}

}  // namespace hearth
