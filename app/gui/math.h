#pragma once
// LaTeX formulas as plain text that reads well: Greek letters, signs, powers. No layout of its own.

#include <string>
#include <string_view>

namespace hearth::gui {

/// Private characters around a formula in text that goes through the Markdown parser.
inline constexpr std::string_view kMathBegin = "\uE0F0", kMathEnd = "\uE0F1";

/// Replaces \( \), \[ \] and $$ $$ outside of code by the marks above around readable text.
std::string mark_math(std::string_view source);

void append_character(std::string& out, char32_t c);

}  // namespace hearth::gui
