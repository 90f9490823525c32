// Prompts and presets: what is kept under a name, what new chats of this model begin with.

#include <algorithm>

#include "app/gui/gui.h"
#include "app/gui/words.h"

namespace hearth::gui {
namespace {

struct Row {
    Kept kind;
    NamedText named;
};

std::vector<Row> rows_of(Gui& gui) {
    std::vector<Row> rows;
    const std::string query = lower_case(gui.dialog_state.query.buffer.text());
    for (const Kept kind : {Kept::prompt, Kept::preset}) {
        auto all = gui.chat().named(kind);
        if (!all) {
            gui.say_error(all.error());
            continue;
        }
        for (NamedText& one : *all) {
            if (query.empty() || lower_case(one.name).find(query) != std::string::npos) {
                rows.push_back({kind, std::move(one)});
            }
        }
    }
    return rows;
}

/// True when the dialog is over.
bool draw_row(Gui& gui, const Row& row, std::uint64_t part, const Rect& area) {
    Ui& ui = gui.ui();
    const float side = ui.px(30), pad = ui.px(12);
    const Rect main = {area.x, area.y, area.w - 2 * side - ui.px(8), area.h};
    ButtonLook look;
    look.tip = row.named.text.substr(0, 600);
    const bool used = ui.button(make_id("kept", part), main, "", look);
    TextLook kind, text;
    kind.size = text.size = 12.5f;
    kind.ink = text.ink = Ink::dim;
    kind.align = TextLook::Align::right;
    const float half = main.h / 2;
    ui.text({main.x + pad, main.y + ui.px(3), main.w * 0.7f, half - ui.px(2)}, row.named.name);
    ui.text({main.x + main.w * 0.7f, main.y + ui.px(3), main.w * 0.3f - pad, half - ui.px(2)},
            row.kind == Kept::prompt ? "prompt" : "settings", kind);
    std::string first = row.named.text.substr(0, 300);
    std::replace(first.begin(), first.end(), '\n', ' ');
    ui.text({main.x + pad, main.y + half, main.w - 2 * pad, half - ui.px(3)}, first, text);
    const auto now = gui.chat().model_default(row.kind);
    const bool is_default = now && *now == row.named.name;
    ButtonLook small;
    small.ink = is_default ? Ink::accent : Ink::dim;
    small.selected = is_default;
    const float y = area.y + (area.h - side) / 2;
    if (ui.icon_button(make_id("kept default", part), {main.right() + ui.px(4), y, side, side},
                       Icon::pin,
                       is_default ? "New chats of this model begin without it"
                                  : "New chats of this model begin with it",
                       small)) {
        const auto done = gui.chat().set_model_default(row.kind, is_default ? "" : row.named.name);
        if (!done) gui.say_error(done.error());
    }
    small.ink = Ink::dim;
    small.selected = false;
    if (ui.icon_button(make_id("kept remove", part),
                       {main.right() + side + ui.px(6), y, side, side}, Icon::trash,
                       "Remove " + row.named.name, small)) {
        if (auto done = gui.chat().remove_named(row.kind, row.named.name); !done)
            gui.say_error(done.error());
    }
    if (!used) return false;
    if (auto done = gui.chat().use_named(row.kind, row.named.name); !done) {
        gui.say_error(done.error());
    } else {
        gui.toast(row.named.name + " is in force for this chat.");
    }
    return true;
}

void save(Gui& gui, Kept kind) {
    DialogState& s = gui.dialog_state;
    const std::string name = s.query.buffer.text();
    if (auto done = gui.chat().save_named(kind, name); !done) {
        s.problem = done.error().what;
        return;
    }
    s.problem.clear();
    s.query.buffer.set_text("");
    gui.ui().frame_at(gui.ui().now());
}

}  // namespace

void draw_presets(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    DialogState& s = gui.dialog_state;
    TextBoxLook look;
    look.single_line = true;
    look.placeholder = "Name";
    const float line = ui.px(34), button = ui.px(118), gap = ui.px(8);
    const Rect field = {area.x, area.y, area.w - 2 * (button + gap), line};
    s.query.show(ui, make_id("dialog query"), field, look);
    ButtonLook keep;
    keep.outlined = true;
    keep.size = 13;
    if (ui.button(make_id("keep prompt"), {field.right() + gap, area.y, button, line},
                  "Keep prompt", keep)) {
        save(gui, Kept::prompt);
    }
    if (ui.button(make_id("keep settings"),
                  {field.right() + 2 * gap + button, area.y, button, line}, "Keep settings",
                  keep)) {
        save(gui, Kept::preset);
    }
    float y = field.bottom() + gap;
    TextLook note;
    note.size = 12.5f;
    note.max_lines = 0;
    note.ink = s.problem.empty() ? Ink::dim : Ink::error;
    y += ui.text({area.x, y, area.w, 0},
                 s.problem.empty() ? "Keeps this chat's system prompt or settings under the name. "
                                     "The pin: new chats of this model begin with it."
                                   : s.problem,
                 note) +
         gap;
    const std::vector<Row> rows = rows_of(gui);
    const Rect list = {area.x, y, area.w, area.bottom() - y};
    const float height = ui.px(46);
    ui.clip_push(list);
    float at = list.y - s.scroll.y;
    bool over = false;
    for (std::size_t i = 0; i < rows.size() && !over; ++i, at += height) {
        const Rect row = {list.x, at, list.w - ui.px(12), height - ui.px(4)};
        if (row.bottom() < list.y || row.y > list.bottom()) continue;
        over = draw_row(gui, rows[i], i, row);
    }
    ui.clip_pop();
    ui.scroll_bar(make_id("kept bar"), list, height * static_cast<float>(rows.size()), s.scroll);
    if (over) gui.close_dialog();
}

}  // namespace hearth::gui
