#include "app/gui/text/fonts.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include <hb-ot.h>
#include <hb.h>
#include <utf8proc.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H
#include FT_SYNTHESIS_H

extern "C" {
extern const char hearth_font_sans[], hearth_font_sans_end[];
extern const char hearth_font_sans_bold[], hearth_font_sans_bold_end[];
extern const char hearth_font_sans_italic[], hearth_font_sans_italic_end[];
extern const char hearth_font_mono[], hearth_font_mono_end[];
extern const char hearth_font_cjk[], hearth_font_cjk_end[];
}

namespace hearth::gui {
namespace {

struct Embedded {
    const char *begin, *end;
};
/// Order is what embedded_for() counts on.
const Embedded kEmbedded[] = {{hearth_font_sans, hearth_font_sans_end},
                              {hearth_font_sans_bold, hearth_font_sans_bold_end},
                              {hearth_font_sans_italic, hearth_font_sans_italic_end},
                              {hearth_font_mono, hearth_font_mono_end},
                              {hearth_font_cjk, hearth_font_cjk_end}};
constexpr int kCjk = 4;  ///< for machines whose system has no Chinese or Japanese font

bool is_ignorable(char32_t c) {
    return c == 0x200C || c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F) ||
           (c >= 0xE0020 && c <= 0xE007F) || c == 0x00AD || c == 0x2060 || c == 0xFEFF ||
           (c >= 0x200E && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

bool is_han(char32_t c) {
    return (c >= 0x2E80 && c <= 0x2FDF) || (c >= 0x3000 && c <= 0x303F) ||
           (c >= 0x3400 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0xFF00 && c <= 0xFFEF) || (c >= 0x20000 && c <= 0x3FFFF);
}

const char* language_for(char32_t c, HanForms han) {
    if (!is_han(c)) return nullptr;
    if (han == HanForms::japanese) return "ja";
    if (han == HanForms::korean) return "ko";
    const char* locale = std::setlocale(LC_CTYPE, nullptr);
    if (locale != nullptr && std::strncmp(locale, "ja", 2) == 0) return "ja";
    if (locale != nullptr && std::strncmp(locale, "ko", 2) == 0) return "ko";
    if (locale != nullptr && std::strncmp(locale, "zh_TW", 5) == 0) return "zh-tw";
    return "zh-cn";
}

/// Characters below U+1F000 that Unicode shows as pictures by default (Emoji_Presentation).
bool is_early_picture(char32_t c) {
    static constexpr char32_t kRanges[][2] = {
        {0x231A, 0x231B}, {0x23E9, 0x23EC}, {0x23F0, 0x23F0}, {0x23F3, 0x23F3}, {0x25FD, 0x25FE},
        {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267F, 0x267F}, {0x2693, 0x2693}, {0x26A1, 0x26A1},
        {0x26AA, 0x26AB}, {0x26BD, 0x26BE}, {0x26C4, 0x26C5}, {0x26CE, 0x26CE}, {0x26D4, 0x26D4},
        {0x26EA, 0x26EA}, {0x26F2, 0x26F3}, {0x26F5, 0x26F5}, {0x26FA, 0x26FA}, {0x26FD, 0x26FD},
        {0x2705, 0x2705}, {0x270A, 0x270B}, {0x2728, 0x2728}, {0x274C, 0x274C}, {0x274E, 0x274E},
        {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797}, {0x27B0, 0x27B0}, {0x27BF, 0x27BF},
        {0x2B1B, 0x2B1C}, {0x2B50, 0x2B50}, {0x2B55, 0x2B55}};
    return std::any_of(std::begin(kRanges), std::end(kRanges),
                       [c](const auto& range) { return c >= range[0] && c <= range[1]; });
}

std::uint32_t straight(std::uint32_t b, std::uint32_t g, std::uint32_t r, std::uint32_t a) {
    if (a == 0) return 0;
    const auto un = [a](std::uint32_t v) { return std::min<std::uint32_t>(255, v * 255 / a); };
    return un(r) | un(g) << 8 | un(b) << 16 | a << 24;
}

/// Box filter from a premultiplied BGRA bitmap to `scale` times its size.
GlyphBitmap shrink(const FT_Bitmap& from, float scale) {
    GlyphBitmap out;
    const int w = static_cast<int>(from.width), h = static_cast<int>(from.rows);
    out.width = std::max(1, static_cast<int>(std::lround(static_cast<float>(w) * scale)));
    out.height = std::max(1, static_cast<int>(std::lround(static_cast<float>(h) * scale)));
    out.color = true;
    out.pixels.resize(static_cast<std::size_t>(out.width * out.height));
    for (int y = 0; y < out.height; ++y) {
        const int y0 = y * h / out.height, y1 = std::max(y0 + 1, (y + 1) * h / out.height);
        for (int x = 0; x < out.width; ++x) {
            const int x0 = x * w / out.width, x1 = std::max(x0 + 1, (x + 1) * w / out.width);
            std::uint32_t sum[4] = {0, 0, 0, 0}, n = 0;
            for (int j = y0; j < std::min(y1, h); ++j) {
                const unsigned char* row = from.buffer + j * from.pitch;
                for (int i = x0; i < std::min(x1, w); ++i, ++n) {
                    for (int k = 0; k < 4; ++k) sum[k] += row[4 * i + k];
                }
            }
            n = std::max(n, 1u);
            out.pixels[static_cast<std::size_t>(y * out.width + x)] =
                straight(sum[0] / n, sum[1] / n, sum[2] / n, sum[3] / n);
        }
    }
    return out;
}

}  // namespace

struct Fonts::Face {
    FT_Face ft = nullptr;
    hb_font_t* hb = nullptr;
    bool color = false;
    bool slant = false, embolden = false;  ///< made, where the family has no such face
    int px = 0;                            ///< size that is set in ft
    ~Face() {
        if (hb != nullptr) hb_font_destroy(hb);
        if (ft != nullptr) FT_Done_Face(ft);
    }
};

struct Fonts::System {
    FT_Library ft = nullptr;
    FcConfig* config = nullptr;
    bool asked = false;
    std::map<std::tuple<char32_t, bool, bool, bool, int, bool>, int> by_character;
    std::map<std::tuple<std::string, int, bool, bool>, int> by_file;
    ~System() {
        if (config != nullptr) FcConfigDestroy(config);
        if (ft != nullptr) FT_Done_FreeType(ft);
    }
};

Fonts::Fonts() : system_(std::make_unique<System>()) {
    FT_Init_FreeType(&system_->ft);
    for (const Embedded& font : kEmbedded) {
        auto face = std::make_unique<Face>();
        const auto n = static_cast<unsigned>(font.end - font.begin);
        FT_New_Memory_Face(system_->ft, reinterpret_cast<const FT_Byte*>(font.begin), n, 0,
                           &face->ft);
        hb_blob_t* blob = hb_blob_create(font.begin, n, HB_MEMORY_MODE_READONLY, nullptr, nullptr);
        hb_face_t* hb_face = hb_face_create(blob, 0);
        face->hb = hb_font_create(hb_face);
        hb_face_destroy(hb_face);
        hb_blob_destroy(blob);
        faces_.push_back(std::move(face));
    }
}

Fonts::~Fonts() { faces_.clear(); }

int Fonts::n_faces() const { return static_cast<int>(faces_.size()); }

int Fonts::embedded_for(FontStyle style) const {
    if (style.family == Family::mono) return 3;
    return style.bold ? 1 : style.italic ? 2 : 0;
}

bool Fonts::has(int face, char32_t character) const {
    return FT_Get_Char_Index(faces_[static_cast<std::size_t>(face)]->ft, character) != 0;
}

bool Fonts::is_color(int face) const { return faces_[static_cast<std::size_t>(face)]->color; }

hb_font_t* Fonts::shaper(int face) const { return faces_[static_cast<std::size_t>(face)]->hb; }

float Fonts::units_per_em(int face) const {
    return static_cast<float>(
        hb_face_get_upem(hb_font_get_face(faces_[static_cast<std::size_t>(face)]->hb)));
}

Fonts::Metrics Fonts::metrics(FontStyle style) const {
    const FT_Face ft = faces_[static_cast<std::size_t>(embedded_for(style))]->ft;
    const auto em = static_cast<float>(ft->units_per_EM);
    return {static_cast<float>(ft->ascender) / em, static_cast<float>(-ft->descender) / em};
}

int Fonts::face_for(std::u32string_view cluster, FontStyle style, HanForms han) {
    const auto covers = [&](int face) {
        return std::all_of(cluster.begin(), cluster.end(),
                           [&](char32_t c) { return is_ignorable(c) || has(face, c); });
    };
    const bool picture = is_emoji(cluster);
    const int first = embedded_for(style);
    if (!picture && covers(first)) return first;
    if (!picture && style.family == Family::mono && covers(0)) return 0;
    const int last = !picture && covers(kCjk) ? kCjk : first;
    if (!use_system_) return last;
    const auto base =
        std::find_if(cluster.begin(), cluster.end(), [](char32_t c) { return !is_ignorable(c); });
    if (base == cluster.end()) return first;
    const int found = system_face(*base, style, han, picture);
    if (found >= 0) return found;
    if (last == kCjk) return last;
    return picture && covers(first) ? first : 0;
}

int Fonts::system_face(char32_t character, FontStyle style, HanForms han, bool emoji) {
    const char* language = language_for(character, han);
    const auto key = std::tuple(character, style.bold, style.italic, style.family == Family::mono,
                                language != nullptr ? static_cast<int>(han) : -1, emoji);
    if (const auto known = system_->by_character.find(key); known != system_->by_character.end()) {
        return known->second;
    }
    if (!system_->asked) {
        system_->asked = true;
        system_->config = FcInitLoadConfigAndFonts();
    }
    int result = -1;
    FcPattern* pattern = FcPatternCreate();
    FcCharSet* characters = FcCharSetCreate();
    FcCharSetAddChar(characters, character);
    FcPatternAddCharSet(pattern, FC_CHARSET, characters);
    const char* family = emoji                          ? "emoji"
                         : style.family == Family::mono ? "monospace"
                                                        : "sans-serif";
    FcPatternAddString(pattern, FC_FAMILY, reinterpret_cast<const FcChar8*>(family));
    FcPatternAddInteger(pattern, FC_WEIGHT, style.bold ? FC_WEIGHT_BOLD : FC_WEIGHT_REGULAR);
    FcPatternAddBool(pattern, FC_SCALABLE, emoji ? FcFalse : FcTrue);
    if (language != nullptr) {
        FcPatternAddString(pattern, FC_LANG, reinterpret_cast<const FcChar8*>(language));
    }
    FcConfigSubstitute(system_->config, pattern, FcMatchPattern);
    FcDefaultSubstitute(pattern);
    FcResult match = FcResultNoMatch;
    // Fontconfig always answers something; only a font that has the character counts.
    if (FcPattern* found = FcFontMatch(system_->config, pattern, &match)) {
        FcChar8* file = nullptr;
        FcCharSet* has = nullptr;
        int index = 0, weight = 0, slant = 0;
        if (FcPatternGetString(found, FC_FILE, 0, &file) == FcResultMatch &&
            FcPatternGetCharSet(found, FC_CHARSET, 0, &has) == FcResultMatch &&
            FcCharSetHasChar(has, character)) {
            FcPatternGetInteger(found, FC_INDEX, 0, &index);
            FcPatternGetInteger(found, FC_WEIGHT, 0, &weight);
            FcPatternGetInteger(found, FC_SLANT, 0, &slant);
            result = open_face(reinterpret_cast<const char*>(file), index & 0xFFFF, style,
                               weight >= FC_WEIGHT_DEMIBOLD, slant != FC_SLANT_ROMAN);
        }
        FcPatternDestroy(found);
    }
    FcCharSetDestroy(characters);
    FcPatternDestroy(pattern);
    system_->by_character[key] = result;
    return result;
}

int Fonts::open_face(const std::string& path, int index, FontStyle wanted, bool is_bold,
                     bool is_italic) {
    const bool embolden = wanted.bold && !is_bold, slant = wanted.italic && !is_italic;
    const auto key = std::tuple(path, index, embolden, slant);
    if (const auto known = system_->by_file.find(key); known != system_->by_file.end()) {
        return known->second;
    }
    auto face = std::make_unique<Face>();
    if (FT_New_Face(system_->ft, path.c_str(), index, &face->ft) != 0) return -1;
    hb_blob_t* blob = hb_blob_create_from_file(path.c_str());
    hb_face_t* hb_face = hb_face_create(blob, static_cast<unsigned>(index));
    face->hb = hb_font_create(hb_face);
    hb_face_destroy(hb_face);
    hb_blob_destroy(blob);
    face->color = FT_HAS_COLOR(face->ft) && face->ft->num_fixed_sizes > 0;
    face->embolden = embolden && !face->color;
    face->slant = slant && !face->color;
    faces_.push_back(std::move(face));
    const int id = static_cast<int>(faces_.size()) - 1;
    system_->by_file[key] = id;
    return id;
}

GlyphBitmap Fonts::rasterize(int face_id, std::uint32_t glyph, int px, int quarter) {
    Face& face = *faces_[static_cast<std::size_t>(face_id)];
    GlyphBitmap out;
    if (face.color) {
        FT_Select_Size(face.ft, 0);
        if (FT_Load_Glyph(face.ft, glyph, FT_LOAD_COLOR | FT_LOAD_RENDER) != 0) return out;
        const FT_GlyphSlot slot = face.ft->glyph;
        if (slot->bitmap.pixel_mode != FT_PIXEL_MODE_BGRA || slot->bitmap.rows == 0) return out;
        const float scale = static_cast<float>(px) /
                            (static_cast<float>(face.ft->available_sizes[0].y_ppem) / 64.0f);
        out = shrink(slot->bitmap, scale);
        out.left = static_cast<int>(std::lround(static_cast<float>(slot->bitmap_left) * scale));
        out.top = static_cast<int>(std::lround(static_cast<float>(slot->bitmap_top) * scale));
        return out;
    }
    if (face.px != px) {
        if (FT_Set_Pixel_Sizes(face.ft, 0, static_cast<unsigned>(px)) != 0) return out;
        face.px = px;
    }
    if (FT_Load_Glyph(face.ft, glyph, FT_LOAD_TARGET_LIGHT | FT_LOAD_NO_BITMAP) != 0) return out;
    const FT_GlyphSlot slot = face.ft->glyph;
    if (face.embolden) FT_GlyphSlot_Embolden(slot);
    if (face.slant) FT_GlyphSlot_Oblique(slot);
    FT_Outline_Translate(&slot->outline, quarter * 16, 0);
    if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) != 0) return out;
    const FT_Bitmap& bitmap = slot->bitmap;
    out.width = static_cast<int>(bitmap.width);
    out.height = static_cast<int>(bitmap.rows);
    out.left = slot->bitmap_left;
    out.top = slot->bitmap_top;
    out.pixels.resize(static_cast<std::size_t>(out.width * out.height));
    for (int y = 0; y < out.height; ++y) {
        const unsigned char* row = bitmap.buffer + y * bitmap.pitch;
        for (int x = 0; x < out.width; ++x) {
            out.pixels[static_cast<std::size_t>(y * out.width + x)] =
                0x00FFFFFFu | static_cast<std::uint32_t>(row[x]) << 24;
        }
    }
    return out;
}

bool is_emoji(std::u32string_view cluster) {
    if (cluster.empty()) return false;
    const bool as_text = cluster.find(U'\uFE0E') != std::u32string_view::npos;
    if (as_text) return false;
    const char32_t c = cluster.front();
    if (cluster.find(U'\uFE0F') != std::u32string_view::npos) return true;
    if (c >= 0x1F1E6 && c <= 0x1F1FF) return true;
    if (c >= 0x1F000) {
        const int bound = utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->boundclass;
        return bound == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC || (c >= 0x1F3FB && c <= 0x1F3FF);
    }
    return is_early_picture(c);
}

}  // namespace hearth::gui
