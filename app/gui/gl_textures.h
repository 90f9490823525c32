#pragma once
// The few OpenGL calls of our own: glyph textures, clearing. Needs a current context.

#include <cstdint>

#include "app/gui/text/atlas.h"

namespace hearth::gui {

/// Address of a GL function in the current context.
using GlLoader = void (*(*)(const char*))();

class GlTextures : public TextureStore {
  public:
    /// False when the context lacks a function.
    bool load(GlLoader loader);
    ImTextureID create(int size) override;
    void update(ImTextureID texture, int size, int x, int y, int w, int h,
                const std::uint32_t* pixels) override;
    void clear(int width, int height, ImU32 color);

  private:
    void (*gen_textures_)(int, unsigned*) = nullptr;
    void (*bind_texture_)(unsigned, unsigned) = nullptr;
    void (*tex_image_)(unsigned, int, int, int, int, int, unsigned, unsigned,
                       const void*) = nullptr;
    void (*tex_sub_image_)(unsigned, int, int, int, int, int, unsigned, unsigned,
                           const void*) = nullptr;
    void (*tex_parameter_)(unsigned, unsigned, int) = nullptr;
    void (*pixel_store_)(unsigned, int) = nullptr;
    void (*viewport_)(int, int, int, int) = nullptr;
    void (*clear_color_)(float, float, float, float) = nullptr;
    void (*clear_)(unsigned) = nullptr;
};

}  // namespace hearth::gui
