#include "app/gui/text/layout.h"

#include <algorithm>
#include <cmath>

#include "app/gui/text/shape.h"

namespace hearth::gui {
namespace {

/// Ends of lines as unit indices: greedy, at allowed places, else between units.
std::vector<std::size_t> break_lines(const std::vector<ShapeUnit>& units, float wrap_width) {
    std::vector<std::size_t> ends;
    if (wrap_width <= 0) return {units.size()};
    float width = 0;
    std::size_t begin = 0, last_break = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
        const ShapeUnit& unit = units[i];
        // Spaces may hang over the edge.
        if (!unit.is_space && width + unit.advance > wrap_width + 0.01f && i > begin) {
            const std::size_t end = last_break > begin ? last_break : i;
            ends.push_back(end);
            width = 0;
            for (std::size_t k = end; k < i; ++k) width += units[k].advance;
            begin = end;
        }
        width += unit.advance;
        if (unit.may_break_after) last_break = i + 1;
    }
    ends.push_back(units.size());
    return ends;
}

/// Visual order of the units of a line (rule L2 of UAX 9).
std::vector<std::uint32_t> visual_order(const std::vector<ShapeUnit>& units, std::size_t begin,
                                        std::size_t end, bool rtl) {
    std::vector<std::uint32_t> order;
    std::vector<std::uint8_t> levels;
    std::uint8_t highest = 0, lowest_odd = 255;
    std::size_t text_end = end;
    while (text_end > begin && units[text_end - 1].is_space) --text_end;
    for (std::size_t i = begin; i < end; ++i) {
        // Spaces at the end of a line follow the paragraph (L1).
        const std::uint8_t level = i < text_end ? units[i].level : static_cast<std::uint8_t>(rtl);
        order.push_back(static_cast<std::uint32_t>(i));
        levels.push_back(level);
        highest = std::max(highest, level);
        if ((level & 1) != 0) lowest_odd = std::min(lowest_odd, level);
    }
    for (int level = highest; level >= lowest_odd && level > 0; --level) {
        for (std::size_t i = 0; i < levels.size();) {
            if (levels[i] < level) {
                ++i;
                continue;
            }
            std::size_t stop = i;
            while (stop < levels.size() && levels[stop] >= level) ++stop;
            std::reverse(order.begin() + static_cast<std::ptrdiff_t>(i),
                         order.begin() + static_cast<std::ptrdiff_t>(stop));
            std::reverse(levels.begin() + static_cast<std::ptrdiff_t>(i),
                         levels.begin() + static_cast<std::ptrdiff_t>(stop));
            i = stop;
        }
    }
    return order;
}

class Builder {
  public:
    Builder(Fonts& fonts, TextLayout& out, const LayoutOptions& options)
        : fonts_(fonts),
          out_(out),
          options_(options) {}

    void paragraph(std::uint32_t begin, std::uint32_t end) {
        const std::string_view text = std::string_view(out_.text).substr(begin, end - begin);
        const ShapedParagraph shaped = shape_paragraph(fonts_, text, begin, out_.spans);
        std::size_t from = 0;
        for (const std::size_t to : break_lines(shaped.units, options_.wrap_width)) {
            if (full()) {
                cut_ = true;
                return;
            }
            line(shaped, begin, end, from, to);
            from = to;
        }
    }
    bool full() const {
        return options_.max_lines > 0 &&
               out_.lines.size() >= static_cast<std::size_t>(options_.max_lines);
    }
    bool was_cut() const { return cut_; }

  private:
    const StyleSpan& span_of(std::uint32_t position) const {
        for (const StyleSpan& span : out_.spans) {
            if (position < span.end) return span;
        }
        return out_.spans.back();
    }

    void line(const ShapedParagraph& shaped, std::uint32_t offset, std::uint32_t paragraph_end,
              std::size_t from, std::size_t to) {
        TextLine line;
        line.begin = from < to ? offset + shaped.units[from].begin : offset;
        line.end = from < to ? offset + shaped.units[to - 1].end : paragraph_end;
        line.rtl = shaped.rtl;
        float ascent = 0, descent = 0, px = 0;
        const auto measure = [&](const TextStyle& style) {
            const Fonts::Metrics m = fonts_.metrics(style.font);
            const auto size = static_cast<float>(style.px);
            ascent = std::max(ascent, m.ascent * size);
            descent = std::max(descent, m.descent * size);
            px = std::max(px, size);
        };
        std::uint32_t last_span = ~0u;
        for (std::size_t i = from; i < to; ++i) {
            if (shaped.units[i].span != last_span) measure(out_.spans[shaped.units[i].span].style);
            last_span = shaped.units[i].span;
        }
        if (from == to) measure(span_of(offset).style);
        line.top = out_.height;
        line.height = std::round(px * options_.line_spacing);
        line.baseline = std::round(line.top + (line.height + ascent - descent) / 2);
        place(shaped, offset, from, to, line);
        out_.width = std::max(out_.width, line.width);
        out_.height += line.height;
        out_.lines.push_back(line);
    }

    void place(const ShapedParagraph& shaped, std::uint32_t offset, std::size_t from,
               std::size_t to, TextLine& line) {
        std::size_t text_end = to;
        while (text_end > from && shaped.units[text_end - 1].is_space) --text_end;
        for (std::size_t i = from; i < text_end; ++i) line.width += shaped.units[i].advance;
        float hanging = 0;
        for (std::size_t i = text_end; i < to; ++i) hanging += shaped.units[i].advance;
        // Right-to-left paragraphs stand at the right edge; their last spaces hang to the left.
        float x = 0;
        if (line.rtl && options_.wrap_width > 0) x = options_.wrap_width - line.width - hanging;
        line.x = line.rtl ? x + hanging : x;
        line.first_glyph = static_cast<std::uint32_t>(out_.glyphs.size());
        line.first_cluster = static_cast<std::uint32_t>(out_.clusters.size());
        for (const std::uint32_t index : visual_order(shaped.units, from, to, line.rtl)) {
            const ShapeUnit& unit = shaped.units[index];
            for (std::uint32_t g = 0; g < unit.n_glyphs; ++g) {
                const ShapedGlyph& glyph = shaped.glyphs[unit.first_glyph + g];
                out_.glyphs.push_back(
                    {x + glyph.x, line.baseline + glyph.y, glyph.glyph, glyph.face, unit.span});
            }
            add_clusters(unit, offset, x);
            x += unit.advance;
        }
        line.n_glyphs = static_cast<std::uint32_t>(out_.glyphs.size()) - line.first_glyph;
        line.n_clusters = static_cast<std::uint32_t>(out_.clusters.size()) - line.first_cluster;
    }

    void add_clusters(const ShapeUnit& unit, std::uint32_t offset, float x) {
        const bool rtl = (unit.level & 1) != 0;
        const float step = unit.advance / static_cast<float>(unit.n_clusters);
        std::uint32_t at = offset + unit.begin;
        const std::uint32_t end = offset + unit.end;
        const std::size_t first = out_.clusters.size();
        for (int i = 0; i < unit.n_clusters; ++i) {
            std::uint32_t next = end;
            if (i + 1 < unit.n_clusters) {
                next = at + 1;
                while (next < end && (out_.text[next] & 0xC0) == 0x80) ++next;
            }
            const float left = rtl ? x + unit.advance - step * static_cast<float>(i + 1)
                                   : x + step * static_cast<float>(i);
            out_.clusters.push_back({at, next, left, left + step, rtl, unit.span});
            at = next;
        }
        if (rtl) {
            std::reverse(out_.clusters.begin() + static_cast<std::ptrdiff_t>(first),
                         out_.clusters.end());
        }
    }

    Fonts& fonts_;
    TextLayout& out_;
    const LayoutOptions& options_;
    bool cut_ = false;
};

}  // namespace

TextLayout lay_out(Fonts& fonts, std::string text, std::vector<StyleSpan> spans,
                   const LayoutOptions& options) {
    TextLayout out;
    out.text = std::move(text);
    out.spans = std::move(spans);
    if (out.spans.empty()) out.spans.push_back({0, 0, TextStyle{}});
    out.spans.back().end = static_cast<std::uint32_t>(out.text.size());
    Builder builder(fonts, out, options);
    std::size_t at = 0;
    bool cut = false;
    while (true) {
        const std::size_t end = std::min(out.text.find('\n', at), out.text.size());
        builder.paragraph(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end));
        if (end == out.text.size()) break;
        if (builder.full()) {
            cut = true;
            break;
        }
        at = end + 1;
    }
    if (!cut && !builder.was_cut()) return out;
    // Take clusters off the last line until an ellipsis fits, and lay that out instead.
    const TextLine last = out.lines.back();
    const TextStyle style = out.spans.front().style;
    const float room = options.wrap_width - static_cast<float>(style.px);
    std::uint32_t keep = last.begin;
    for (std::uint32_t i = 0; i < last.n_clusters; ++i) {
        const Cluster& c = out.clusters[last.first_cluster + i];
        if (c.x1 - last.x <= room) keep = std::max(keep, c.end);
    }
    std::string shortened = out.text.substr(0, keep);
    while (!shortened.empty() && shortened.back() == ' ') shortened.pop_back();
    LayoutOptions again = options;
    again.max_lines = 0;
    return lay_out(fonts, shortened + "…", style, again);
}

TextLayout lay_out(Fonts& fonts, std::string text, const TextStyle& style,
                   const LayoutOptions& options) {
    const auto end = static_cast<std::uint32_t>(text.size());
    return lay_out(fonts, std::move(text), std::vector<StyleSpan>{{0, end, style}}, options);
}

std::size_t line_of(const TextLayout& layout, std::uint32_t position) {
    for (std::size_t i = 0; i + 1 < layout.lines.size(); ++i) {
        if (position < layout.lines[i + 1].begin) return i;
    }
    return layout.lines.empty() ? 0 : layout.lines.size() - 1;
}

Rect caret_rect(const TextLayout& layout, std::uint32_t position) {
    if (layout.lines.empty()) return {0, 0, 0, 20};
    const TextLine& line = layout.lines[line_of(layout, position)];
    float x = line.x;
    bool found = false;
    for (std::uint32_t i = 0; i < line.n_clusters && !found; ++i) {
        const Cluster& c = layout.clusters[line.first_cluster + i];
        if (c.begin == position) {
            x = c.rtl ? c.x1 : c.x0;
            found = true;
        } else if (c.end == position) {
            x = c.rtl ? c.x0 : c.x1;  // kept unless a cluster begins there
        }
    }
    if (!found && line.n_clusters == 0 && line.rtl) x = line.x;
    return {x, line.top, 0, line.height};
}

std::uint32_t position_at(const TextLayout& layout, float x, float y) {
    if (layout.lines.empty()) return 0;
    std::size_t index = 0;
    while (index + 1 < layout.lines.size() &&
           y >= layout.lines[index].top + layout.lines[index].height) {
        ++index;
    }
    const TextLine& line = layout.lines[index];
    if (line.n_clusters == 0) return line.begin;
    std::uint32_t best = line.begin;
    float distance = 1e30f;
    for (std::uint32_t i = 0; i < line.n_clusters; ++i) {
        const Cluster& c = layout.clusters[line.first_cluster + i];
        const auto consider = [&](float edge, std::uint32_t position) {
            // The end of a wrapped line is the begin of the next: stay on this one.
            const bool is_wrap = position == line.end && index + 1 < layout.lines.size() &&
                                 layout.lines[index + 1].begin == line.end;
            if (std::fabs(edge - x) < distance && !is_wrap) {
                distance = std::fabs(edge - x);
                best = position;
            }
        };
        consider(c.x0, c.rtl ? c.end : c.begin);
        consider(c.x1, c.rtl ? c.begin : c.end);
    }
    return best;
}

std::vector<Rect> selection_rects(const TextLayout& layout, std::uint32_t begin,
                                  std::uint32_t end) {
    std::vector<Rect> rects;
    for (const TextLine& line : layout.lines) {
        if (line.end < begin || line.begin >= end) continue;
        const std::size_t before = rects.size();
        for (std::uint32_t i = 0; i < line.n_clusters; ++i) {
            const Cluster& c = layout.clusters[line.first_cluster + i];
            if (c.begin < begin || c.begin >= end) continue;
            if (rects.size() > before && std::fabs(rects.back().right() - c.x0) < 0.5f) {
                rects.back().w = c.x1 - rects.back().x;
            } else {
                rects.push_back({c.x0, line.top, c.x1 - c.x0, line.height});
            }
        }
        // An empty line inside the selection shows as a narrow mark.
        if (line.n_clusters == 0) rects.push_back({line.x, line.top, 6, line.height});
    }
    return rects;
}

int span_at(const TextLayout& layout, float x, float y) {
    for (const TextLine& line : layout.lines) {
        if (y < line.top || y >= line.top + line.height) continue;
        for (std::uint32_t i = 0; i < line.n_clusters; ++i) {
            const Cluster& c = layout.clusters[line.first_cluster + i];
            if (x >= c.x0 && x < c.x1) return c.span;
        }
    }
    return -1;
}

}  // namespace hearth::gui
