#pragma once
// Fonts: which face draws a piece of text, and its glyphs as bitmaps. Embedded faces first (Latin,
// Greek, Cyrillic, code), then whatever fontconfig finds for a character. Owns FreeType faces and
// HarfBuzz fonts. Knows no layout and no texture.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct hb_font_t;

namespace hearth::gui {

enum class Family : std::uint8_t { sans, mono };

struct FontStyle {
    Family family = Family::sans;
    bool bold = false, italic = false;
};

/// Which Han forms a paragraph wants; automatic = by locale, else simplified Chinese.
enum class HanForms : std::uint8_t { automatic, japanese, korean };

/// One glyph as pixels: straight alpha, 0xAABBGGRR; white where the glyph takes the text's colour.
struct GlyphBitmap {
    int width = 0, height = 0;
    int left = 0, top = 0;  ///< pixels from the pen: right, and up to the top row
    bool color = false;
    std::vector<std::uint32_t> pixels;
};

class Fonts {
  public:
    Fonts();
    ~Fonts();
    Fonts(const Fonts&) = delete;
    Fonts& operator=(const Fonts&) = delete;

    /// The face for one grapheme cluster; face 0 when no font has it (it draws its "missing" box).
    int face_for(std::u32string_view cluster, FontStyle style, HanForms han);
    bool has(int face, char32_t character) const;
    bool is_color(int face) const;  ///< draws pictures
    /// Shapes in font units; multiply positions by px / units_per_em(face).
    hb_font_t* shaper(int face) const;
    float units_per_em(int face) const;
    /// `quarter`: where in a pixel the pen stands, 0..3.
    GlyphBitmap rasterize(int face, std::uint32_t glyph, int px, int quarter);
    /// Of the first face of a style, in parts of the size.
    struct Metrics {
        float ascent = 0, descent = 0;
    };
    Metrics metrics(FontStyle style) const;
    /// False keeps to the embedded faces (tests that compare pixels).
    void use_system_fonts(bool on) { use_system_ = on; }
    int n_faces() const;

  private:
    struct Face;
    struct System;
    int embedded_for(FontStyle style) const;
    int system_face(char32_t character, FontStyle style, HanForms han, bool emoji);
    int open_face(const std::string& path, int index, FontStyle wanted, bool is_bold,
                  bool is_italic);

    std::unique_ptr<System> system_;
    std::vector<std::unique_ptr<Face>> faces_;
    bool use_system_ = true;
};

/// Drawn as a picture unless a text variant is asked for.
bool is_emoji(std::u32string_view cluster);

}  // namespace hearth::gui
