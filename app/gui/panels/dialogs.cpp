// What lies over the window: palette, shortcut sheet, models, settings, a link to confirm.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/gui/gui.h"
#include "app/gui/words.h"

namespace hearth::gui {
namespace {

Rect sheet(Gui& gui, float width, float height) {
    Ui& ui = gui.ui();
    const ImVec2 size = ui.in().size;
    const float w = std::min(ui.px(width), size.x - ui.px(32));
    const float h = std::min(ui.px(height), size.y - ui.px(64));
    const Rect box = {std::round((size.x - w) / 2), std::round((size.y - h) * 0.3f), w, h};
    // A click beside it closes it.
    if (ui.in().pressed && !box.contains(ui.in().mouse)) gui.close_dialog();
    ui.fill(box, Ink::raised, ui.px(12));
    ui.frame(box, Ink::line, ui.px(12));
    return {box.x + ui.px(16), box.y + ui.px(14), w - ui.px(32), h - ui.px(28)};
}

float heading(Gui& gui, const Rect& box, const char* words) {
    TextLook look;
    look.size = 17;
    look.bold = true;
    gui.ui().text({box.x, box.y, box.w, gui.ui().px(28)}, words, look);
    return box.y + gui.ui().px(38);
}

void draw_shortcuts(Gui& gui) {
    Ui& ui = gui.ui();
    const Rect box = sheet(gui, 560, 640);
    const float top = heading(gui, box, "Shortcuts");
    const Rect list = {box.x, top, box.w, box.bottom() - top};
    ui.clip_push(list);
    float y = list.y - gui.dialog_state.scroll.y;
    const float begin = y, row = ui.px(28);
    TextLook keys;
    keys.ink = Ink::dim;
    keys.align = TextLook::Align::right;
    const auto line = [&](const char* name, const char* by) {
        ui.text({list.x, y, list.w * 0.6f, row}, name);
        ui.text({list.x + list.w * 0.5f, y, list.w * 0.5f - ui.px(14), row}, by, keys);
        ui.rule(list.x, y + row - 1, list.right() - ui.px(14));
        y += row;
    };
    line("Send", gui.prefs().ctrl_enter_sends ? "Ctrl+Enter" : "Enter");
    line("New line", gui.prefs().ctrl_enter_sends ? "Enter" : "Shift+Enter");
    for (const Command& command : commands()) {
        if (*command.keys != '\0') line(command.name, command.keys);
    }
    line("Begin and end of the chat", "Ctrl+Alt+Home, Ctrl+Alt+End");
    line("Next and previous control", "Tab, Shift+Tab");
    ui.clip_pop();
    if (ui.take_key(Key::down)) gui.dialog_state.scroll.y += row;
    if (ui.take_key(Key::up)) gui.dialog_state.scroll.y -= row;
    ui.scroll_bar(make_id("sheet bar"), list, y - begin, gui.dialog_state.scroll);
}

void draw_model_dialog(Gui& gui) {
    Ui& ui = gui.ui();
    const Rect box = sheet(gui, 600, 520);
    const float top = heading(gui, box, "Model");
    TextBoxLook look;
    look.single_line = true;
    look.placeholder = "Filter by name";
    const Rect field = {box.x, top, box.w, ui.px(34)};
    DialogState& s = gui.dialog_state;
    s.accepted = s.query.show(ui, make_id("dialog query"), field, look).submitted;
    const float y = field.bottom() + ui.px(10);
    draw_models(gui, {box.x, y, box.w, box.bottom() - y});
}

void draw_settings(Gui& gui) {
    Ui& ui = gui.ui();
    Prefs& prefs = gui.prefs();
    const Rect box = sheet(gui, 540, 230);
    float y = heading(gui, box, "Settings");
    const float row = ui.px(34);
    TextLook name;
    ui.text({box.x, y, box.w, row}, "Theme", name);
    y += row;
    float x = box.x;
    for (int i = 0; i < 5; ++i) {
        const auto choice = static_cast<ThemeChoice>(i);
        ButtonLook look;
        look.outlined = true;
        look.size = 13;
        look.selected = prefs.theme == choice;
        TextLook measure_look;
        measure_look.size = 13;
        const float w = ui.measure(theme_name(choice), measure_look).x + ui.px(22);
        if (x + w > box.right()) {
            x = box.x;
            y += row;
        }
        if (ui.button(make_id("theme", static_cast<std::uint64_t>(i)), {x, y, w, ui.px(28)},
                      theme_name(choice), look)) {
            prefs.theme = choice;
        }
        x += w + ui.px(6);
    }
    y += row + ui.px(8);
    ui.text({box.x, y, box.w / 2, row}, fmt::format("Size: {:.0f} %", prefs.zoom * 100), name);
    ButtonLook small;
    small.outlined = true;
    if (ui.button(make_id("smaller"), {box.x + box.w / 2, y, ui.px(90), ui.px(28)}, "Smaller",
                  small)) {
        gui.set_zoom(prefs.zoom - 0.1f);
    }
    if (ui.button(make_id("larger"), {box.x + box.w / 2 + ui.px(98), y, ui.px(90), ui.px(28)},
                  "Larger", small)) {
        gui.set_zoom(prefs.zoom + 0.1f);
    }
    y += row + ui.px(8);
    ButtonLook toggle;
    toggle.outlined = true;
    toggle.align = TextLook::Align::left;
    if (ui.button(make_id("send key"), {box.x, y, box.w, ui.px(30)},
                  prefs.ctrl_enter_sends ? "Ctrl+Enter sends, Enter makes a line"
                                         : "Enter sends, Shift+Enter makes a line",
                  toggle, Icon::check)) {
        prefs.ctrl_enter_sends = !prefs.ctrl_enter_sends;
    }
}

void draw_presets_dialog(Gui& gui) {
    const Rect box = sheet(gui, 600, 520);
    const float top = heading(gui, box, "Prompts and settings by name");
    draw_presets(gui, {box.x, top, box.w, box.bottom() - top});
}

void draw_log_dialog(Gui& gui) {
    const Rect box = sheet(gui, 860, 620);
    const float top = heading(gui, box, "Log");
    draw_log(gui, {box.x, top, box.w, box.bottom() - top});
}

void draw_link(Gui& gui) {
    Ui& ui = gui.ui();
    const Rect box = sheet(gui, 560, 210);
    float y = heading(gui, box, "Open this address?");
    TextLook look;
    look.mono = true;
    look.size = 13.5f;
    look.max_lines = 4;
    y += ui.text({box.x, y, box.w, 0}, gui.dialog_state.link, look) + ui.px(14);
    ButtonLook main, other;
    main.filled = true;
    other.outlined = true;
    const float w = ui.px(110), h = ui.px(32);
    const std::string link = gui.dialog_state.link;
    const bool web = link.rfind("http://", 0) == 0 || link.rfind("https://", 0) == 0;
    main.enabled = web;
    if (ui.button(make_id("dialog query"), {box.x, y, w, h}, "Open", main)) {
        gui.open_link(link);
        return gui.close_dialog();
    }
    if (ui.button(make_id("link copy"), {box.x + w + ui.px(8), y, w, h}, "Copy", other)) {
        gui.close_dialog();
        return gui.copy(link, "The address is copied.");
    }
    if (ui.button(make_id("link no"), {box.x + 2 * (w + ui.px(8)), y, w, h}, "Cancel", other)) {
        gui.close_dialog();
    }
    if (!web) {
        TextLook note;
        note.ink = Ink::dim;
        note.size = 12.5f;
        ui.text({box.x, y + h + ui.px(6), box.w, ui.px(20)},
                "Only http and https addresses are opened from here.", note);
    }
}

void draw_rename(Gui& gui) {
    Ui& ui = gui.ui();
    DialogState& s = gui.dialog_state;
    const Rect box = sheet(gui, 460, 106);
    const float y = heading(gui, box, "Title of this chat");
    TextBoxLook look;
    look.single_line = true;
    const Rect field = {box.x, y, box.w - ui.px(98), ui.px(34)};
    const bool entered = s.query.show(ui, make_id("dialog query"), field, look).submitted;
    ButtonLook button;
    button.filled = true;
    const Rect save = {field.right() + ui.px(8), y, ui.px(90), ui.px(34)};
    if (!ui.button(make_id("rename save"), save, "Save", button) && !entered) return;
    if (auto done = gui.chat().set_title(s.query.buffer.text()); !done) gui.say_error(done.error());
    gui.sidebar.stale = true;
    gui.close_dialog();
}

}  // namespace

void draw_dialog(Gui& gui) {
    switch (gui.dialog()) {
        case Dialog::none:
            return;
        case Dialog::palette:
            return draw_palette(gui);
        case Dialog::shortcuts:
            return draw_shortcuts(gui);
        case Dialog::models:
            return draw_model_dialog(gui);
        case Dialog::settings:
            return draw_settings(gui);
        case Dialog::presets:
            return draw_presets_dialog(gui);
        case Dialog::log:
            return draw_log_dialog(gui);
        case Dialog::link:
            return draw_link(gui);
        case Dialog::rename:
            return draw_rename(gui);
    }
}

}  // namespace hearth::gui
