#pragma once
// TextLayout: styled text shaped, ordered (right-to-left included) and broken into lines; then
// drawn, hit, selected. Every position is a byte of the text. Knows no widget.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <imgui.h>

#include "app/gui/text/atlas.h"
#include "app/gui/text/fonts.h"
#include "app/gui/theme.h"

namespace hearth::gui {

struct TextStyle {
    int px = 15;  ///< size in pixels
    FontStyle font;
    Ink ink = Ink::text;
    bool underline = false, strike = false, boxed = false;  ///< boxed: a tinted background
    int link = -1;                                          ///< index of its target
};

/// Bytes [begin, end) in one style; spans are ascending and cover the text.
struct StyleSpan {
    std::uint32_t begin = 0, end = 0;
    TextStyle style;
};

struct PlacedGlyph {
    float x = 0, y = 0;  ///< pen, from the layout's upper left corner
    std::uint32_t glyph = 0;
    std::uint16_t face = 0, span = 0;
};

/// What the caret cannot enter: one grapheme cluster on a line.
struct Cluster {
    std::uint32_t begin = 0, end = 0;  ///< bytes
    float x0 = 0, x1 = 0;              ///< left and right edge
    bool rtl = false;
    std::uint16_t span = 0;
};

struct TextLine {
    float top = 0, height = 0, baseline = 0, width = 0;
    std::uint32_t begin = 0, end = 0;  ///< bytes; a final newline is not included
    std::uint32_t first_glyph = 0, n_glyphs = 0;
    std::uint32_t first_cluster = 0, n_clusters = 0;  ///< in visual order
    float x = 0;                                      ///< left edge of its first cluster
    bool rtl = false;
};

struct TextLayout {
    std::string text;
    std::vector<StyleSpan> spans;
    std::vector<TextLine> lines;
    std::vector<PlacedGlyph> glyphs;
    std::vector<Cluster> clusters;
    float width = 0, height = 0;
};

struct LayoutOptions {
    float wrap_width = 0;  ///< 0 = lines end only at newlines
    float line_spacing = 1.45f;
    int max_lines = 0;  ///< 0 = all; the last one ends with an ellipsis where more would follow
};

TextLayout lay_out(Fonts& fonts, std::string text, std::vector<StyleSpan> spans,
                   const LayoutOptions& options);
/// One style for all.
TextLayout lay_out(Fonts& fonts, std::string text, const TextStyle& style,
                   const LayoutOptions& options);

struct Rect {
    float x = 0, y = 0, w = 0, h = 0;
    bool contains(ImVec2 p) const { return p.x >= x && p.x < x + w && p.y >= y && p.y < y + h; }
    float right() const { return x + w; }
    float bottom() const { return y + h; }
};

/// The caret position (a byte) nearest to a point.
std::uint32_t position_at(const TextLayout& layout, float x, float y);
/// Where the caret stands before `position`; width 0.
Rect caret_rect(const TextLayout& layout, std::uint32_t position);
/// Index into lines.
std::size_t line_of(const TextLayout& layout, std::uint32_t position);
std::vector<Rect> selection_rects(const TextLayout& layout, std::uint32_t begin, std::uint32_t end);
/// The span under a point, or -1.
int span_at(const TextLayout& layout, float x, float y);

/// Draws lines that touch the clip rectangle of `draw`. `tint` other than Ink::text replaces the
/// ink of spans that are Ink::text.
void draw_layout(const TextLayout& layout, ImDrawList& draw, GlyphAtlas& atlas, const Theme& theme,
                 ImVec2 at, Ink tint = Ink::text);

}  // namespace hearth::gui
