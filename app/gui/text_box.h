#pragma once
// TextBox: an editor on the screen: EditBuffer + layout + keys + pointer. The composer, search
// fields and the system prompt are text boxes. Knows no chat.

#include <string>

#include "app/gui/text/edit_buffer.h"
#include "app/gui/ui.h"

namespace hearth::gui {

struct TextBoxLook {
    float size = 15;
    bool mono = false;
    bool single_line = false;
    bool framed = true;
    std::string placeholder = {};
    /// Enter is left to the caller (Shift+Enter makes a line); false: Enter makes a line.
    bool enter_submits = true;
    std::size_t paste_limit = 0;  ///< a longer paste is handed out instead; 0 = none
};

struct TextBoxResult {
    bool changed = false;
    bool submitted = false;        ///< Enter
    std::string large_paste = {};  ///< what was longer than paste_limit
};

class TextBox {
  public:
    EditBuffer buffer;

    /// Draws and edits. Takes keys only when it has the focus.
    TextBoxResult show(Ui& ui, Id id, const Rect& rect, const TextBoxLook& look);
    /// Height that the text wants at this width, at most `max_lines` lines.
    float wanted_height(Ui& ui, float width, const TextBoxLook& look, int max_lines);

  private:
    void refresh(Ui& ui, float width, const TextBoxLook& look);
    void keys(Ui& ui, const TextBoxLook& look, TextBoxResult& result);
    bool command_key(Ui& ui, const KeyIn& in, const TextBoxLook& look, TextBoxResult& result);
    bool move_key(const KeyIn& in, const TextBoxLook& look);
    void move_vertical(int lines, bool select);
    void paste(const std::string& text, const TextBoxLook& look, TextBoxResult& result);
    void pointer(Ui& ui, Id id, const Rect& inner);
    void draw(Ui& ui, const Rect& rect, const Rect& inner, const TextBoxLook& look, bool focused);
    Rect inner_of(Ui& ui, const Rect& rect, const TextBoxLook& look) const;

    TextLayout layout_;
    std::uint64_t laid_revision_ = ~0ull;
    float laid_width_ = -1;
    int laid_px_ = 0;
    float scroll_x_ = 0, scroll_y_ = 0;
    float goal_x_ = -1;
    std::size_t shown_caret_ = ~std::size_t{0};  ///< that was scrolled into view
};

}  // namespace hearth::gui
