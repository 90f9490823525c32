#include "app/gui/gl_textures.h"

namespace hearth::gui {
namespace {

// Values of the OpenGL specification.
constexpr unsigned kTexture2d = 0x0DE1, kRgba = 0x1908, kUnsignedByte = 0x1401;
constexpr unsigned kMinFilter = 0x2801, kMagFilter = 0x2800, kNearest = 0x2600;
constexpr unsigned kRowLength = 0x0CF2, kColorBuffer = 0x4000;

}  // namespace

bool GlTextures::load(GlLoader loader) {
    bool all = true;
    const auto find = [&](auto& slot, const char* name) {
        slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(loader(name));
        all = all && slot != nullptr;
    };
    find(gen_textures_, "glGenTextures");
    find(bind_texture_, "glBindTexture");
    find(tex_image_, "glTexImage2D");
    find(tex_sub_image_, "glTexSubImage2D");
    find(tex_parameter_, "glTexParameteri");
    find(pixel_store_, "glPixelStorei");
    find(viewport_, "glViewport");
    find(clear_color_, "glClearColor");
    find(clear_, "glClear");
    return all;
}

ImTextureID GlTextures::create(int size) {
    unsigned texture = 0;
    gen_textures_(1, &texture);
    bind_texture_(kTexture2d, texture);
    // Glyphs stand on whole pixels at their own size: nothing is between two texels.
    tex_parameter_(kTexture2d, kMinFilter, static_cast<int>(kNearest));
    tex_parameter_(kTexture2d, kMagFilter, static_cast<int>(kNearest));
    pixel_store_(kRowLength, 0);
    tex_image_(kTexture2d, 0, static_cast<int>(kRgba), size, size, 0, kRgba, kUnsignedByte,
               nullptr);
    return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(texture));
}

void GlTextures::update(ImTextureID texture, int size, int x, int y, int w, int h,
                        const std::uint32_t* pixels) {
    bind_texture_(kTexture2d, static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(texture)));
    pixel_store_(kRowLength, size);
    tex_sub_image_(kTexture2d, 0, x, y, w, h, kRgba, kUnsignedByte,
                   pixels + static_cast<std::ptrdiff_t>(y) * size + x);
    pixel_store_(kRowLength, 0);
}

void GlTextures::clear(int width, int height, ImU32 color) {
    const auto part = [color](int shift) {
        return static_cast<float>(color >> shift & 255) / 255.0f;
    };
    viewport_(0, 0, width, height);
    clear_color_(part(IM_COL32_R_SHIFT), part(IM_COL32_G_SHIFT), part(IM_COL32_B_SHIFT), 1);
    clear_(kColorBuffer);
}

}  // namespace hearth::gui
