// Glyphs of a layout into an ImDrawList, with what belongs to styles: boxes, underlines.

#include <algorithm>
#include <cmath>

#include "app/gui/text/layout.h"

namespace hearth::gui {
namespace {

Ink ink_of(const TextStyle& style, Ink tint) { return style.ink == Ink::text ? tint : style.ink; }

void draw_glyphs(const TextLayout& layout, const TextLine& line, ImDrawList& draw,
                 GlyphAtlas& atlas, const Theme& theme, ImVec2 at, Ink tint) {
    const ImTextureID around = draw._CmdHeader.TextureId;
    ImTextureID texture = around;
    for (std::uint32_t i = 0; i < line.n_glyphs; ++i) {
        const PlacedGlyph& placed = layout.glyphs[line.first_glyph + i];
        const TextStyle& style = layout.spans[placed.span].style;
        const float pen = at.x + placed.x;
        const float whole = std::floor(pen);
        const int quarter = std::min(3, static_cast<int>((pen - whole) * 4));
        const AtlasGlyph& glyph = atlas.get(placed.face, placed.glyph, style.px, quarter);
        if (glyph.texture == nullptr) continue;
        if (glyph.texture != texture) {
            if (texture != around) draw.PopTextureID();
            if (glyph.texture != around) draw.PushTextureID(glyph.texture);
            texture = glyph.texture;
        }
        const ImVec2 p0(whole + glyph.left, std::round(at.y + placed.y) + glyph.top);
        const ImVec2 p1(p0.x + glyph.width, p0.y + glyph.height);
        draw.PrimReserve(6, 4);
        draw.PrimRectUV(p0, p1, glyph.uv0, glyph.uv1,
                        glyph.color ? IM_COL32_WHITE : theme[ink_of(style, tint)]);
    }
    if (texture != around) draw.PopTextureID();
}

/// Calls `paint` for each stretch of the line whose style wants `what`.
template <typename Paint>
void for_stretches(const TextLayout& layout, const TextLine& line, bool TextStyle::*what,
                   Paint paint) {
    for (std::uint32_t i = 0; i < line.n_clusters;) {
        const Cluster& first = layout.clusters[line.first_cluster + i];
        const TextStyle& style = layout.spans[first.span].style;
        float right = first.x1;
        std::uint32_t j = i + 1;
        while (j < line.n_clusters && layout.clusters[line.first_cluster + j].span == first.span) {
            right = layout.clusters[line.first_cluster + j].x1;
            ++j;
        }
        if (style.*what) paint(first.x0, right, style);
        i = j;
    }
}

}  // namespace

void draw_layout(const TextLayout& layout, ImDrawList& draw, GlyphAtlas& atlas, const Theme& theme,
                 ImVec2 at, Ink tint) {
    const ImVec2 clip_min = draw.GetClipRectMin(), clip_max = draw.GetClipRectMax();
    const auto visible_from = std::partition_point(
        layout.lines.begin(), layout.lines.end(),
        [&](const TextLine& line) { return at.y + line.top + line.height < clip_min.y; });
    for (auto line = visible_from; line != layout.lines.end(); ++line) {
        if (at.y + line->top > clip_max.y) break;
        for_stretches(
            layout, *line, &TextStyle::boxed, [&](float x0, float x1, const TextStyle& style) {
                const auto px = static_cast<float>(style.px);
                const float y = at.y + line->baseline;
                draw.AddRectFilled(ImVec2(at.x + x0 - 2, y - px),
                                   ImVec2(at.x + x1 + 2, y + px * 0.34f), theme[Ink::code_back], 3);
            });
        draw_glyphs(layout, *line, draw, atlas, theme, at, tint);
        const auto rule = [&](float part) {
            return [&, part](float x0, float x1, const TextStyle& style) {
                const auto px = static_cast<float>(style.px);
                const float y = std::round(at.y + line->baseline - px * part);
                draw.AddRectFilled(ImVec2(at.x + x0, y),
                                   ImVec2(at.x + x1, y + std::max(1.0f, std::round(px / 15))),
                                   theme[ink_of(style, tint)]);
            };
        };
        for_stretches(layout, *line, &TextStyle::underline, rule(-0.14f));
        for_stretches(layout, *line, &TextStyle::strike, rule(0.28f));
    }
}

}  // namespace hearth::gui
