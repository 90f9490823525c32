#pragma once
// Code points as Python's str sees them: decoding that never fails, whitespace, case, classes.
// A byte that belongs to no character counts as one character and is kept as it is.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::jinja {

struct CodePoint {
    std::int32_t value = 0;    ///< U+FFFD for a stray byte
    std::uint8_t n_bytes = 1;  ///< bytes in the source
    bool valid = true;
};

/// The character at `text[at]`; `at` < text.size().
CodePoint decode(std::string_view text, std::size_t at);
void encode(std::string& out, std::int32_t code_point);
/// Code points in `text`.
std::size_t count_characters(std::string_view text);
/// Byte offset of every code point, and text.size() at the end.
std::vector<std::size_t> character_offsets(std::string_view text);

/// str.isspace of one character (also what `\s` and strip() take).
bool is_space(std::int32_t c);
bool is_letter(std::int32_t c);   ///< L*
bool is_digit(std::int32_t c);    ///< str.isdigit: Nd and superscripts
bool is_decimal(std::int32_t c);  ///< Nd
bool is_numeric(std::int32_t c);  ///< N*
bool is_upper(std::int32_t c);    ///< Lu
bool is_lower(std::int32_t c);    ///< Ll
bool is_word(std::int32_t c);     ///< letters, digits, marks, underscore: part of a name
/// repr() shows it as it is.
bool is_printable(std::int32_t c);

/// Appends the upper, lower or title case form (a sharp s becomes SS, as in Python).
void append_upper(std::string& out, std::int32_t c);
void append_lower(std::string& out, std::int32_t c);
void append_title(std::string& out, std::int32_t c);
std::string lower_copy(std::string_view text);

}  // namespace hearth::jinja
