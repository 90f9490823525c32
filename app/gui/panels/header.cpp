// Above the transcript: sidebar switch, title, model, inspector switch; the find bar.

#include <algorithm>

#include "app/gui/gui.h"

namespace hearth::gui {
namespace {

void draw_find(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    const float side = ui.px(28), width = ui.px(220);
    Rect box = {area.right() - width - 3 * side - ui.px(110), area.y + ui.px(7), width, ui.px(30)};
    ui.fill(area, Ink::back);
    TextBoxLook look;
    look.single_line = true;
    look.size = 13.5f;
    look.placeholder = "Find in this chat";
    const TextBoxResult done = gui.find.box.show(ui, make_id("find"), box, look);
    if (done.changed) gui.transcript.find(gui, gui.find.box.buffer.text());
    if (done.submitted) gui.transcript.find_next(gui, -1);
    TextLook count;
    count.size = 12.5f;
    count.ink = Ink::dim;
    float x = box.right() + ui.px(8);
    ui.text({x, box.y, ui.px(90), box.h}, gui.transcript.find_status(), count);
    x += ui.px(92);
    ButtonLook small;
    if (ui.icon_button(make_id("find up"), {x, box.y, side, side}, Icon::chevron_left,
                       "Earlier match", small)) {
        gui.transcript.find_next(gui, -1);
    }
    if (ui.icon_button(make_id("find down"), {x + side, box.y, side, side}, Icon::chevron_right,
                       "Later match", small)) {
        gui.transcript.find_next(gui, 1);
    }
    if (ui.icon_button(make_id("find close"), {x + 2 * side, box.y, side, side}, Icon::cross,
                       "Close", small)) {
        gui.show_find(false);
    }
}

}  // namespace

void draw_header(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    if (gui.find.open) {
        draw_find(gui, area);
        ui.rule(area.x, area.bottom() - 1, area.right());
        return;
    }
    const float side = ui.px(30), y = area.y + (area.h - side) / 2;
    ButtonLook small;
    small.ink = Ink::dim;
    small.tip = "Chats (Ctrl+B)";
    if (ui.icon_button(make_id("sidebar"), {area.x + ui.px(8), y, side, side}, Icon::menu, "Chats",
                       small)) {
        gui.prefs().sidebar = !gui.prefs().sidebar;
    }
    small.tip = "Inspector (Ctrl+I)";
    if (ui.icon_button(make_id("inspector"), {area.right() - side - ui.px(8), y, side, side},
                       Icon::panel, "Inspector", small)) {
        gui.prefs().inspector = !gui.prefs().inspector;
    }
    const std::string model =
        gui.view().model_name.empty() ? "Choose a model" : gui.view().model_name;
    TextLook title;
    title.bold = true;
    ButtonLook button;
    button.size = 13.5f;
    button.ink = Ink::dim;
    button.tip = "Model (Ctrl+L)";
    TextLook model_look;
    model_look.size = 13.5f;
    const float model_width = std::min(ui.measure(model, model_look).x + ui.px(42), area.w * 0.45f);
    const float left = area.x + side + ui.px(20);
    const Rect pick = {area.right() - side - ui.px(16) - model_width, y, model_width, side};
    const Rect name = {left, area.y, std::max(1.0f, pick.x - left - ui.px(12)), area.h};
    ui.text(name, gui.view().chat.title.empty() ? "New chat" : gui.view().chat.title, title);
    if (ui.click_area(make_id("title"), name)) gui.rename_chat();
    if (ui.hovered(name)) ui.tip(name, "Rename (F2)");
    button.align = TextLook::Align::left;
    if (ui.button(make_id("model"), pick, model, button)) gui.open_dialog(Dialog::models);
    const float mark = ui.px(16);
    ui.icon(Icon::chevron_down,
            {pick.right() - mark - ui.px(6), pick.y + (side - mark) / 2, mark, mark}, Ink::dim);
    ui.rule(area.x, area.bottom() - 1, area.right());
}

}  // namespace hearth::gui
