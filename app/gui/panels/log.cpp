// The log: what the engine and the window said since the program began.

#include <algorithm>

#include "app/gui/gui.h"
#include "app/log_file.h"

namespace hearth::gui {

void draw_log(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    ScrollState& scroll = gui.dialog_state.scroll;
    std::string all;
    for (const std::string& line : recent_log()) all += line + '\n';
    if (!all.empty()) all.pop_back();
    const float button = ui.px(30);
    const Rect list = {area.x, area.y, area.w, area.h - button - ui.px(10)};
    TextLook look;
    look.mono = true;
    look.size = 12.5f;
    look.max_lines = 0;
    const std::string shown = all.empty() ? "Nothing was logged yet." : all;
    const float width = list.w - ui.px(14);
    const float high = ui.measure(shown, look, width).y;
    // Opened at its end: the newest is what one looks for.
    if (!std::exchange(gui.dialog_state.accepted, true)) scroll.y = high;
    if (ui.take_key(Key::down)) scroll.y += ui.px(40);
    if (ui.take_key(Key::up)) scroll.y -= ui.px(40);
    if (ui.take_key(Key::page_down)) scroll.y += list.h;
    if (ui.take_key(Key::page_up)) scroll.y -= list.h;
    scroll.y = std::clamp(scroll.y, 0.0f, std::max(0.0f, high - list.h));
    ui.clip_push(list);
    ui.text({list.x, list.y - scroll.y, width, high}, shown, look);
    ui.clip_pop();
    ui.scroll_bar(make_id("log bar"), list, high, scroll);
    ButtonLook copy;
    copy.outlined = true;
    copy.size = 13;
    if (ui.button(make_id("dialog query"), {area.x, area.bottom() - button, ui.px(100), button},
                  "Copy all", copy)) {
        gui.copy(all, "The log is copied.");
    }
}

}  // namespace hearth::gui
