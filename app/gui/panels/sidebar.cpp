// The chats: new, search, pinned first, then by date.

#include <algorithm>
#include <cmath>

#include "app/gui/gui.h"
#include "app/gui/words.h"
#include "app/session.h"

namespace hearth::gui {
namespace {

constexpr int kPage = 200;

void load_rows(Gui& gui) {
    SidebarState& s = gui.sidebar;
    const std::string query = s.search.buffer.text();
    if (!s.stale && query == s.shown_query) return;
    if (query != s.shown_query) s.scroll.y = 0;
    s.stale = false;
    s.shown_query = query;
    auto rows = query.empty() ? gui.chat().chats(s.wanted + 1) : gui.chat().search(query, kPage);
    if (!rows) return gui.say_error(rows.error());
    s.rows = std::move(*rows);
    s.more = query.empty() && static_cast<int>(s.rows.size()) > s.wanted;
    std::stable_sort(
        s.rows.begin(), s.rows.end(),
        [](const Conversation& a, const Conversation& b) { return a.pinned > b.pinned; });
}

void draw_row(Gui& gui, const Conversation& chat, const Rect& row) {
    Ui& ui = gui.ui();
    const bool current = chat.id == gui.view().chat.id;
    const bool over = ui.hovered(row);
    const float side = ui.px(26);
    ButtonLook look;
    look.size = 13.5f;
    look.align = TextLook::Align::left;
    look.selected = current;
    look.tip = (chat.title.empty() ? std::string("(no title)") : chat.title) + "\n" +
               show_time(chat.updated_ms);
    Rect title = row;
    // The small button lies over the row: its click is not the row's.
    const Rect remove = {row.right() - side - ui.px(2), row.y + (row.h - side) / 2, side, side};
    const bool on_button = over && remove.contains(ui.in().mouse);
    const Rect pin = {remove.x - side, remove.y, side, side};
    const bool on_pin = over && pin.contains(ui.in().mouse);
    const auto has = [&](const std::vector<ConversationId>& ids) {
        return std::find(ids.begin(), ids.end(), chat.id) != ids.end();
    };
    const ViewState& view = gui.view();
    const bool writing = has(view.writing_elsewhere) || (current && gui.chat().busy());
    const bool unread = has(view.answered_elsewhere);
    if (writing) look.tip += "\nAn answer is being written.";
    if (unread) look.tip += "\nAnswered; not looked at yet.";
    if (over) title.w -= 2 * side;
    if (!over && (writing || unread)) {
        title.w -= side;
        // A ring grows into a dot when the answer is there.
        const float r = ui.px(4), cx = row.right() - side / 2;
        const Rect mark = {cx - r, row.y + row.h / 2 - r, 2 * r, 2 * r};
        if (writing) {
            ui.frame(mark, Ink::accent, r);
        } else {
            ui.fill(mark, Ink::accent, r);
        }
    }
    const std::string words = chat.title.empty() ? "New chat" : chat.title.substr(0, 300);
    const auto part = static_cast<std::uint64_t>(chat.id);
    if (ui.button(make_id("chat", part), title, words, look,
                  chat.pinned ? Icon::pin : Icon::none) &&
        !on_button && !on_pin) {
        gui.open_chat(chat.id);
    }
    if (!over) return;
    ButtonLook small;
    small.ink = Ink::dim;
    small.focusable = false;
    if (ui.icon_button(make_id("pin chat", part), pin, Icon::pin, chat.pinned ? "Unpin" : "Pin",
                       small)) {
        return gui.pin_chat(chat.id, !chat.pinned);
    }
    if (ui.icon_button(make_id("delete chat", part), remove, Icon::trash, "Delete chat", small)) {
        gui.remove_chat(chat.id);
    }
}

}  // namespace

void draw_sidebar(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    SidebarState& s = gui.sidebar;
    ui.fill(area, Ink::side);
    ui.fill({area.right() - 1, area.y, 1, area.h}, Ink::line);
    const float pad = ui.px(10), line = ui.px(32);
    Rect row = {area.x + pad, area.y + pad, area.w - 2 * pad, line};
    ButtonLook fresh;
    fresh.outlined = true;
    fresh.align = TextLook::Align::left;
    fresh.tip = "Ctrl+N";
    if (ui.button(make_id("new chat"), row, "New chat", fresh, Icon::plus)) gui.new_chat();
    row.y += line + ui.px(8);
    TextBoxLook look;
    look.single_line = true;
    look.size = 13.5f;
    look.placeholder = "Search";
    s.search.show(ui, make_id("sidebar search"), row, look);
    if (ui.focus() == make_id("sidebar search") && !s.search.buffer.text().empty() &&
        ui.take_key(Key::escape)) {
        s.search.buffer.set_text("");
    }
    load_rows(gui);
    const float top = row.bottom() + ui.px(8);
    const Rect list = {area.x, top, area.w - 1, area.bottom() - top};
    ui.clip_push(list);
    float y = list.y - s.scroll.y;
    const float begin = y, height = ui.px(30), head = ui.px(28);
    std::string group;
    const std::int64_t now = unix_ms();
    TextLook group_look;
    group_look.size = 12;
    group_look.ink = Ink::dim;
    const std::size_t shown = std::min(s.rows.size(), static_cast<std::size_t>(s.wanted));
    for (std::size_t i = 0; i < shown; ++i) {
        const Conversation& chat = s.rows[i];
        const std::string own = chat.pinned ? "Pinned" : date_group(chat.updated_ms, now);
        if (own != group) {
            group = own;
            if (y + head > list.y && y < list.bottom()) {
                ui.text({area.x + ui.px(18), y + ui.px(4), area.w - 2 * pad, head - ui.px(4)},
                        group, group_look);
            }
            y += head;
        }
        if (y + height > list.y && y < list.bottom()) {
            draw_row(gui, chat, {area.x + pad, y, area.w - 2 * pad - ui.px(4), height - ui.px(2)});
        }
        y += height;
    }
    if (s.rows.empty() && !s.shown_query.empty()) {
        ui.text({area.x + ui.px(18), y, area.w, height}, "Nothing contains this.", group_look);
    }
    ui.clip_pop();
    ui.scroll_bar(make_id("sidebar bar"), list, y - begin, s.scroll);
    if (s.more && s.scroll.y + list.h > y - begin - ui.px(200)) {
        s.wanted += kPage;
        s.stale = true;
        ui.frame_at(ui.now());
    }
}

}  // namespace hearth::gui
