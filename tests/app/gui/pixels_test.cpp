// The text layer against stored images: what the eye would see, without a display. Only embedded
// fonts, so the pictures depend on FreeType and HarfBuzz alone. To store new ones after a wanted
// change: HEARTH_UPDATE_PIXELS=1 gui_tests "[pixels]", then look at them.

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <imgui.h>

#include "app/gui/message_view.h"
#include "tests/app/gui/gui_support.h"

using namespace hearth::gui;

namespace {

struct Picture {
    int width = 0, height = 0;
    std::vector<unsigned char> gray;
};

/// Paints the glyph rectangles of a draw list, texel for pixel, dark on white.
Picture paint(const ImDrawList& list, const GlyphAtlas& atlas, int width, int height) {
    Picture out{width, height,
                std::vector<unsigned char>(static_cast<std::size_t>(width * height), 255)};
    for (const ImDrawCmd& command : list.CmdBuffer) {
        const std::uint32_t* texels = atlas.pixels_of(command.GetTexID());
        if (texels == nullptr) continue;
        for (unsigned i = 0; i + 5 < command.ElemCount; i += 6) {
            const ImDrawVert& a = list.VtxBuffer[static_cast<int>(
                list.IdxBuffer[static_cast<int>(command.IdxOffset + i)] + command.VtxOffset)];
            const ImDrawVert& c = list.VtxBuffer[static_cast<int>(
                list.IdxBuffer[static_cast<int>(command.IdxOffset + i + 2)] + command.VtxOffset)];
            const int u = static_cast<int>(a.uv.x * GlyphAtlas::kSize + 0.5f);
            const int v = static_cast<int>(a.uv.y * GlyphAtlas::kSize + 0.5f);
            for (int y = static_cast<int>(a.pos.y); y < static_cast<int>(c.pos.y); ++y) {
                for (int x = static_cast<int>(a.pos.x); x < static_cast<int>(c.pos.x); ++x) {
                    if (x < 0 || y < 0 || x >= width || y >= height) continue;
                    const std::uint32_t texel =
                        texels[(v + y - static_cast<int>(a.pos.y)) * GlyphAtlas::kSize + u + x -
                               static_cast<int>(a.pos.x)];
                    unsigned char& pixel = out.gray[static_cast<std::size_t>(y * width + x)];
                    pixel = static_cast<unsigned char>(pixel * (255 - (texel >> 24)) / 255);
                }
            }
        }
    }
    return out;
}

Picture draw(const TextLayout& layout, int width, int height) {
    hearth::test::NoScreen screen;
    hearth::test::NoTextures textures;
    Fonts fonts;
    fonts.use_system_fonts(false);
    GlyphAtlas atlas(fonts, textures);
    ImDrawList& list = screen.begin(ImVec2(static_cast<float>(width), static_cast<float>(height)));
    draw_layout(layout, list, atlas, make_theme(ThemeChoice::light, false), ImVec2(4, 4));
    Picture picture = paint(list, atlas, width, height);
    screen.end();
    return picture;
}

std::string path_of(const std::string& name) {
    return std::string(HEARTH_SOURCE_DIR) + "/tests/pixels/" + name + ".pgm";
}

void write(const std::string& name, const Picture& picture) {
    std::ofstream file(path_of(name), std::ios::binary);
    file << "P5\n" << picture.width << ' ' << picture.height << "\n255\n";
    file.write(reinterpret_cast<const char*>(picture.gray.data()),
               static_cast<std::streamsize>(picture.gray.size()));
}

Picture read(const std::string& name) {
    std::ifstream file(path_of(name), std::ios::binary);
    Picture picture;
    std::string magic;
    int most = 0;
    file >> magic >> picture.width >> picture.height >> most;
    file.get();
    picture.gray.resize(static_cast<std::size_t>(std::max(0, picture.width * picture.height)));
    file.read(reinterpret_cast<char*>(picture.gray.data()),
              static_cast<std::streamsize>(picture.gray.size()));
    return picture;
}

void compare(const std::string& name, const Picture& picture) {
    if (std::getenv("HEARTH_UPDATE_PIXELS") != nullptr) return write(name, picture);
    const Picture stored = read(name);
    INFO(path_of(name));
    REQUIRE(stored.width == picture.width);
    REQUIRE(stored.height == picture.height);
    // Another FreeType rounds coverage a little differently; a glyph out of place is not a little.
    int far = 0, ink = 0;
    for (std::size_t i = 0; i < picture.gray.size(); ++i) {
        far += std::abs(picture.gray[i] - stored.gray[i]) > 48;
        ink += stored.gray[i] < 128;
    }
    CHECK(ink > 200);
    CHECK(far * 50 < ink);
}

TextLayout layout_of(const std::string& text, TextStyle style, float width) {
    Fonts fonts;
    fonts.use_system_fonts(false);
    LayoutOptions options;
    options.wrap_width = width;
    return lay_out(fonts, text, style, options);
}

}  // namespace

TEST_CASE("Latin, Greek and Cyrillic look as stored", "[gui][pixels]") {
    compare("scripts", draw(layout_of("Sphinx of black quartz, judge my vow: naïve façade.\n"
                                      "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.\n"
                                      "Съешь ещё этих мягких французских булок.",
                                      TextStyle{}, 300),
                            320, 140));
}

TEST_CASE("code looks as stored", "[gui][pixels]") {
    TextStyle style;
    style.font.family = Family::mono;
    style.px = 14;
    compare("code",
            draw(layout_of("for (int i = 0; i != n; ++i) {\n\tsum += x[i] -> y;\n}", style, 300),
                 320, 80));
}

TEST_CASE("bold and slanted text at twice the size looks as stored", "[gui][pixels]") {
    TextStyle style;
    style.px = 30;
    style.font.bold = true;
    compare("bold2x", draw(layout_of("Hearth 0123", style, 300), 320, 60));
    style.font = {Family::sans, false, true};
    compare("italic2x", draw(layout_of("fire & ice", style, 300), 320, 60));
}

TEST_CASE("Chinese and Japanese are there without any font of the system", "[gui][pixels]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    for (const char32_t c : std::u32string(U"你好世界龍龟こんにちはカタカナ。，（）ＡＢ")) {
        INFO(static_cast<unsigned>(c));
        CHECK(fonts.has(fonts.face_for(std::u32string_view(&c, 1), FontStyle{}, HanForms{}), c));
    }
    compare("cjk", draw(layout_of("你好，世界！龍と龟。\nこんにちは、カタカナ。", TextStyle{}, 300),
                        320, 60));
}

TEST_CASE("a picture that is off by one pixel does not pass", "[gui][pixels]") {
    const Picture a = draw(layout_of("Sphinx of black quartz", TextStyle{}, 300), 320, 40);
    int far = 0, ink = 0;
    for (std::size_t i = 1; i < a.gray.size(); ++i) {
        far += std::abs(a.gray[i] - a.gray[i - 1]) > 48;
        ink += a.gray[i] < 128;
    }
    CHECK(far * 50 >= ink);
}
