#include "app/gui/message_view.h"

#include <algorithm>
#include <cmath>

#include "app/gui/highlight.h"

namespace hearth::gui {
namespace {

constexpr std::size_t kPlainPiece = 8192;  ///< bytes of plain text laid out as one piece

class PieceBuilder {
  public:
    PieceBuilder(Fonts& fonts, const MessageLook& look, PieceView& out)
        : fonts_(fonts),
          look_(look),
          out_(out) {}

    void block(const MarkdownBlock& block, bool first) {
        if (!first) y_ += gap_before(block);
        was_tight_ = block.tight;
        BlockView view;
        view.kind = block.kind;
        view.quote = block.quote;
        view.first_leaf = out_.leaves.size();
        view.quote_x = 0;
        left_ = unit(1.5f) * static_cast<float>(block.indent) +
                unit(1.1f) * static_cast<float>(block.quote);
        top_ = y_;
        if (!block.marker.empty()) {
            view.marker = lay_out(fonts_, block.marker, body_style(), {});
            view.marker_x = left_ - unit(0.55f) - view.marker.width;
            view.marker_y = y_;
        }
        switch (block.kind) {
            case BlockKind::paragraph:
                text(block.body, body_style());
                break;
            case BlockKind::heading:
                heading(block);
                break;
            case BlockKind::code:
                code(block, view);
                break;
            case BlockKind::rule:
                y_ += unit(0.9f);
                break;
            case BlockKind::table:
                table(block, view);
                break;
        }
        if (view.box.h == 0) view.box = {left_, top_, look_.width - left_, y_ - top_};
        view.n_leaves = out_.leaves.size() - view.first_leaf;
        out_.blocks.push_back(std::move(view));
    }

    void plain(std::string_view source) {
        leaf(lay_out(fonts_, std::string(source), body_style(), wrap(look_.width)), 0);
        BlockView view;
        view.box = {0, 0, look_.width, y_};
        view.n_leaves = 1;
        out_.blocks.push_back(std::move(view));
    }

    void finish() { out_.height = y_; }

  private:
    float unit(float of_px) const { return std::round(static_cast<float>(look_.px) * of_px); }

    float gap_before(const MarkdownBlock& block) const {
        if (block.kind == BlockKind::heading) return unit(0.9f);
        return unit(block.tight && was_tight_ && block.kind == BlockKind::paragraph ? 0.2f : 0.65f);
    }

    TextStyle body_style() const {
        TextStyle style;
        style.px = look_.px;
        if (look_.dim) style.ink = Ink::dim;
        return style;
    }

    static LayoutOptions wrap(float width) {
        LayoutOptions options;
        options.wrap_width = std::max(40.0f, width);
        options.line_spacing = 1.5f;
        return options;
    }

    std::vector<StyleSpan> spans_of(const MarkdownText& text, const TextStyle& base) const {
        std::vector<StyleSpan> spans;
        for (const MarkdownSpan& span : text.spans) {
            TextStyle style = base;
            style.font.bold = style.font.bold || span.bold;
            style.font.italic = style.font.italic || span.italic || span.math;
            style.strike = span.strike;
            if (span.code) {
                style.font = {Family::mono, false, false};
                style.px = std::max(8, static_cast<int>(static_cast<float>(base.px) * 0.92f));
                style.boxed = true;
            }
            if (span.link >= 0) {
                style.link = span.link;
                style.ink = Ink::link;
                style.underline = true;
            }
            spans.push_back({span.begin, span.end, style});
        }
        if (spans.empty()) spans.push_back({0, 0, base});
        return spans;
    }

    void leaf(TextLayout layout, float x) {
        const float height = layout.height;
        out_.leaves.push_back({std::move(layout), x, y_});
        y_ += height;
    }

    void text(const MarkdownText& text, const TextStyle& base) {
        leaf(lay_out(fonts_, text.text, spans_of(text, base), wrap(look_.width - left_)), left_);
    }

    void heading(const MarkdownBlock& block) {
        static constexpr float kSizes[] = {1.5f, 1.3f, 1.15f, 1.05f, 1.0f, 1.0f};
        TextStyle style = body_style();
        style.px = static_cast<int>(
            std::lround(static_cast<float>(look_.px) * kSizes[std::clamp(block.level, 1, 6) - 1]));
        style.font.bold = true;
        text(block.body, style);
    }

    void code(const MarkdownBlock& block, BlockView& view) {
        const float pad = unit(0.75f), head = unit(1.9f);
        TextStyle style;
        style.px = std::max(8, static_cast<int>(static_cast<float>(look_.px) * 0.9f));
        style.font.family = Family::mono;
        view.language = block.language;
        y_ += head + pad * 0.4f;
        LayoutOptions options = wrap(look_.width - left_ - 2 * pad);
        options.line_spacing = 1.42f;
        leaf(lay_out(fonts_, block.body.text, highlight(block.body.text, block.language, style),
                     options),
             left_ + pad);
        y_ += pad;
        view.box = {left_, top_, look_.width - left_, y_ - top_};
    }

    void table(const MarkdownBlock& block, BlockView& view) {
        const auto n = static_cast<std::size_t>(std::max(block.columns, 1));
        const std::size_t rows = (block.cells.size() + n - 1) / n;
        const float pad = unit(0.55f);
        const auto style_of = [&](std::size_t row) {
            TextStyle style = body_style();
            style.font.bold = row == 0;
            return style;
        };
        std::vector<float> wanted(n, unit(2.0f));
        for (std::size_t i = 0; i < block.cells.size(); ++i) {
            const TextLayout one =
                lay_out(fonts_, block.cells[i].text, spans_of(block.cells[i], style_of(i / n)), {});
            wanted[i % n] = std::max(wanted[i % n], std::ceil(one.width) + 2 * pad);
        }
        fit(wanted, look_.width - left_);
        view.column_x.push_back(left_);
        for (const float w : wanted) view.column_x.push_back(view.column_x.back() + w);
        for (std::size_t row = 0; row < rows; ++row) {
            view.row_y.push_back(y_);
            const float row_top = y_ + pad * 0.6f;
            float bottom = row_top + unit(1.5f);
            for (std::size_t column = 0; column < n && row * n + column < block.cells.size();
                 ++column) {
                const MarkdownText& cell = block.cells[row * n + column];
                const float room = wanted[column] - 2 * pad;
                TextLayout layout =
                    lay_out(fonts_, cell.text, spans_of(cell, style_of(row)), wrap(room));
                const CellAlign align =
                    column < block.aligns.size() ? block.aligns[column] : CellAlign::left;
                const float slack = std::max(0.0f, room - layout.width);
                const float shift = align == CellAlign::right    ? slack
                                    : align == CellAlign::center ? slack / 2
                                                                 : 0;
                y_ = row_top;
                leaf(std::move(layout), view.column_x[column] + pad + shift);
                bottom = std::max(bottom, y_);
            }
            y_ = bottom + pad * 0.6f;
        }
        view.row_y.push_back(y_);
        view.box = {left_, top_, view.column_x.back() - left_, y_ - top_};
    }

    /// Narrows the widest columns until all fit.
    static void fit(std::vector<float>& widths, float room) {
        float total = 0;
        for (const float w : widths) total += w;
        for (int round = 0; total > room && round < 100; ++round) {
            const auto widest = std::max_element(widths.begin(), widths.end());
            const float cut = std::min(*widest * 0.1f, total - room);
            *widest -= cut;
            total -= cut;
        }
    }

    Fonts& fonts_;
    const MessageLook& look_;
    PieceView& out_;
    float y_ = 0, left_ = 0, top_ = 0;
    bool was_tight_ = false;
};

/// Plain text in pieces that end at line ends.
std::vector<std::size_t> split_plain(std::string_view source) {
    std::vector<std::size_t> ends;
    std::size_t at = 0;
    while (source.size() - at > kPlainPiece) {
        const std::size_t newline = source.find('\n', at + kPlainPiece);
        if (newline == std::string_view::npos) break;
        at = newline + 1;
        ends.push_back(at);
    }
    if (ends.empty() || ends.back() != source.size()) ends.push_back(source.size());
    return ends;
}

}  // namespace

PieceView make_piece(Fonts& fonts, std::string_view source, const MessageLook& look, bool growing) {
    PieceView piece;
    piece.source = source;
    PieceBuilder builder(fonts, look, piece);
    if (look.plain) {
        while (!source.empty() && source.back() == '\n') source.remove_suffix(1);
        builder.plain(source);
    } else {
        MarkdownDocument document =
            parse_markdown(growing ? close_open_marks(source) : std::string(source));
        piece.links = std::move(document.links);
        for (std::size_t i = 0; i < document.blocks.size(); ++i) {
            builder.block(document.blocks[i], i == 0);
        }
    }
    builder.finish();
    return piece;
}

void MessageView::update(Fonts& fonts, std::string_view source, const MessageLook& look,
                         bool growing) {
    if (any_ && look == look_ && growing == growing_ && source.size() == source_.size() &&
        source == source_) {
        return;
    }
    const bool same_look = any_ && look == look_;
    const bool was_growing = growing_;
    if (!same_look) pieces_.clear();
    any_ = true;
    look_ = look;
    growing_ = growing;
    source_ = source;
    const std::vector<std::size_t> ends = look.plain ? split_plain(source) : split_markdown(source);
    std::size_t at = 0, kept = 0;
    std::vector<PieceView> pieces;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::string_view part = source.substr(at, ends[i] - at);
        at = ends[i];
        const bool last = i + 1 == ends.size();
        // The last piece of a text that grew was closed by guess: it is made anew.
        const bool was_last = i + 1 == pieces_.size();
        const bool usable = i < pieces_.size() && pieces_[i].source == part &&
                            !(was_last && was_growing != (growing && last));
        if (usable) {
            pieces.push_back(std::move(pieces_[i]));
            ++kept;
        } else {
            pieces.push_back(make_piece(fonts, part, look, growing && last));
            ++laid_out_;
        }
    }
    pieces_ = std::move(pieces);
    height_ = 0;
    const float gap = look.plain ? 0 : std::round(static_cast<float>(look.px) * 0.65f);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        height_ += pieces_[i].height + (i > 0 ? gap : 0);
    }
}

std::size_t MessageView::n_leaves() const {
    std::size_t n = 0;
    for (const PieceView& piece : pieces_) n += piece.leaves.size();
    return n;
}

void MessageView::for_leaves(
    const std::function<void(std::size_t, const Leaf&, float)>& visit) const {
    const float gap = look_.plain ? 0 : std::round(static_cast<float>(look_.px) * 0.65f);
    std::size_t index = 0;
    float y = 0;
    for (const PieceView& piece : pieces_) {
        for (const Leaf& leaf : piece.leaves) visit(index++, leaf, y);
        y += piece.height + gap;
    }
}

}  // namespace hearth::gui
