// The transcript's place: which items are visible, how high they are, where the reader stands.

#include "app/gui/panels/transcript.h"

#include <algorithm>
#include <cmath>

#include "app/gui/panels/transcript_frame.h"

namespace hearth::gui {
namespace {

constexpr float kColumn = 780;  ///< widest, at scale 1
constexpr std::size_t kMaxViews = 400;

}  // namespace

bool Transcript::is_user(const Frame& f, std::size_t index) const {
    const StoredMessage* message = f.message(index);
    return message != nullptr && message->role != "assistant";
}

MessageLook Transcript::look_of(const Frame& f, std::size_t index, bool thinking) const {
    MessageLook look;
    look.scale = f.ui.px(1);
    look.px = f.ui.font_px(thinking ? 14 : 15);
    look.plain = is_user(f, index);
    look.dim = thinking;
    look.width = f.column.w;
    if (look.plain) look.width = std::floor(f.column.w * 0.86f - f.ui.px(2 * kBubblePad));
    if (thinking) look.width -= f.ui.px(18);
    return look;
}

float Transcript::extra_height(const Frame& f, std::size_t index, const ItemView& view) const {
    float height = kItemGap + kActionRow;
    if (f.unseen_ends_at(index)) height += kUnseenRow;
    if (is_user(f, index)) height += 2 * kBubblePad + (view.cut ? kThinkingRow : 0);
    if (!view.thinking.source().empty()) height += kThinkingRow;
    if (!view.error.empty()) height += 30;
    return f.ui.px(height) + (view.thinking_shown ? view.thinking.height() + f.ui.px(8) : 0);
}

/// Height of an item that was never laid out: from its length.
float Transcript::estimate(const Frame& f, std::size_t index) const {
    const auto px = static_cast<float>(f.ui.font_px(15));
    const float per_line = std::max(10.0f, f.column.w / (px * 0.48f));
    const float lines = std::ceil(static_cast<float>(items_[index].bytes) / per_line) + 0.5f;
    return lines * px * 1.5f + f.ui.px(kItemGap + kActionRow);
}

void Transcript::sync(Frame& f) {
    const std::vector<StoredMessage>& messages = f.view.messages;
    const std::size_t n = messages.size() + (f.streaming ? 1 : 0);
    const bool other_chat = chat_ != f.view.chat.id;
    if (other_chat) {
        chat_ = f.view.chat.id;
        views_.clear();
        items_.clear();
        selection_.reset();
        found_.clear();
        follow_ = true;
        top_ = 0;
        offset_ = 0;
    }
    const bool resized = width_ != f.column.w || scale_ != f.ui.px(1);
    width_ = f.column.w;
    scale_ = f.ui.px(1);
    // The answer that was being written has its row now: keep what was laid out.
    if (!f.streaming && items_.size() == messages.size() && !items_.empty() &&
        items_.back().id == 0) {
        if (auto live = views_.extract(0); !live.empty()) {
            live.key() = messages.back().id;
            live.mapped()->facts_known = false;
            views_.insert(std::move(live));
        }
    }
    items_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        Item& item = items_[i];
        const bool live = i >= messages.size();
        const MessageId id = live ? 0 : messages[i].id;
        const std::size_t bytes = live ? f.view.answer.size() : messages[i].content.size();
        if (!resized && item.height > 0 && item.id == id && item.bytes == bytes) continue;
        item.exact = false;
        item.id = id;
        item.bytes = bytes;
        if (item.height <= 0 || resized) item.height = estimate(f, i);
    }
    if (const std::size_t end = f.view.unseen_end; end != unseen_end_) {
        for (const std::size_t i : {end, unseen_end_}) {
            if (i < n) items_[i].exact = false;
        }
        unseen_end_ = end;
    }
    if (top_ >= n) top_ = n == 0 ? 0 : n - 1;
}

Transcript::ItemView& Transcript::ensure(Frame& f, std::size_t index) {
    Item& item = items_[index];
    std::unique_ptr<ItemView>& slot = views_[item.id];
    if (!slot) slot = std::make_unique<ItemView>();
    ItemView& view = *slot;
    if (item.exact && view.last_frame == frame_) return view;
    view.last_frame = frame_;
    const StoredMessage* message = f.message(index);
    const bool live = message == nullptr;
    const std::string& content = live ? f.view.answer : message->content;
    ThinkingSplit split{{}, content, false};
    if (!is_user(f, index)) split = split_thinking(content);
    if (message != nullptr && !message->reasoning.empty()) split.thinking = message->reasoning;
    std::string_view body = split.answer;
    view.cut = is_user(f, index) && body.size() > kFoldBytes;
    if (view.cut && !view.all_shown) body = body.substr(0, body.rfind('\n', kFoldBytes / 2));
    if (body.size() > kFoldBytes && view.cut && !view.all_shown)
        body = body.substr(0, kFoldBytes / 2);
    const std::size_t before = view.body.pieces_laid_out() + view.thinking.pieces_laid_out();
    view.body.update(f.ui.fonts(), body, look_of(f, index, false), live && !split.open);
    view.thinking.update(f.ui.fonts(),
                         view.thinking_shown ? split.thinking : split.thinking.substr(0, 1),
                         look_of(f, index, true), live && split.open);
    layouts_made_ += view.body.pieces_laid_out() + view.thinking.pieces_laid_out() - before;
    if (!view.facts_known && message != nullptr) learn_facts(f, index, view);
    item.height = view.body.height() + extra_height(f, index, view);
    item.exact = true;
    return view;
}

void Transcript::learn_facts(Frame& f, std::size_t index, ItemView& view) {
    const StoredMessage& message = *f.message(index);
    view.facts_known = true;
    view.footer = message.role == "assistant" ? stats_line(message.stats_json) : "";
    view.error = message.state == MessageState::failed ? error_of(message.stats_json) : "";
}

void Transcript::scroll_by(float pixels) {
    wheel_ += pixels;
    if (pixels < 0) follow_ = false;
}

void Transcript::scroll_to_begin() {
    follow_ = false;
    top_ = 0;
    offset_ = 0;
}

/// Stands at the end: measured upwards from the last item.
void Transcript::settle_from_end(Frame& f) {
    float room = f.area.h;
    std::size_t i = items_.size();
    while (i > 0 && room > 0) {
        ensure(f, --i);
        room -= items_[i].height;
    }
    top_ = i;
    offset_ = std::max(0.0f, -room);
}

/// Applies scrolling and keeps top_ and offset_ inside the chat.
void Transcript::settle(Frame& f) {
    if (items_.empty()) return;
    if (follow_ && wheel_ >= 0) {
        wheel_ = 0;
        settle_from_end(f);
        return;
    }
    offset_ += wheel_;
    wheel_ = 0;
    ensure(f, top_);
    while (offset_ < 0 && top_ > 0) {
        ensure(f, --top_);
        offset_ += items_[top_].height;
    }
    offset_ = std::max(offset_, 0.0f);
    while (offset_ >= items_[top_].height && top_ + 1 < items_.size()) {
        offset_ -= items_[top_].height;
        ensure(f, ++top_);
    }
    float below = -offset_;
    for (std::size_t i = top_; i < items_.size() && below < f.area.h; ++i) {
        ensure(f, i);
        below += items_[i].height;
    }
    follow_ = below <= f.area.h + 1;
    if (follow_) settle_from_end(f);
}

void Transcript::prune() {
    if (views_.size() <= kMaxViews) return;
    std::erase_if(views_, [this](const auto& entry) {
        return entry.first != 0 && entry.second->last_frame + 60 < frame_ &&
               !entry.second->thinking_shown && !entry.second->all_shown;
    });
}

void Transcript::scroll_bar(Frame& f) {
    double before = offset_, total = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (i < top_) before += static_cast<double>(items_[i].height);
        total += static_cast<double>(items_[i].height);
    }
    const auto view_height = static_cast<double>(f.area.h);
    if (total <= view_height) return;
    const double most = total - view_height;
    ScrollState state;
    const double shown = follow_ ? most : before;
    // The bar works on a scale that fits a float.
    state.y = static_cast<float>(shown);
    state.grab = grab_;
    const float old = state.y;
    const ImVec2 wheel = f.ui.in().wheel;
    f.ui.in().wheel = ImVec2(0, 0);
    const Id id = make_id("transcript bar");
    f.ui.scroll_bar(id, f.area, static_cast<float>(total), state);
    f.ui.in().wheel = wheel;
    grab_ = state.grab;
    if (!f.ui.is_held(id) || std::fabs(state.y - old) < 0.5f) return;
    // To where the bar was taken.
    double left = static_cast<double>(state.y);
    std::size_t i = 0;
    while (i + 1 < items_.size() && left > static_cast<double>(items_[i].height)) {
        left -= static_cast<double>(items_[i].height);
        ++i;
    }
    top_ = i;
    offset_ = static_cast<float>(left);
    follow_ = static_cast<double>(state.y) >= most - 1;
    f.ui.frame_at(f.ui.now());
}

void Transcript::draw(Gui& gui, const Rect& area) {
    ++frame_;
    Ui& ui = gui.ui();
    const float width = std::min(ui.px(kColumn), area.w - ui.px(48));
    Frame f{gui, ui, gui.chat().view(), area, {}, false};
    f.column = {std::round(area.x + (area.w - width) / 2), area.y, std::floor(width), area.h};
    f.streaming = gui.chat().busy();
    viewport_ = area.h;
    sync(f);
    if (ui.hovered(area) && ui.in().wheel.y != 0) scroll_by(-ui.in().wheel.y * ui.px(64));
    settle(f);
    ui.clip_push(area);
    draw_items(f);
    end_selection(f);
    ui.clip_pop();
    scroll_bar(f);
    prune();
    if (follow_ || items_.empty()) return;
    const float side = ui.px(34);
    const Rect jump = {area.x + area.w / 2 - side / 2, area.bottom() - side - ui.px(10), side,
                       side};
    ui.fill(jump, Ink::raised, side / 2);
    ui.frame(jump, Ink::line, side / 2);
    ButtonLook look;
    look.focusable = false;
    if (ui.icon_button(make_id("jump"), jump, Icon::arrow_down, "Jump to the end", look)) {
        jump_to_end();
        ui.frame_at(ui.now());
    }
}

}  // namespace hearth::gui
