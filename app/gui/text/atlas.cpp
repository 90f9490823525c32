#include "app/gui/text/atlas.h"

#include <algorithm>

namespace hearth::gui {

GlyphAtlas::Page* GlyphAtlas::page_with_room(int width, int height) {
    if (!pages_.empty()) {
        Page& page = pages_.back();
        if (page.x + width > kSize) {
            page.y += page.row_height;
            page.x = page.row_height = 0;
        }
        if (page.y + height <= kSize) return &page;
    }
    return &add_page();
}

GlyphAtlas::Page& GlyphAtlas::add_page() {
    Page page;
    if (!spare_.empty()) {
        page.texture = spare_.back();
        spare_.pop_back();
    } else {
        page.texture = textures_.create(kSize);
    }
    page.pixels.assign(std::size_t{kSize} * kSize, 0);
    constexpr int kWhite = 3;
    for (int y = 0; y < kWhite; ++y) {
        std::fill_n(page.pixels.begin() + std::ptrdiff_t{y} * kSize, kWhite, 0xFFFFFFFFu);
    }
    page.x = page.row_height = kWhite;
    page.dirty_x0 = page.dirty_y0 = 0;
    page.dirty_x1 = page.dirty_y1 = kWhite;
    pages_.push_back(std::move(page));
    return pages_.back();
}

ImTextureID GlyphAtlas::base_texture() {
    if (pages_.empty()) add_page();
    return pages_.front().texture;
}

const AtlasGlyph& GlyphAtlas::get(int face, std::uint32_t glyph, int px, int quarter) {
    const std::uint64_t key = std::uint64_t{glyph} << 32 | static_cast<std::uint64_t>(face) << 16 |
                              static_cast<std::uint64_t>(px & 0x3FFF) << 2 |
                              static_cast<std::uint64_t>(quarter);
    const auto known = glyphs_.find(key);
    if (known != glyphs_.end()) return known->second;
    const GlyphBitmap bitmap = fonts_.rasterize(face, glyph, px, quarter);
    AtlasGlyph out;
    // A border of one empty pixel, so that no neighbour bleeds in.
    const int w = bitmap.width + 2, h = bitmap.height + 2;
    if (bitmap.width > 0 && bitmap.height > 0 && w <= kSize && h <= kSize) {
        Page& page = *page_with_room(w, h);
        const int x0 = page.x + 1, y0 = page.y + 1;
        for (int y = 0; y < bitmap.height; ++y) {
            std::copy_n(bitmap.pixels.data() + static_cast<std::ptrdiff_t>(y) * bitmap.width,
                        bitmap.width,
                        page.pixels.data() + static_cast<std::ptrdiff_t>(y0 + y) * kSize + x0);
        }
        page.dirty_x0 = std::min(page.dirty_x0, page.x);
        page.dirty_y0 = std::min(page.dirty_y0, page.y);
        page.dirty_x1 = std::max(page.dirty_x1, page.x + w);
        page.dirty_y1 = std::max(page.dirty_y1, page.y + h);
        page.x += w;
        page.row_height = std::max(page.row_height, h);
        const auto unit = [](int pixel) { return static_cast<float>(pixel) / float{kSize}; };
        out.texture = page.texture;
        out.uv0 = ImVec2(unit(x0), unit(y0));
        out.uv1 = ImVec2(unit(x0 + bitmap.width), unit(y0 + bitmap.height));
        out.left = static_cast<float>(bitmap.left);
        out.top = static_cast<float>(-bitmap.top);
        out.width = static_cast<float>(bitmap.width);
        out.height = static_cast<float>(bitmap.height);
        out.color = bitmap.color;
    }
    return glyphs_.emplace(key, out).first->second;
}

void GlyphAtlas::flush() {
    for (Page& page : pages_) {
        if (page.dirty_x1 <= page.dirty_x0) continue;
        textures_.update(page.texture, kSize, page.dirty_x0, page.dirty_y0,
                         page.dirty_x1 - page.dirty_x0, page.dirty_y1 - page.dirty_y0,
                         page.pixels.data());
        page.dirty_x0 = page.dirty_y0 = kSize;
        page.dirty_x1 = page.dirty_y1 = 0;
    }
}

void GlyphAtlas::begin_frame() {
    if (static_cast<int>(pages_.size()) <= kMaxPages) return;
    for (const Page& page : pages_) spare_.push_back(page.texture);
    pages_.clear();
    glyphs_.clear();
}

const std::uint32_t* GlyphAtlas::pixels_of(ImTextureID texture) const {
    for (const Page& page : pages_) {
        if (page.texture == texture) return page.pixels.data();
    }
    return nullptr;
}

}  // namespace hearth::gui
