// The table of commands: key, palette and shortcut sheet show the same rows.

#include "app/gui/gui.h"

namespace hearth::gui {
namespace {

constexpr Mods kNone = {}, kCtrl = {false, true, false}, kCtrlShift = {true, true, false},
               kAlt = {false, false, true}, kShift = {true, false, false};

void next_theme(Gui& gui) {
    const int n = static_cast<int>(gui.prefs().theme) + 1;
    gui.prefs().theme = static_cast<ThemeChoice>(n % 5);
    gui.toast(std::string("Theme: ") + theme_name(gui.prefs().theme));
}

void last_version(Gui& gui, int direction) {
    const auto& messages = gui.view().messages;
    if (!messages.empty()) gui.show_version(messages.back().id, direction);
}

}  // namespace

const std::vector<Command>& commands() {
    static const std::vector<Command> rows = {
        {"New chat", "Ctrl+N", Key::n, kCtrl, [](Gui& g) { g.new_chat(); }},
        {"New chat", "Ctrl+Shift+O", Key::o, kCtrlShift, [](Gui& g) { g.new_chat(); }, false},
        {"Search chats and commands", "Ctrl+K", Key::k, kCtrl,
         [](Gui& g) { g.open_dialog(Dialog::palette); }, false},
        {"Find in this chat", "Ctrl+F", Key::f, kCtrl, [](Gui& g) { g.show_find(true); }},
        {"Choose a model", "Ctrl+L", Key::l, kCtrl, [](Gui& g) { g.open_dialog(Dialog::models); }},
        {"Regenerate the answer", "Ctrl+R", Key::r, kCtrl, [](Gui& g) { g.regenerate(); }},
        {"Continue the answer", "Alt+Enter", Key::enter, kAlt, [](Gui& g) { g.continue_last(); }},
        {"Edit the last question", "↑ in an empty composer", Key::none, kNone,
         [](Gui& g) { g.edit_last(); }},
        {"Earlier version of the last answer", "Alt+←", Key::left, kAlt,
         [](Gui& g) { last_version(g, -1); }},
        {"Later version of the last answer", "Alt+→", Key::right, kAlt,
         [](Gui& g) { last_version(g, 1); }},
        {"Take back the last question", "Ctrl+Shift+Z", Key::z, kCtrlShift,
         [](Gui& g) {
             // In the composer these keys bring back what Ctrl+Z took.
             if (g.ui().focus() == composer_id() && g.composer.box.buffer.redo()) return;
             g.take_back();
         }},
        {"Rename this chat", "F2", Key::f2, kNone, [](Gui& g) { g.rename_chat(); }},
        {"Stop", "Esc", Key::none, kNone, [](Gui& g) { g.stop(); }},
        {"Copy the last answer", "Ctrl+Shift+C", Key::c, kCtrlShift,
         [](Gui& g) { g.copy_last_answer(false); }},
        {"Copy the last code", "Ctrl+Shift+;", Key::semicolon, kCtrlShift,
         [](Gui& g) { g.copy_last_answer(true); }},
        {"Branch into a new chat", "", Key::none, kNone,
         [](Gui& g) {
             if (!g.view().messages.empty()) g.branch(g.view().messages.back().id);
         }},
        {"Pin or unpin this chat", "", Key::none, kNone,
         [](Gui& g) { g.pin_chat(g.view().chat.id, !g.view().chat.pinned); }},
        {"Delete this chat", "Ctrl+Shift+D", Key::d, kCtrlShift,
         [](Gui& g) { g.remove_chat(g.view().chat.id); }},
        {"Show or hide the chats", "Ctrl+B", Key::b, kCtrl,
         [](Gui& g) { g.prefs().sidebar = !g.prefs().sidebar; }},
        {"Show or hide the inspector", "Ctrl+I", Key::i, kCtrl,
         [](Gui& g) { g.prefs().inspector = !g.prefs().inspector; }},
        {"Settings", "Ctrl+,", Key::comma, kCtrl, [](Gui& g) { g.open_dialog(Dialog::settings); }},
        {"Prompts and settings by name", "Ctrl+P", Key::p, kCtrl,
         [](Gui& g) { g.open_dialog(Dialog::presets); }},
        {"Log", "", Key::none, kNone, [](Gui& g) { g.open_dialog(Dialog::log); }},
        {"Larger", "Ctrl++", Key::equal, kCtrl, [](Gui& g) { g.set_zoom(g.prefs().zoom + 0.1f); }},
        {"Larger", "", Key::equal, kCtrlShift, [](Gui& g) { g.set_zoom(g.prefs().zoom + 0.1f); },
         false},
        {"Larger", "", Key::keypad_add, kCtrl, [](Gui& g) { g.set_zoom(g.prefs().zoom + 0.1f); },
         false},
        {"Smaller", "Ctrl+-", Key::minus, kCtrl, [](Gui& g) { g.set_zoom(g.prefs().zoom - 0.1f); }},
        {"Smaller", "", Key::keypad_subtract, kCtrl,
         [](Gui& g) { g.set_zoom(g.prefs().zoom - 0.1f); }, false},
        {"Usual size", "Ctrl+0", Key::digit0, kCtrl, [](Gui& g) { g.set_zoom(1); }},
        {"Next theme", "", Key::none, kNone, next_theme},
        {"Go to the composer", "Shift+Esc", Key::escape, kShift, [](Gui& g) { g.focus_composer(); },
         false},
        {"Shortcuts", "F1", Key::f1, kNone, [](Gui& g) { g.open_dialog(Dialog::shortcuts); }},
        {"Shortcuts", "Ctrl+/", Key::slash, kCtrl, [](Gui& g) { g.open_dialog(Dialog::shortcuts); },
         false},
        {"Quit", "Ctrl+Q", Key::q, kCtrl, [](Gui& g) { g.quit_wanted = true; }},
    };
    return rows;
}

}  // namespace hearth::gui
