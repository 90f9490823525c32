// The palette: commands and chats by what is typed.

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/gui.h"
#include "app/gui/words.h"
#include "app/session.h"

namespace hearth::gui {
namespace {

constexpr int kChats = 30;

struct PaletteRow {
    const Command* command = nullptr;
    const Conversation* chat = nullptr;
};

void load_chats(Gui& gui) {
    DialogState& s = gui.dialog_state;
    const std::string query = s.query.buffer.text();
    if (query == s.chats_query && !s.chats.empty()) return;
    s.chats_query = query;
    auto chats = query.empty() ? gui.chat().chats(kChats) : gui.chat().search(query, kChats);
    if (chats) s.chats = std::move(*chats);
}

std::vector<PaletteRow> rows_of(Gui& gui) {
    DialogState& s = gui.dialog_state;
    std::vector<PaletteRow> rows;
    const std::string query = lower_case(s.query.buffer.text());
    for (const Command& command : commands()) {
        if (!command.in_palette) continue;
        if (query.empty() || lower_case(command.name).find(query) != std::string::npos) {
            rows.push_back({&command, nullptr});
        }
    }
    // Without a query the chats come first: going to another chat is what most people want.
    std::vector<PaletteRow> chats;
    for (const Conversation& chat : s.chats) chats.push_back({nullptr, &chat});
    rows.insert(query.empty() ? rows.begin() : rows.end(), chats.begin(), chats.end());
    return rows;
}

}  // namespace

void draw_palette(Gui& gui) {
    Ui& ui = gui.ui();
    DialogState& s = gui.dialog_state;
    const ImVec2 size = ui.in().size;
    const float w = std::min(ui.px(620), size.x - ui.px(32)), row = ui.px(34);
    const float x = std::round((size.x - w) / 2), y = std::round(size.y * 0.12f);
    const float most = std::max(row, std::min(ui.px(460), size.y - y - ui.px(90)));
    // As high as its rows, as they were in the frame before: what is typed comes after this.
    const float rows_high = row * static_cast<float>(std::max(s.n_rows, 1));
    const float high = std::min(most, rows_high);
    const Rect box = {x, y, w, high + ui.px(66)};
    if (ui.in().pressed && !box.contains(ui.in().mouse)) return gui.close_dialog();
    ui.fill(box, Ink::raised, ui.px(12));
    ui.frame(box, Ink::line, ui.px(12));
    TextBoxLook look;
    look.single_line = true;
    look.placeholder = "Search chats and commands";
    const std::string before = s.query.buffer.text();
    const TextBoxResult done =
        s.query.show(ui, make_id("dialog query"),
                     {x + ui.px(10), y + ui.px(10), w - ui.px(20), ui.px(38)}, look);
    if (done.changed || before != s.query.buffer.text()) s.chosen = 0, s.scroll.y = 0;
    load_chats(gui);
    const std::vector<PaletteRow> rows = rows_of(gui);
    const int n = static_cast<int>(rows.size());
    if (std::exchange(s.n_rows, n) != n) ui.frame_at(ui.now());
    const Rect list = {x + ui.px(10), y + ui.px(56), w - ui.px(20), high};
    if (n > 0) {
        const int old = s.chosen;
        if (ui.take_key(Key::down)) s.chosen = (s.chosen + 1) % n;
        if (ui.take_key(Key::up)) s.chosen = (s.chosen + n - 1) % n;
        s.chosen = std::clamp(s.chosen, 0, n - 1);
        if (old != s.chosen) {
            const float at = row * static_cast<float>(s.chosen);
            s.scroll.y = std::clamp(s.scroll.y, at + row - list.h, at);
        }
    }
    if (n == 0) {
        TextLook none;
        none.ink = Ink::dim;
        ui.text({list.x + ui.px(10), list.y, list.w - ui.px(20), row}, "Nothing is called so.",
                none);
    }
    ui.clip_push(list);
    float at = list.y - s.scroll.y;
    for (int i = 0; i < n; ++i, at += row) {
        const Rect r = {list.x, at, list.w - ui.px(12), row - ui.px(2)};
        if (r.bottom() < list.y || r.y > list.bottom()) continue;
        const PaletteRow& entry = rows[static_cast<std::size_t>(i)];
        ButtonLook button;
        button.align = TextLook::Align::left;
        button.selected = i == s.chosen;
        button.focusable = false;
        Rect words = r;
        words.w -= ui.px(170);
        const std::string name = entry.command != nullptr    ? entry.command->name
                                 : entry.chat->title.empty() ? "New chat"
                                                             : entry.chat->title;
        const bool hit =
            ui.button(make_id("palette", static_cast<std::uint64_t>(i)), r, "", button) ||
            (done.submitted && i == s.chosen);
        TextLook text_look, key_look;
        key_look.size = 12.5f;
        key_look.ink = Ink::dim;
        key_look.align = TextLook::Align::right;
        ui.text({words.x + ui.px(10), words.y, words.w, words.h}, name, text_look);
        ui.text({r.right() - ui.px(176), r.y, ui.px(166), r.h},
                entry.command != nullptr ? entry.command->keys : show_time(entry.chat->updated_ms),
                key_look);
        if (!hit) continue;
        ui.clip_pop();
        gui.close_dialog();
        if (entry.chat != nullptr) return gui.open_chat(entry.chat->id);
        return entry.command->run(gui);
    }
    ui.clip_pop();
    ui.scroll_bar(make_id("palette bar"), list, row * static_cast<float>(n), s.scroll);
}

}  // namespace hearth::gui
