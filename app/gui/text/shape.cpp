#include "app/gui/text/shape.h"

#include <algorithm>
#include <mutex>

#include <fribidi.h>
#include <hb.h>
#include <linebreak.h>
#include <utf8proc.h>

#include "app/repl/graphemes.h"

namespace hearth::gui {
namespace {

/// A paragraph as code points, with everything that is known of each.
struct Paragraph {
    std::vector<char32_t> points;
    std::vector<std::uint32_t> offsets;  ///< bytes; one more than points
    std::vector<char> breaks;            ///< linebreak.h
    std::vector<std::uint8_t> levels, cluster_start;
    std::vector<std::uint16_t> spans, faces;
    std::vector<hb_script_t> scripts;
    bool rtl = false;
};

void decode(std::string_view text, Paragraph& p) {
    p.points.reserve(text.size());
    p.offsets.reserve(text.size() + 1);
    for (std::size_t at = 0; at < text.size();) {
        const repl::CodePoint point = repl::code_point_at(text, at);
        char32_t c = static_cast<char32_t>(point.value);
        if (c < 0x20 && c != '\t') c += 0x2400;  // controls are visible
        if (c == 0x7F) c = 0x2421;
        p.points.push_back(c);
        p.offsets.push_back(static_cast<std::uint32_t>(at));
        at += point.n_bytes;
    }
    p.offsets.push_back(static_cast<std::uint32_t>(text.size()));
}

void find_clusters(Paragraph& p) {
    const std::size_t n = p.points.size();
    p.cluster_start.assign(n, 1);
    utf8proc_int32_t state = 0;
    for (std::size_t i = 1; i < n; ++i) {
        const bool plain = p.points[i - 1] < 0x300 && p.points[i] < 0x300;
        p.cluster_start[i] = plain || utf8proc_grapheme_break_stateful(
                                          static_cast<utf8proc_int32_t>(p.points[i - 1]),
                                          static_cast<utf8proc_int32_t>(p.points[i]), &state);
    }
    static std::once_flag once;
    std::call_once(once, init_linebreak);
    p.breaks.assign(n, LINEBREAK_NOBREAK);
    // The library's table ends before regional indicators and stops the program at them; pictures
    // break like ideographs.
    std::vector<utf32_t> points(p.points.begin(), p.points.end());
    for (utf32_t& c : points) {
        if ((c >= 0x1F000 && c < 0x20000) || c == 0xFFFF) c = 0x4E00;
    }
    set_linebreaks_utf32(points.data(), n, "", p.breaks.data());
}

void find_levels(Paragraph& p) {
    const std::size_t n = p.points.size();
    p.levels.assign(n, 0);
    if (std::all_of(p.points.begin(), p.points.end(), [](char32_t c) { return c < 0x590; })) return;
    const auto length = static_cast<FriBidiStrIndex>(n);
    std::vector<FriBidiCharType> types(n);
    std::vector<FriBidiBracketType> brackets(n);
    std::vector<FriBidiLevel> levels(n);
    const auto* points = reinterpret_cast<const FriBidiChar*>(p.points.data());
    fribidi_get_bidi_types(points, length, types.data());
    fribidi_get_bracket_types(points, length, types.data(), brackets.data());
    FriBidiParType base = FRIBIDI_PAR_ON;
    if (fribidi_get_par_embedding_levels_ex(types.data(), brackets.data(), length, &base,
                                            levels.data()) == 0) {
        return;
    }
    p.rtl = FRIBIDI_IS_RTL(base);
    std::transform(levels.begin(), levels.end(), p.levels.begin(),
                   [](FriBidiLevel level) { return static_cast<std::uint8_t>(level); });
}

HanForms han_forms(const Paragraph& p) {
    for (const char32_t c : p.points) {
        if (c >= 0x3040 && c <= 0x30FF) return HanForms::japanese;
        if (c >= 0xAC00 && c <= 0xD7AF) return HanForms::korean;
    }
    return HanForms::automatic;
}

bool is_space(char32_t c) { return c == ' ' || c == '\t' || c == 0x3000 || c == 0xA0; }

/// Span, script and face of every character; those of a cluster share them.
void find_faces(Fonts& fonts, const std::vector<StyleSpan>& spans, std::uint32_t offset,
                Paragraph& p) {
    const std::size_t n = p.points.size();
    p.spans.assign(n, 0);
    p.faces.assign(n, 0);
    p.scripts.assign(n, HB_SCRIPT_LATIN);
    const HanForms han = han_forms(p);
    hb_unicode_funcs_t* unicode = hb_unicode_funcs_get_default();
    hb_script_t script = HB_SCRIPT_LATIN;
    std::size_t span = 0;
    for (std::size_t i = 0; i < n;) {
        std::size_t end = i + 1;
        while (end < n && !p.cluster_start[end]) ++end;
        while (span + 1 < spans.size() && spans[span].end <= offset + p.offsets[i]) ++span;
        const hb_script_t own = hb_unicode_script(unicode, p.points[i]);
        if (own != HB_SCRIPT_COMMON && own != HB_SCRIPT_INHERITED && own != HB_SCRIPT_UNKNOWN) {
            script = own;
        }
        const FontStyle style = spans[span].style.font;
        const std::u32string_view cluster(p.points.data() + i, end - i);
        int face = 0;
        // A space between words of one font stays in that font.
        if (i > 0 && is_space(p.points[i]) && p.spans[i - 1] == span &&
            fonts.has(p.faces[i - 1], p.points[i]) && !fonts.is_color(p.faces[i - 1])) {
            face = p.faces[i - 1];
        } else {
            face = fonts.face_for(cluster, style, han);
        }
        for (; i < end; ++i) {
            p.spans[i] = static_cast<std::uint16_t>(span);
            p.faces[i] = static_cast<std::uint16_t>(face);
            p.scripts[i] = script;
        }
    }
}

/// Shapes [begin, end), which share everything, and appends the units in logical order.
void shape_run(Fonts& fonts, const Paragraph& p, const TextStyle& style, std::size_t begin,
               std::size_t end, hb_buffer_t* buffer, ShapedParagraph& out) {
    const int face = p.faces[begin];
    const bool rtl = (p.levels[begin] & 1) != 0;
    hb_buffer_clear_contents(buffer);
    hb_buffer_add_utf32(buffer, reinterpret_cast<const std::uint32_t*>(p.points.data()),
                        static_cast<int>(p.points.size()), static_cast<unsigned>(begin),
                        static_cast<int>(end - begin));
    hb_buffer_set_direction(buffer, rtl ? HB_DIRECTION_RTL : HB_DIRECTION_LTR);
    hb_buffer_set_script(buffer, p.scripts[begin]);
    hb_buffer_set_language(buffer, hb_language_get_default());
    // Code shows every character that was written.
    static const hb_feature_t kPlain[] = {
        {HB_TAG('l', 'i', 'g', 'a'), 0, HB_FEATURE_GLOBAL_START, HB_FEATURE_GLOBAL_END},
        {HB_TAG('c', 'a', 'l', 't'), 0, HB_FEATURE_GLOBAL_START, HB_FEATURE_GLOBAL_END}};
    const bool mono = style.font.family == Family::mono;
    hb_shape(fonts.shaper(face), buffer, kPlain, mono ? 2u : 0u);
    unsigned n = 0;
    const hb_glyph_info_t* infos = hb_buffer_get_glyph_infos(buffer, &n);
    const hb_glyph_position_t* positions = hb_buffer_get_glyph_positions(buffer, &n);
    const float scale = static_cast<float>(style.px) / fonts.units_per_em(face);
    const std::size_t first_unit = out.units.size();
    for (unsigned i = 0; i < n;) {
        ShapeUnit unit;
        const std::uint32_t cluster = infos[i].cluster;
        unit.begin = cluster;  // code point index for now
        unit.first_glyph = static_cast<std::uint32_t>(out.glyphs.size());
        unit.level = p.levels[begin];
        unit.span = p.spans[begin];
        for (; i < n && infos[i].cluster == cluster; ++i) {
            ShapedGlyph glyph;
            glyph.glyph = infos[i].codepoint;
            glyph.face = static_cast<std::uint16_t>(face);
            glyph.x = unit.advance + static_cast<float>(positions[i].x_offset) * scale;
            glyph.y = -static_cast<float>(positions[i].y_offset) * scale;
            unit.advance += static_cast<float>(positions[i].x_advance) * scale;
            out.glyphs.push_back(glyph);
        }
        unit.n_glyphs = static_cast<std::uint32_t>(out.glyphs.size()) - unit.first_glyph;
        out.units.push_back(unit);
    }
    if (rtl)
        std::reverse(out.units.begin() + static_cast<std::ptrdiff_t>(first_unit), out.units.end());
    for (std::size_t u = first_unit; u < out.units.size(); ++u) {
        ShapeUnit& unit = out.units[u];
        const std::size_t from = unit.begin;
        const std::size_t to = u + 1 < out.units.size() ? out.units[u + 1].begin : end;
        int clusters = 0;
        for (std::size_t i = from; i < to; ++i) clusters += p.cluster_start[i];
        unit.n_clusters = static_cast<std::uint16_t>(std::max(clusters, 1));
        unit.is_space = to == from + 1 && is_space(p.points[from]);
        unit.may_break_after = to > 0 && p.breaks[to - 1] == LINEBREAK_ALLOWBREAK &&
                               (to == p.points.size() || p.cluster_start[to]);
        unit.begin = p.offsets[from];
        unit.end = p.offsets[to];
    }
}

}  // namespace

ShapedParagraph shape_paragraph(Fonts& fonts, std::string_view text, std::uint32_t offset,
                                const std::vector<StyleSpan>& spans) {
    ShapedParagraph out;
    if (text.empty()) return out;
    Paragraph p;
    decode(text, p);
    find_clusters(p);
    find_levels(p);
    find_faces(fonts, spans, offset, p);
    out.rtl = p.rtl;
    out.units.reserve(p.points.size());
    out.glyphs.reserve(p.points.size());
    hb_buffer_t* buffer = hb_buffer_create();
    for (std::size_t i = 0; i < p.points.size();) {
        std::size_t end = i + 1;
        while (end < p.points.size() && p.faces[end] == p.faces[i] && p.spans[end] == p.spans[i] &&
               p.levels[end] == p.levels[i] && p.scripts[end] == p.scripts[i] &&
               p.points[i] != '\t' && p.points[end] != '\t') {
            ++end;
        }
        const TextStyle& style = spans[p.spans[i]].style;
        shape_run(fonts, p, style, i, end, buffer, out);
        if (p.points[i] == '\t') {
            ShapeUnit& tab = out.units.back();
            tab.n_glyphs = 0;
            tab.advance = static_cast<float>(style.px) * 2.4f;
            tab.is_space = true;
        }
        i = end;
    }
    hb_buffer_destroy(buffer);
    return out;
}

}  // namespace hearth::gui
