// Drawing of items: bubbles, blocks, code, tables, actions, progress.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/gui/panels/transcript_frame.h"
#include "app/gui/words.h"

namespace hearth::gui {

std::string stats_line(const std::string& stats_json) {
    const auto json = nlohmann::json::parse(stats_json, nullptr, false);
    if (!json.is_object()) return "";
    const auto number = [&](const char* key) {
        const auto at = json.find(key);
        return at != json.end() && at->is_number() ? at->get<double>() : 0.0;
    };
    std::string out;
    const auto add = [&out](const std::string& part) { out += (out.empty() ? "" : " · ") + part; };
    const double tokens = number("completion_tokens"), decode_ms = number("decode_ms");
    if (tokens > 1 && decode_ms > 0) {
        add(fmt::format("{:.1f} tokens/s", (tokens - 1) * 1000 / decode_ms));
    }
    if (number("first_token_ms") > 0) {
        add(fmt::format("first token {:.2f} s", number("first_token_ms") / 1000));
    }
    if (number("prompt_tokens") > 0) {
        add(fmt::format("reused {} of {}",
                        grouped_number(static_cast<long>(number("cached_tokens"))),
                        grouped_number(static_cast<long>(number("prompt_tokens")))));
    }
    const auto speculation = json.find("speculation");
    if (speculation != json.end() && speculation->is_object()) {
        const double speedup = speculation->value("speedup", 1.0);
        const int drafted = speculation->value("drafted", 0);
        if (drafted > 0) {
            add(fmt::format("{:.1f}× by drafts, {} % accepted", speedup,
                            100 * speculation->value("accepted", 0) / drafted));
        }
    }
    return out;
}

std::string error_of(const std::string& stats_json) {
    const auto json = nlohmann::json::parse(stats_json, nullptr, false);
    if (json.is_object() && json.contains("error") && json["error"].is_string()) {
        return json["error"].get<std::string>();
    }
    return "this answer failed";
}

void Transcript::draw_items(Frame& f) {
    float y = f.area.y - offset_;
    n_drawn_ = 0;
    float total = 0;
    if (top_ == 0 && offset_ <= 0) {
        for (const Item& item : items_) {
            total += item.height;
            if (total > f.area.h) break;
        }
    }
    for (std::size_t i = top_; i < items_.size() && y < f.area.bottom(); ++i) {
        ensure(f, i);
        draw_item(f, i, y);
        y += items_[i].height;
        ++n_drawn_;
    }
}

void Transcript::draw_item(Frame& f, std::size_t index, float y) {
    Ui& ui = f.ui;
    ItemView& view = ensure(f, index);
    Rect column = f.column;
    const float top = y;
    y += ui.px(kItemGap);
    if (f.unseen_ends_at(index)) {
        draw_unseen_line(f, y);
        y += ui.px(kUnseenRow);
    }
    if (is_user(f, index)) {
        const float pad = ui.px(kBubblePad);
        float widest = 0;
        view.body.for_leaves([&](std::size_t, const Leaf& leaf, float) {
            widest = std::max(widest, leaf.layout.lines.empty() || !leaf.layout.lines.front().rtl
                                          ? leaf.layout.width
                                          : look_of(f, index, false).width);
        });
        const float fold = view.cut ? ui.px(kThinkingRow) : 0;
        if (view.cut) widest = std::max(widest, ui.px(180));
        const float width = std::ceil(widest) + 2 * pad;
        column.x = f.column.right() - width;
        column.w = width;
        const Rect bubble = {column.x, y, width, view.body.height() + 2 * pad + fold};
        ui.fill(bubble, Ink::bubble, ui.px(12));
        draw_body(f, index, view.body, 0, ImVec2(column.x + pad, y + pad), false);
        if (view.cut) {
            ButtonLook look;
            look.size = 13;
            look.ink = Ink::link;
            look.align = TextLook::Align::left;
            const Rect row = {column.x + pad / 2, bubble.bottom() - fold - pad / 2, ui.px(190),
                              fold};
            if (ui.button(make_id("fold", index), row,
                          view.all_shown
                              ? "Show less"
                              : fmt::format("Show all ({})", show_size(items_[index].bytes)),
                          look)) {
                view.all_shown = !view.all_shown;
                items_[index].exact = false;
            }
        }
        y = bubble.bottom();
    } else {
        y = draw_thinking(f, view, column, y);
        draw_body(f, index, view.body, view.thinking_shown ? view.thinking.n_leaves() : 0,
                  ImVec2(column.x, y), false);
        y += view.body.height();
    }
    if (!view.error.empty()) {
        TextLook look;
        look.ink = Ink::error;
        ui.text({column.x, y, column.w, ui.px(30)}, view.error + " — the question is kept.", look);
        y += ui.px(30);
    }
    const Rect row = {f.column.x, y + ui.px(2), f.column.w, ui.px(kActionRow - 4)};
    if (items_[index].id == 0) {
        draw_progress(f, row);
        return;
    }
    const Rect whole = {f.area.x, top, f.area.w, items_[index].height};
    const bool last = index + 1 == items_.size();
    if (last || ui.hovered(whole)) draw_actions(f, index, view, row);
}

float Transcript::draw_thinking(Frame& f, ItemView& view, const Rect& column, float y) {
    if (view.thinking.source().empty()) return y;
    Ui& ui = f.ui;
    ButtonLook look;
    look.size = 13;
    look.ink = Ink::dim;
    look.align = TextLook::Align::left;
    const Rect row = {column.x - ui.px(8), y, ui.px(130), ui.px(kThinkingRow - 4)};
    const auto part = reinterpret_cast<std::uintptr_t>(&view);
    if (ui.button(make_id("thinking", part), row, "Thinking", look,
                  view.thinking_shown ? Icon::chevron_down : Icon::chevron_right)) {
        view.thinking_shown = !view.thinking_shown;
        for (Item& item : items_) item.exact = false;
        ui.frame_at(ui.now());
    }
    y += ui.px(kThinkingRow);
    if (!view.thinking_shown) return y;
    ui.fill({column.x, y, ui.px(2), view.thinking.height()}, Ink::line);
    draw_body(f, 0, view.thinking, 0, ImVec2(column.x + ui.px(14), y), true);
    return y + view.thinking.height() + ui.px(8);
}

void Transcript::draw_body(Frame& f, std::size_t index, const MessageView& view,
                           std::size_t first_leaf, ImVec2 at, bool dim) {
    const bool plain = is_user(f, index) && !dim;
    const float gap = plain ? 0 : std::round(static_cast<float>(look_of(f, index, dim).px) * 0.65f);
    float y = at.y;
    std::size_t leaf_index = first_leaf;
    for (std::size_t p = 0; p < view.pieces().size(); ++p) {
        const PieceView& piece = view.pieces()[p];
        const bool visible = y + piece.height >= f.area.y && y <= f.area.bottom();
        if (visible) {
            const ImVec2 origin(at.x, y);
            for (std::size_t b = 0; b < piece.blocks.size(); ++b) {
                draw_block(f, piece, piece.blocks[b], origin, (index * 1000 + p) * 1000 + b);
            }
            for (std::size_t i = 0; i < piece.leaves.size(); ++i) {
                const Leaf& leaf = piece.leaves[i];
                const ImVec2 place(origin.x + leaf.x, origin.y + leaf.y);
                const TextPlace start{index, leaf_index + i, 0};
                pointer_on_leaf(f, leaf, start, place, piece.links);
                draw_leaf(f, leaf, start, place, dim);
            }
        }
        leaf_index += piece.leaves.size();
        y += piece.height + gap;
    }
}

void Transcript::draw_block(Frame& f, const PieceView& piece, const BlockView& block, ImVec2 at,
                            std::uint64_t part) {
    Ui& ui = f.ui;
    const Rect box = {at.x + block.box.x, at.y + block.box.y, block.box.w, block.box.h};
    if (box.bottom() < f.area.y || box.y > f.area.bottom()) return;
    for (int q = 0; q < block.quote; ++q) {
        ui.fill({at.x + ui.px(16) * static_cast<float>(q), box.y - ui.px(3), ui.px(3),
                 box.h + ui.px(6)},
                Ink::line, ui.px(1));
    }
    if (!block.marker.text.empty()) {
        draw_layout(block.marker, ui.draw(), ui.atlas(), ui.theme(),
                    ImVec2(at.x + block.marker_x, at.y + block.marker_y), Ink::dim);
    }
    if (block.kind == BlockKind::rule) {
        ui.rule(box.x, box.y + box.h / 2, box.right());
    } else if (block.kind == BlockKind::table) {
        const float left = at.x + block.column_x.front(), right = at.x + block.column_x.back();
        for (std::size_t i = 0; i < block.row_y.size(); ++i) {
            ui.rule(left, at.y + block.row_y[i], right, i == 1 ? Ink::dim : Ink::line);
        }
    } else if (block.kind == BlockKind::code) {
        ui.fill(box, Ink::code_back, ui.px(8));
        ui.frame(box, Ink::line, ui.px(8));
        const float head = ui.px(28);
        TextLook name;
        name.size = 12.5f;
        name.ink = Ink::dim;
        ui.text({box.x + ui.px(12), box.y, box.w / 2, head},
                block.language.empty() ? "text" : block.language, name);
        ButtonLook copy;
        copy.size = 12.5f;
        copy.ink = Ink::dim;
        copy.align = TextLook::Align::left;
        const Rect button = {box.right() - ui.px(78), box.y + ui.px(3), ui.px(74), head - ui.px(4)};
        if (ui.button(make_id("copy code", part), button, "Copy", copy, Icon::copy)) {
            f.gui.copy(piece.leaves[block.first_leaf].layout.text, "The code is copied.");
        }
    }
}

/// A dashed line: what is above it the model does not see.
void Transcript::draw_unseen_line(Frame& f, float y) {
    Ui& ui = f.ui;
    const std::size_t n = f.view.unseen_end - f.view.unseen_begin;
    TextLook look;
    look.size = 12.5f;
    look.ink = Ink::dim;
    const std::string words =
        f.view.unseen_begin == 0
            ? std::string("The model no longer sees what is above this line")
            : fmt::format("The model does not see the {} messages above this line", n);
    const float width = ui.measure(words, look).x, height = ui.px(kUnseenRow - 8);
    const float x = std::round(f.column.x + (f.column.w - width) / 2), gap = ui.px(12);
    ui.text({x, y, width + 1, height}, words, look);
    const float dash = ui.px(6);
    for (float at = f.column.x; at < f.column.right(); at += 2 * dash) {
        if (at + dash > x - gap && at < x + width + gap) continue;
        ui.rule(at, y + height / 2, at + dash, Ink::dim);
    }
}

void Transcript::draw_progress(Frame& f, const Rect& row) {
    const std::string words = f.gui.progress_text();
    if (words.empty()) return;
    TextLook look;
    look.size = 13;
    look.ink = Ink::dim;
    f.ui.text(row, words, look);
    if (f.view.phase != Phase::prefill || f.view.prefill_total <= 0) return;
    const float share =
        static_cast<float>(f.view.prefill_done) / static_cast<float>(f.view.prefill_total);
    const Rect bar = {row.x, row.bottom() - f.ui.px(3), f.ui.px(220), f.ui.px(3)};
    f.ui.fill(bar, Ink::line, f.ui.px(1));
    f.ui.fill({bar.x, bar.y, bar.w * std::min(share, 1.0f), bar.h}, Ink::accent, f.ui.px(1));
}

void Transcript::draw_actions(Frame& f, std::size_t index, ItemView& view, const Rect& row) {
    Ui& ui = f.ui;
    Gui& gui = f.gui;
    const StoredMessage& message = *f.message(index);
    const bool user = is_user(f, index);
    const bool last = index + 1 == items_.size();
    const bool idle = !gui.chat().busy();
    const float side = row.h;
    float x = row.x - ui.px(4);
    if (user) {
        int n = 3;
        if (message.n_versions > 1) n += 3;
        x = row.right() - static_cast<float>(n) * side;
    }
    ButtonLook look;
    look.ink = Ink::dim;
    look.focusable = last;
    const auto action = [&](Icon icon, const char* name) {
        const bool hit =
            ui.icon_button(make_id(name, index + 1), {x, row.y, side, side}, icon, name, look);
        x += side;
        return hit;
    };
    if (message.n_versions > 1) {
        look.enabled = idle;
        if (action(Icon::chevron_left, "Earlier version")) gui.show_version(message.id, -1);
        TextLook count;
        count.size = 12.5f;
        count.ink = Ink::dim;
        count.align = TextLook::Align::center;
        ui.text({x, row.y, side, side}, fmt::format("{}/{}", message.version, message.n_versions),
                count);
        x += side;
        if (action(Icon::chevron_right, "Later version")) gui.show_version(message.id, 1);
        look.enabled = true;
    }
    if (action(Icon::copy, "Copy message")) gui.copy(message.content, "The message is copied.");
    look.enabled = idle;
    if (!user && action(Icon::branch, "Branch into a new chat")) gui.branch(message.id);
    if (user && action(Icon::pencil, "Edit")) gui.edit_message(message.id);
    if (!user && last) {
        if (action(Icon::refresh, "Regenerate")) gui.regenerate();
        if (action(Icon::play, "Continue")) gui.continue_last();
    }
    if (!user && !view.footer.empty()) {
        TextLook stats;
        stats.size = 12.5f;
        stats.ink = Ink::dim;
        x += ui.px(6);
        ui.text({x, row.y, std::max(1.0f, row.right() - x), row.h}, view.footer, stats);
    }
}

}  // namespace hearth::gui
