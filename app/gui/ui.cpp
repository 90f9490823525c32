#include "app/gui/ui.h"

#include <algorithm>
#include <cmath>

namespace hearth::gui {
namespace {

constexpr double kTipDelayS = 0.6;
constexpr std::size_t kMaxLayouts = 2000;

ImVec2 upper(const Rect& r) { return ImVec2(r.x, r.y); }
ImVec2 lower(const Rect& r) { return ImVec2(r.right(), r.bottom()); }

}  // namespace

void Ui::begin(ImDrawList& draw, const Input& input, const Theme& theme) {
    draw_ = &draw;
    theme_ = &theme;
    input_ = input;
    clip_ = {0, 0, input.size.x, input.size.y};
    clips_.clear();
    focusables_.clear();
    labels_.clear();
    layer_ = 0;
    layers_seen_ = 0;
    next_frame_ = 1e300;
    cursor = CursorShape::arrow;
    tip_text_.clear();
    ++frame_;
    if (input_.pressed) focus_by_key_ = false;
    if (layouts_.size() > kMaxLayouts) {
        std::erase_if(layouts_,
                      [this](const auto& item) { return item.second.last_frame + 120 < frame_; });
    }
}

void Ui::end() {
    top_layer_ = layers_seen_;
    move_focus();
    if (!input_.down) held_ = 0;
    draw_tip();
}

void Ui::begin_layer() {
    ++layer_;
    layers_seen_ = std::max(layers_seen_, layer_);
    // A dialog that has just opened takes the keys in this very frame.
    top_layer_ = std::max(top_layer_, layer_);
    fill({0, 0, input_.size.x, input_.size.y}, Ink::shade);
}

void Ui::end_layer() { --layer_; }

int Ui::font_px(float size) const {
    return std::max(6, static_cast<int>(std::lround(size * input_.scale)));
}

// --- focus ---------------------------------------------------------------------------------------

bool Ui::focusable(Id id, const Rect& rect, bool is_text) {
    if (!layer_active()) return false;
    focusables_.push_back({id, rect, layer_});
    if (focus_ != id) return false;
    if (focus_by_key_ && !is_text) {
        const float gap = px(2);
        draw_->AddRect(ImVec2(rect.x - gap, rect.y - gap),
                       ImVec2(rect.right() + gap, rect.bottom() + gap), theme()[Ink::accent], px(7),
                       0, px(2));
    }
    return true;
}

std::optional<Rect> Ui::focused_rect() const {
    for (const Focusable& f : focusables_) {
        if (f.id == focus_) return f.rect;
    }
    return std::nullopt;
}

bool Ui::take_key(Key key, Mods mods) {
    if (!layer_active()) return false;
    for (KeyIn& in : input_.keys) {
        if (in.used || in.character != 0 || in.key != key || !(in.mods == mods)) continue;
        in.used = true;
        return true;
    }
    return false;
}

/// Tab and Shift+Tab through what was drawn in the top layer.
void Ui::move_focus() {
    std::vector<Id> order;
    for (const Focusable& f : focusables_) {
        if (f.layer == layers_seen_) order.push_back(f.id);
    }
    for (KeyIn& in : input_.keys) {
        if (in.used || in.key != Key::tab || in.character != 0 || in.mods.ctrl || in.mods.alt) {
            continue;
        }
        in.used = true;
        if (order.empty()) continue;
        const auto at = std::find(order.begin(), order.end(), focus_);
        const auto n = static_cast<std::ptrdiff_t>(order.size());
        std::ptrdiff_t i = at - order.begin();
        if (at == order.end()) {
            i = in.mods.shift ? n - 1 : 0;
        } else {
            i = (i + (in.mods.shift ? n - 1 : 1)) % n;
        }
        focus_ = order[static_cast<std::size_t>(i)];
        focus_by_key_ = true;
        frame_at(input_.now_s);
    }
}

// --- pointer -------------------------------------------------------------------------------------

void Ui::clip_push(const Rect& rect) {
    clips_.push_back(clip_);
    const float x0 = std::max(clip_.x, rect.x), y0 = std::max(clip_.y, rect.y);
    const float x1 = std::min(clip_.right(), rect.right());
    const float y1 = std::min(clip_.bottom(), rect.bottom());
    clip_ = {x0, y0, std::max(0.0f, x1 - x0), std::max(0.0f, y1 - y0)};
    draw_->PushClipRect(upper(clip_), lower(clip_), false);
}

void Ui::clip_pop() {
    clip_ = clips_.back();
    clips_.pop_back();
    draw_->PopClipRect();
}

bool Ui::hovered(const Rect& rect) const {
    return layer_active() && clip_.contains(input_.mouse) && rect.contains(input_.mouse);
}

bool Ui::click_area(Id id, const Rect& rect) {
    const bool over = hovered(rect) && (held_ == 0 || held_ == id);
    if (over && input_.pressed) held_ = id;
    return over && input_.released && held_ == id;
}

// --- drawing -------------------------------------------------------------------------------------

void Ui::fill(const Rect& rect, Ink ink, float radius) {
    draw_->AddRectFilled(upper(rect), lower(rect), theme()[ink], radius);
}

void Ui::frame(const Rect& rect, Ink ink, float radius) {
    draw_->AddRect(upper(rect), lower(rect), theme()[ink], radius, 0,
                   std::max(1.0f, std::round(px(1))));
}

void Ui::rule(float x0, float y, float x1, Ink ink) {
    const float at = std::round(y);
    draw_->AddRectFilled(ImVec2(x0, at), ImVec2(x1, at + std::max(1.0f, std::round(px(1)))),
                         theme()[ink]);
}

const TextLayout& Ui::layout_of(std::string_view words, const TextLook& look, float wrap_width) {
    TextStyle style;
    style.px = font_px(look.size);
    style.font = {look.mono ? Family::mono : Family::sans, look.bold, look.italic};
    const auto wrap = static_cast<std::uint64_t>(std::max(0.0f, wrap_width));
    const std::uint64_t key =
        make_id(words, wrap << 24 | static_cast<std::uint64_t>(style.px) << 12 |
                           static_cast<std::uint64_t>(look.max_lines) << 4 |
                           static_cast<std::uint64_t>(look.bold) << 2 |
                           static_cast<std::uint64_t>(look.italic) << 1 |
                           static_cast<std::uint64_t>(look.mono));
    CachedLayout& cached = layouts_[key];
    if (cached.last_frame == 0 || cached.layout.text.empty()) {
        LayoutOptions options;
        options.wrap_width = static_cast<float>(wrap);
        options.max_lines = wrap > 0 ? look.max_lines : 0;
        options.line_spacing = 1.4f;
        cached.layout = lay_out(fonts_, std::string(words), style, options);
    }
    cached.last_frame = frame_;
    return cached.layout;
}

float Ui::text(const Rect& rect, std::string_view words, const TextLook& look) {
    const TextLayout& layout = layout_of(words, look, rect.w);
    float x = rect.x, y = rect.y;
    if (look.align == TextLook::Align::center) x += (rect.w - layout.width) / 2;
    if (look.align == TextLook::Align::right) x += rect.w - layout.width;
    if (look.max_lines == 1) y += std::round((rect.h - layout.height) / 2);
    // A right-to-left line stands at the right edge of the wrap width by itself.
    if (!layout.lines.empty() && layout.lines.front().rtl) x = rect.x;
    draw_layout(layout, *draw_, atlas_, *theme_, ImVec2(x, y), look.ink);
    labels_.push_back({{x, y, layout.width, layout.height}, std::string(words), false});
    return layout.height;
}

ImVec2 Ui::measure(std::string_view words, const TextLook& look, float wrap_width) {
    const TextLayout& layout = layout_of(words, look, wrap_width);
    return ImVec2(std::ceil(layout.width), layout.height);
}

/// A main button; one that does nothing now is a frame, so that its sign is seen in every theme.
void Ui::fill_main(const Rect& rect, bool enabled, float radius) {
    if (enabled) return fill(rect, Ink::accent, radius);
    frame(rect, Ink::line, radius);
}

bool Ui::button(Id id, const Rect& rect, std::string_view label, const ButtonLook& look,
                Icon which) {
    const bool focused = look.enabled && look.focusable && focusable(id, rect);
    const bool over = look.enabled && hovered(rect) && (held_ == 0 || held_ == id);
    const float radius = px(6);
    if (look.filled) {
        fill_main(rect, look.enabled, radius);
    } else if (look.selected) {
        fill(rect, Ink::selected, radius);
    }
    if (over) fill(rect, Ink::hover, radius);
    if (look.outlined) frame(rect, Ink::line, radius);
    Ink ink = look.filled ? Ink::on_accent : look.ink;
    if (!look.enabled) ink = Ink::dim;
    Rect inner = {rect.x + px(8), rect.y, rect.w - px(16), rect.h};
    if (which != Icon::none) {
        const float side = std::min(px(16), rect.h);
        icon(which, {inner.x, rect.y + (rect.h - side) / 2, side, side}, ink);
        inner.x += side + px(6);
        inner.w -= side + px(6);
    }
    TextLook text_look;
    text_look.size = look.size;
    text_look.ink = ink;
    text_look.align = look.align;
    text(inner, label, text_look);
    labels_.back().rect = rect;
    labels_.back().is_button = true;
    if (over) {
        cursor = CursorShape::hand;
        if (!look.tip.empty()) tip(rect, look.tip);
    }
    if (!look.enabled) return false;
    const bool clicked = click_area(id, rect);
    const bool by_key = focused && (take_key(Key::enter) || take_key(Key::space));
    // The space that pressed the button is no text for anybody.
    if (by_key) {
        for (KeyIn& in : input_.keys) in.used = in.used || in.character == U' ';
    }
    return clicked || by_key;
}

bool Ui::icon_button(Id id, const Rect& rect, Icon which, std::string_view name,
                     const ButtonLook& look) {
    const bool focused = look.enabled && look.focusable && focusable(id, rect);
    const bool over = look.enabled && hovered(rect) && (held_ == 0 || held_ == id);
    if (look.filled) fill_main(rect, look.enabled, px(6));
    if (look.selected) fill(rect, Ink::selected, px(6));
    if (over) fill(rect, Ink::hover, px(6));
    const float side = std::min(px(16), std::min(rect.w, rect.h));
    Ink ink = look.filled ? Ink::on_accent : look.ink;
    if (!look.enabled) ink = Ink::dim;
    icon(which, {rect.x + (rect.w - side) / 2, rect.y + (rect.h - side) / 2, side, side}, ink);
    labels_.push_back({rect, std::string(name), true});
    if (over) {
        cursor = CursorShape::hand;
        tip(rect, look.tip.empty() ? name : std::string_view(look.tip));
    }
    if (!look.enabled) return false;
    const bool clicked = click_area(id, rect);
    return clicked || (focused && (take_key(Key::enter) || take_key(Key::space)));
}

void Ui::scroll_bar(Id id, const Rect& view, float content_height, ScrollState& state) {
    const float most = std::max(0.0f, content_height - view.h);
    if (hovered(view)) state.y -= input_.wheel.y * px(60);
    const float width = px(8);
    const Rect track = {view.right() - width - px(2), view.y, width, view.h};
    if (most > 0) {
        const float thumb = std::max(px(28), view.h * view.h / content_height);
        const float room = std::max(1.0f, view.h - thumb);
        Rect bar = {track.x, view.y + room * std::clamp(state.y / most, 0.0f, 1.0f), width, thumb};
        if (hovered({track.x - px(4), track.y, track.w + px(8), track.h}) && input_.pressed &&
            held_ == 0) {
            held_ = id;
            state.grab = bar.contains(ImVec2(bar.x + 1, input_.mouse.y)) ? input_.mouse.y - bar.y
                                                                         : thumb / 2;
        }
        if (held_ == id) {
            state.y = (input_.mouse.y - state.grab - view.y) / room * most;
            bar.y = std::clamp(input_.mouse.y - state.grab, view.y, view.y + room);
        }
        fill(bar, held_ == id ? Ink::dim : Ink::line, width / 2);
    }
    state.y = std::clamp(state.y, 0.0f, most);
}

void Ui::tip(const Rect& rect, std::string_view words) {
    tip_text_ = words;
    tip_rect_ = rect;
}

void Ui::draw_tip() {
    if (tip_text_.empty() || input_.down) {
        tip_last_.clear();
        return;
    }
    if (tip_text_ != tip_last_) {
        tip_last_ = tip_text_;
        tip_since_ = input_.now_s;
    }
    if (input_.now_s - tip_since_ < kTipDelayS) {
        frame_at(tip_since_ + kTipDelayS + 0.01);
        return;
    }
    TextLook look;
    look.size = 12.5f;
    look.max_lines = 0;
    const float widest = px(320);
    ImVec2 room = measure(tip_text_, look, widest);
    Rect box = {tip_rect_.x, tip_rect_.bottom() + px(6), room.x + px(16), room.y + px(8)};
    if (box.bottom() > input_.size.y) box.y = tip_rect_.y - box.h - px(6);
    box.x = std::max(px(4), std::min(box.x, input_.size.x - box.w - px(4)));
    fill(box, Ink::raised, px(5));
    frame(box, Ink::line, px(5));
    text({box.x + px(8), box.y + px(4), widest, room.y}, tip_text_, look);
}

}  // namespace hearth::gui
