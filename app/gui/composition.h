#pragma once
// Composition: whether an input method is in the middle of a word. GLFW 3.3 reports a key when it
// goes down, before the input method has said that it takes it; only the character that would
// follow does not come. From that this tells which keys are the input method's, so that the Return
// that confirms a word sends no message and Backspace in it deletes nothing of the text before.
//
// A guess that is wrong costs one key: whatever is taken for the input method's Return or Escape
// ends the composition here.

#include "app/gui/input.h"

namespace hearth::gui {

class Composition {
  public:
    /// A key went down (or repeats). True: it is the input method's, nobody else may see it.
    /// `super`: with the key of the desktop, which makes no characters.
    bool take(Key key, Mods mods, bool super) {
        const bool alone = !mods.ctrl && !mods.alt && !super;
        if (!alone) {
            if (mods.ctrl && key == Key::space) letters_ = 0;  // switches the input method
            return false;
        }
        const int code = static_cast<int>(key);
        const bool prints = code >= kFirstPrinting && code < kFirstNamed;
        if (prints) {
            ++letters_;  // until its character comes
            return false;
        }
        if (letters_ == 0 || code < kFirstNamed) return false;
        switch (key) {
            case Key::enter:
            case Key::keypad_enter:
            case Key::escape:
                letters_ = 0;
                return true;
            case Key::backspace:
                --letters_;
                return true;
            case Key::tab:
            case Key::del:
            case Key::left:
            case Key::right:
            case Key::up:
            case Key::down:
            case Key::page_up:
            case Key::page_down:
            case Key::home:
            case Key::end:
                return true;
            default:
                return false;
        }
    }
    /// A character arrived: that of the key, or a word that is committed.
    void character() { letters_ = 0; }
    /// The window lost or got the keyboard.
    void reset() { letters_ = 0; }
    bool active() const { return letters_ > 0; }

  private:
    static constexpr int kFirstPrinting = 32, kFirstNamed = 256;  ///< numbers of GLFW
    int letters_ = 0;  ///< keys whose character has not come
};

}  // namespace hearth::gui
