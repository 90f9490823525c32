#pragma once
// GlyphAtlas: glyph pictures in square textures, made when first drawn. Owns the pixels; the
// textures live behind TextureStore. Knows no layout.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <imgui.h>

#include "app/gui/text/fonts.h"

namespace hearth::gui {

/// Where textures are: OpenGL, or nothing at all in tests.
class TextureStore {
  public:
    virtual ~TextureStore() = default;
    virtual ImTextureID create(int size) = 0;
    /// `pixels` is the whole texture (size x size); only the rectangle changed.
    virtual void update(ImTextureID texture, int size, int x, int y, int w, int h,
                        const std::uint32_t* pixels) = 0;
};

struct AtlasGlyph {
    ImTextureID texture = nullptr;  ///< nullptr: nothing to draw (a space)
    ImVec2 uv0, uv1;
    float left = 0, top = 0;  ///< pixels from the pen on the baseline to the upper left corner
    float width = 0, height = 0;
    bool color = false;
};

class GlyphAtlas {
  public:
    static constexpr int kSize = 1024;    ///< pixels, both ways
    static constexpr int kMaxPages = 12;  ///< 4 MB each; then all begins anew

    GlyphAtlas(Fonts& fonts, TextureStore& textures) : fonts_(fonts), textures_(textures) {}

    const AtlasGlyph& get(int face, std::uint32_t glyph, int px, int quarter);
    /// Sends what is new to the textures: after drawing, before rendering.
    void flush();
    /// Forgets everything when it has grown too large: between frames only.
    void begin_frame();
    /// The first page: what shapes and most glyphs are drawn with, so that they share draw calls.
    ImTextureID base_texture();
    /// Where every page is white, for shapes.
    static ImVec2 white() { return ImVec2(1.5f / float{kSize}, 1.5f / float{kSize}); }
    std::size_t n_glyphs() const { return glyphs_.size(); }
    /// Pixels of the page behind a texture; nullptr when it is not one of these (tests).
    const std::uint32_t* pixels_of(ImTextureID texture) const;

  private:
    struct Page {
        ImTextureID texture;
        std::vector<std::uint32_t> pixels;
        int x = 0, y = 0, row_height = 0;  ///< where the next glyph goes
        int dirty_x0 = kSize, dirty_y0 = kSize, dirty_x1 = 0, dirty_y1 = 0;
    };
    Page* page_with_room(int width, int height);
    Page& add_page();

    Fonts& fonts_;
    TextureStore& textures_;
    std::vector<Page> pages_;
    std::vector<ImTextureID> spare_;
    std::unordered_map<std::uint64_t, AtlasGlyph> glyphs_;
};

}  // namespace hearth::gui
