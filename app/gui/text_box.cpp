#include "app/gui/text_box.h"

#include <algorithm>
#include <cmath>

#include "app/gui/math.h"

namespace hearth::gui {
namespace {

using Step = EditBuffer::Step;

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::erase(text, '\r');
    return text;
}

}  // namespace

Rect TextBox::inner_of(Ui& ui, const Rect& rect, const TextBoxLook& look) const {
    const float x = ui.px(look.framed ? 10 : 0), y = ui.px(look.framed ? 7 : 0);
    return {rect.x + x, rect.y + y, std::max(1.0f, rect.w - 2 * x), std::max(1.0f, rect.h - 2 * y)};
}

void TextBox::refresh(Ui& ui, float width, const TextBoxLook& look) {
    const int px = ui.font_px(look.size);
    const float wrap = look.single_line ? 0 : width;
    if (laid_revision_ == buffer.revision() && laid_width_ == wrap && laid_px_ == px) return;
    laid_revision_ = buffer.revision();
    laid_width_ = wrap;
    laid_px_ = px;
    TextStyle style;
    style.px = px;
    style.font.family = look.mono ? Family::mono : Family::sans;
    LayoutOptions options;
    options.wrap_width = wrap;
    layout_ = lay_out(ui.fonts(), buffer.text(), style, options);
}

float TextBox::wanted_height(Ui& ui, float width, const TextBoxLook& look, int max_lines) {
    const Rect inner = inner_of(ui, {0, 0, width, 1000}, look);
    refresh(ui, inner.w, look);
    const float line = layout_.lines.empty() ? 20 : layout_.lines.front().height;
    const float most = line * static_cast<float>(max_lines);
    return std::min(layout_.height, most) + ui.px(look.framed ? 14 : 0);
}

TextBoxResult TextBox::show(Ui& ui, Id id, const Rect& rect, const TextBoxLook& look) {
    TextBoxResult result;
    const Rect inner = inner_of(ui, rect, look);
    refresh(ui, inner.w, look);
    if (ui.hovered(rect)) {
        ui.cursor = CursorShape::text;
        if (ui.in().pressed) ui.set_focus(id);
        scroll_y_ -= ui.in().wheel.y * ui.px(40);
    }
    const bool focused = ui.focusable(id, rect, true);
    pointer(ui, id, inner);
    if (focused) {
        const std::uint64_t before = buffer.revision();
        keys(ui, look, result);
        result.changed = buffer.revision() != before;
        refresh(ui, inner.w, look);
    }
    draw(ui, rect, inner, look, focused);
    return result;
}

void TextBox::pointer(Ui& ui, Id id, const Rect& inner) {
    const Input& in = ui.in();
    const auto here = [&] {
        return position_at(layout_, in.mouse.x - inner.x + scroll_x_,
                           in.mouse.y - inner.y + scroll_y_);
    };
    const Rect area = {inner.x - 10, inner.y - 6, inner.w + 20, inner.h + 12};
    if (ui.hovered(area) && in.pressed) {
        ui.hold(id);
        goal_x_ = -1;
        if (in.clicks == 2) {
            buffer.select_word_at(here());
        } else if (in.clicks >= 3) {
            buffer.select_paragraph_at(here());
        } else {
            buffer.place(here(), in.mods.shift);
        }
    } else if (ui.is_held(id) && in.down && in.clicks < 2) {
        buffer.place(here(), true);
    }
}

void TextBox::keys(Ui& ui, const TextBoxLook& look, TextBoxResult& result) {
    for (KeyIn& in : ui.in().keys) {
        if (in.used) continue;
        if (in.character != 0) {
            // AltGr makes characters with Ctrl+Alt held: those are text as well.
            std::string text;
            append_character(text, in.character);
            buffer.insert(text, true);
            goal_x_ = -1;
            in.used = true;
            continue;
        }
        refresh(ui, laid_width_ > 0 ? laid_width_ : 1, look);
        if (command_key(ui, in, look, result) || move_key(in, look)) in.used = true;
    }
}

bool TextBox::command_key(Ui& ui, const KeyIn& in, const TextBoxLook& look, TextBoxResult& result) {
    const Mods mods = in.mods;
    const bool ctrl = mods.ctrl && !mods.alt;
    switch (in.key) {
        case Key::enter:
        case Key::keypad_enter:
            if (mods.alt || mods.ctrl) return false;
            if (look.single_line || (look.enter_submits && !mods.shift)) {
                result.submitted = true;
            } else {
                buffer.insert("\n", true);
            }
            return true;
        case Key::backspace:
            buffer.erase_backward(ctrl ? Step::word : Step::character);
            return true;
        case Key::del:
            if (mods.shift && buffer.has_selection()) ui.set_clipboard(buffer.selected());
            buffer.erase_forward(ctrl ? Step::word : Step::character);
            return true;
        case Key::insert:
            if (!mods.shift) return false;
            paste(ui.clipboard(), look, result);
            return true;
        default:
            break;
    }
    if (!ctrl) return false;
    if (in.key == Key::z && mods.shift) return buffer.redo(), true;
    if (mods.shift) return false;
    switch (in.key) {
        case Key::a:
            buffer.select_all();
            return true;
        case Key::c:
        case Key::x:
            if (!buffer.has_selection()) return false;
            ui.set_clipboard(buffer.selected());
            if (in.key == Key::x) buffer.insert("");
            return true;
        case Key::v:
            paste(ui.clipboard(), look, result);
            return true;
        case Key::z:
            buffer.undo();
            return true;
        case Key::y:
            buffer.redo();
            return true;
        default:
            return false;
    }
}

void TextBox::paste(const std::string& text, const TextBoxLook& look, TextBoxResult& result) {
    if (text.empty()) return;
    if (look.paste_limit > 0 && text.size() > look.paste_limit) {
        result.large_paste = text;
        return;
    }
    std::string clean = look.single_line ? one_line(text) : text;
    std::erase(clean, '\r');
    buffer.insert(clean);
    goal_x_ = -1;
}

bool TextBox::move_key(const KeyIn& in, const TextBoxLook& look) {
    const bool select = in.mods.shift;
    if (in.mods.alt) return false;
    const Step step = in.mods.ctrl ? Step::word : Step::character;
    const TextLine* line =
        layout_.lines.empty()
            ? nullptr
            : &layout_.lines[line_of(layout_, static_cast<std::uint32_t>(buffer.caret()))];
    const bool rtl = line != nullptr && line->rtl;
    if (in.key != Key::up && in.key != Key::down) goal_x_ = -1;
    switch (in.key) {
        case Key::left:
        case Key::right:
            if ((in.key == Key::left) != rtl) {
                buffer.move_backward(step, select);
            } else {
                buffer.move_forward(step, select);
            }
            return true;
        case Key::home:
            buffer.place(in.mods.ctrl || line == nullptr ? 0 : line->begin, select);
            return true;
        case Key::end:
            buffer.place(in.mods.ctrl || line == nullptr ? buffer.text().size() : line->end,
                         select);
            return true;
        case Key::up:
        case Key::down:
            if (look.single_line || in.mods.ctrl) return false;
            if (buffer.text().empty()) return false;
            move_vertical(in.key == Key::up ? -1 : 1, select);
            return true;
        case Key::page_up:
        case Key::page_down:
            if (buffer.text().empty() || look.single_line) return false;
            move_vertical(in.key == Key::page_up ? -10 : 10, select);
            return true;
        default:
            return false;
    }
}

void TextBox::move_vertical(int lines, bool select) {
    const auto caret = static_cast<std::uint32_t>(buffer.caret());
    const Rect at = caret_rect(layout_, caret);
    if (goal_x_ < 0) goal_x_ = at.x;
    const auto index = static_cast<int>(line_of(layout_, caret)) + lines;
    if (index < 0) {
        buffer.place(0, select);
    } else if (index >= static_cast<int>(layout_.lines.size())) {
        buffer.place(buffer.text().size(), select);
    } else {
        const TextLine& line = layout_.lines[static_cast<std::size_t>(index)];
        buffer.place(position_at(layout_, goal_x_, line.top + 1), select);
    }
}

void TextBox::draw(Ui& ui, const Rect& rect, const Rect& inner, const TextBoxLook& look,
                   bool focused) {
    if (look.framed) {
        ui.fill(rect, Ink::raised, ui.px(8));
        ui.frame(rect, focused ? Ink::accent : Ink::line, ui.px(8));
    }
    const auto caret = static_cast<std::uint32_t>(buffer.caret());
    const Rect at = caret_rect(layout_, caret);
    if (shown_caret_ != caret) {
        shown_caret_ = caret;
        scroll_y_ = std::clamp(scroll_y_, at.bottom() - inner.h, std::max(at.y, 0.0f));
        scroll_x_ = std::clamp(scroll_x_, at.x - inner.w + 2, std::max(at.x - 2, 0.0f));
    }
    scroll_y_ = std::clamp(scroll_y_, 0.0f, std::max(0.0f, layout_.height - inner.h));
    scroll_x_ = look.single_line
                    ? std::clamp(scroll_x_, 0.0f, std::max(0.0f, layout_.width + 2 - inner.w))
                    : 0;
    ui.clip_push({inner.x - 2, inner.y - 2, inner.w + 4, inner.h + 4});
    float top = inner.y - scroll_y_;
    if (look.single_line) top = std::round(inner.y + (inner.h - layout_.height) / 2);
    const ImVec2 origin(inner.x - scroll_x_, top);
    if (buffer.has_selection()) {
        for (const Rect& r :
             selection_rects(layout_, static_cast<std::uint32_t>(buffer.selection_begin()),
                             static_cast<std::uint32_t>(buffer.selection_end()))) {
            ui.fill({origin.x + r.x, origin.y + r.y, r.w, r.h}, Ink::select_text);
        }
    }
    if (buffer.text().empty() && !look.placeholder.empty()) {
        TextLook hint;
        hint.size = look.size;
        hint.ink = Ink::dim;
        ui.text({inner.x + ui.px(3), inner.y, inner.w, at.h}, look.placeholder, hint);
    }
    draw_layout(layout_, ui.draw(), ui.atlas(), ui.theme(), origin);
    if (focused) {
        const float width = std::max(1.0f, std::round(ui.px(1.6f)));
        const float x = std::round(origin.x + at.x);
        ui.draw().AddRectFilled(ImVec2(x, origin.y + at.y + 2),
                                ImVec2(x + width, origin.y + at.bottom() - 2),
                                ui.theme()[Ink::accent]);
    }
    ui.clip_pop();
}

}  // namespace hearth::gui
