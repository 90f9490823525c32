#pragma once
// Colours of code: comments, strings, numbers, keywords, by one small lexer for all languages.

#include <string_view>
#include <vector>

#include "app/gui/text/layout.h"

namespace hearth::gui {

/// Spans that cover `code`; `base` gives size and font. Unknown languages get no keywords.
std::vector<StyleSpan> highlight(std::string_view code, std::string_view language,
                                 const TextStyle& base);

}  // namespace hearth::gui
