// Selection across messages, links, find in chat.

#include <algorithm>

#include <fmt/format.h>

#include "app/gui/panels/transcript_frame.h"
#include "app/gui/words.h"
#include "app/repl/graphemes.h"

namespace hearth::gui {
namespace {

/// The word around a byte, by the same rule as in editors.
std::pair<std::uint32_t, std::uint32_t> word_at(const std::string& text, std::uint32_t at) {
    const auto is_word = [&](std::size_t i) {
        return repl::is_word_character(repl::code_point_at(text, i).value);
    };
    std::size_t begin = std::min<std::size_t>(at, text.size()), end = begin;
    while (begin > 0 && is_word(repl::previous_grapheme(text, begin))) {
        begin = repl::previous_grapheme(text, begin);
    }
    while (end < text.size() && is_word(end)) end = repl::next_grapheme(text, end);
    if (begin == end && end < text.size()) end = repl::next_grapheme(text, end);
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
}

}  // namespace

void Transcript::draw_leaf(Frame& f, const Leaf& leaf, TextPlace place, ImVec2 at, bool dim) {
    Ui& ui = f.ui;
    const auto mark = [&](std::uint32_t begin, std::uint32_t end, Ink ink) {
        for (const Rect& r : selection_rects(leaf.layout, begin, end)) {
            ui.fill({at.x + r.x, at.y + r.y, r.w, r.h}, ink);
        }
    };
    if (!find_text_.empty()) {
        const std::string lower = lower_case(leaf.layout.text);
        for (std::size_t i = lower.find(find_text_); i != std::string::npos;
             i = lower.find(find_text_, i + find_text_.size())) {
            mark(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + find_text_.size()),
                 Ink::found);
        }
    }
    if (has_selection() && !dim) {
        const auto [first, last] = std::minmax(selection_->first, selection_->second);
        const TextPlace end{place.item, place.leaf,
                            static_cast<std::uint32_t>(leaf.layout.text.size())};
        if (first < end && place < last) {
            const std::uint32_t from =
                first.item == place.item && first.leaf == place.leaf ? first.byte : 0;
            const std::uint32_t to =
                last.item == place.item && last.leaf == place.leaf ? last.byte : end.byte;
            mark(from, to, Ink::select_text);
        }
    }
    draw_layout(leaf.layout, ui.draw(), ui.atlas(), ui.theme(), at);
    if (ui.hovered(f.area)) return;
}

void Transcript::pointer_on_leaf(Frame& f, const Leaf& leaf, TextPlace place, ImVec2 at,
                                 const std::vector<std::string>& links) {
    Ui& ui = f.ui;
    const Input& in = ui.in();
    const Rect box = {at.x, at.y, std::max(leaf.layout.width, ui.px(20)), leaf.layout.height};
    const bool over = ui.hovered(box) && f.area.contains(in.mouse);
    const std::uint32_t byte = position_at(leaf.layout, in.mouse.x - at.x, in.mouse.y - at.y);
    if (over) {
        if (ui.cursor == CursorShape::arrow) ui.cursor = CursorShape::text;
        const int span = span_at(leaf.layout, in.mouse.x - at.x, in.mouse.y - at.y);
        const int link =
            span < 0 ? -1 : leaf.layout.spans[static_cast<std::size_t>(span)].style.link;
        if (link >= 0 && link < static_cast<int>(links.size())) {
            ui.cursor = CursorShape::hand;
            ui.tip({in.mouse.x, at.y, 1, in.mouse.y - at.y + ui.px(12)},
                   links[static_cast<std::size_t>(link)]);
            if (in.released && !has_selection())
                f.gui.ask_to_open(links[static_cast<std::size_t>(link)]);
        }
    }
    place.byte = byte;
    // Beside a line counts as on it, so that a selection may begin in the margin.
    const Rect band = {f.area.x, box.y, f.area.w, box.h};
    const bool on_band = ui.hovered(band) && f.area.contains(in.mouse);
    if (on_band && in.pressed && !selecting_ &&
        (over || in.mouse.x < box.x || in.mouse.x > box.right())) {
        // Only text begins a selection; buttons hold the pointer by then.
        if (!over) return;
        selecting_ = true;
        select_unit_ = in.clicks;
        ui.hold(make_id("transcript text"));
        ui.set_focus(0);
        selection_ = in.mods.shift && selection_ ? std::pair(selection_->first, place)
                                                 : std::pair(place, place);
        if (in.clicks == 2) {
            const auto [begin, end] = word_at(leaf.layout.text, byte);
            selection_->first.byte = begin;
            selection_->second.byte = end;
        } else if (in.clicks >= 3) {
            selection_->first.byte = 0;
            selection_->second.byte = static_cast<std::uint32_t>(leaf.layout.text.size());
        }
    } else if (selecting_ && in.down && select_unit_ == 1 && in.mouse.y >= box.y &&
               in.mouse.y < box.bottom()) {
        selection_->second = place;
    }
}

/// After all leaves: a press beside text ends a selection; dragging past the edge scrolls.
void Transcript::end_selection(Frame& f) {
    const Input& in = f.ui.in();
    if (in.pressed && f.ui.hovered(f.area) && !selecting_) selection_.reset();
    if (selecting_ && in.down) {
        const float over = in.mouse.y < f.area.y          ? in.mouse.y - f.area.y
                           : in.mouse.y > f.area.bottom() ? in.mouse.y - f.area.bottom()
                                                          : 0;
        if (over != 0) {
            scroll_by(over * 0.3f);
            f.ui.frame_at(f.ui.now() + 0.016);
        }
    }
    if (!in.down) selecting_ = false;
}

std::string Transcript::selected_text(Gui& gui) {
    if (!has_selection()) return "";
    const auto [first, last] = std::minmax(selection_->first, selection_->second);
    Ui& ui = gui.ui();
    Frame f{gui, ui, gui.chat().view(), {}, {}, gui.chat().busy()};
    f.column.w = width_;
    std::string out;
    for (std::size_t i = first.item; i <= last.item && i < items_.size(); ++i) {
        ItemView& view = ensure(f, i);
        const std::size_t skipped = view.thinking_shown ? view.thinking.n_leaves() : 0;
        std::string text;
        view.body.for_leaves([&](std::size_t n, const Leaf& leaf, float) {
            const std::size_t index = n + skipped;
            const TextPlace begin{i, index, 0};
            const auto size = static_cast<std::uint32_t>(leaf.layout.text.size());
            if (begin > last || TextPlace{i, index, size} < first) return;
            const std::uint32_t from = first.item == i && first.leaf == index ? first.byte : 0;
            const std::uint32_t to = last.item == i && last.leaf == index ? last.byte : size;
            if (!text.empty()) text += '\n';
            text += leaf.layout.text.substr(from, to - from);
        });
        if (text.empty()) continue;
        out += (out.empty() ? "" : "\n\n") + text;
    }
    return out;
}

void Transcript::select_all(Gui& gui) {
    if (items_.empty()) return;
    Frame f{gui, gui.ui(), gui.chat().view(), {}, {}, gui.chat().busy()};
    f.column.w = width_;
    const ItemView& view = ensure(f, items_.size() - 1);
    TextPlace end{items_.size() - 1, 0, 0};
    view.body.for_leaves([&](std::size_t n, const Leaf& leaf, float) {
        end.leaf = n;
        end.byte = static_cast<std::uint32_t>(leaf.layout.text.size());
    });
    selection_ = std::pair(TextPlace{0, 0, 0}, end);
}

void Transcript::find(Gui& gui, const std::string& text) {
    find_text_ = lower_case(text);
    found_.clear();
    found_at_ = 0;
    if (find_text_.empty()) return;
    const std::vector<StoredMessage>& messages = gui.chat().view().messages;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (lower_case(messages[i].content).find(find_text_) != std::string::npos)
            found_.push_back(i);
    }
    if (!found_.empty()) {
        found_at_ = found_.size();
        find_next(gui, -1);
    }
}

void Transcript::find_next(Gui& gui, int direction) {
    if (found_.empty()) return;
    const std::size_t n = found_.size();
    found_at_ =
        (std::min(found_at_, n) + n + static_cast<std::size_t>(direction + static_cast<int>(n))) %
        n;
    follow_ = false;
    top_ = std::min(found_[found_at_], items_.empty() ? 0 : items_.size() - 1);
    offset_ = 0;
    gui.ui().frame_at(gui.ui().now());
}

std::string Transcript::find_status() const {
    if (find_text_.empty()) return "";
    if (found_.empty()) return "not found";
    return fmt::format("{} of {}", found_at_ + 1, found_.size());
}

}  // namespace hearth::gui
