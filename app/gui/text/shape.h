#pragma once
// One paragraph (no newline inside) as units in logical order: what each takes in width, which
// glyphs it draws, where a line may end. The middle step of layout.cpp.

#include <cstdint>
#include <string_view>
#include <vector>

#include "app/gui/text/layout.h"

namespace hearth::gui {

struct ShapedGlyph {
    std::uint32_t glyph = 0;
    std::uint16_t face = 0;
    float x = 0, y = 0;  ///< pen of the glyph, from the unit's left edge on the baseline
};

/// One or more characters that were shaped as one piece.
struct ShapeUnit {
    std::uint32_t begin = 0, end = 0;  ///< bytes of the paragraph
    std::uint32_t first_glyph = 0, n_glyphs = 0;
    float advance = 0;
    std::uint8_t level = 0;  ///< bidi; odd = right to left
    bool is_space = false;
    bool may_break_after = false;
    std::uint16_t span = 0;
    std::uint16_t n_clusters = 1;  ///< a ligature holds several
};

struct ShapedParagraph {
    std::vector<ShapeUnit> units;
    std::vector<ShapedGlyph> glyphs;
    bool rtl = false;  ///< base direction
};

/// `offset`: where the paragraph begins in the text that `spans` speak of.
ShapedParagraph shape_paragraph(Fonts& fonts, std::string_view paragraph, std::uint32_t offset,
                                const std::vector<StyleSpan>& spans);

}  // namespace hearth::gui
