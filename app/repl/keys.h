#pragma once
// Bytes of a terminal -> keys. A pure state machine: any split of the bytes gives the same keys.
// Knows the common encodings of xterm, VTE, kitty, tmux, screen and the Linux console.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::repl {

enum class Key {
    text,   ///< characters to insert; KeyEvent::text
    paste,  ///< a bracketed paste; KeyEvent::text with newlines as \n
    enter,
    newline,  ///< Ctrl+J, Alt+Enter, Shift+Enter
    tab,
    escape,
    backspace,
    erase,         ///< Delete
    erase_or_end,  ///< Ctrl+D
    left,
    right,
    up,
    down,
    word_left,
    word_right,
    line_start,
    line_end,
    text_start,
    text_end,
    older,  ///< Ctrl+P
    newer,  ///< Ctrl+N
    kill_to_end,
    kill_to_start,
    kill_word_back,   ///< Alt+Backspace: letters and digits
    kill_space_back,  ///< Ctrl+W: up to a space
    kill_word,
    yank,
    yank_pop,
    transpose,
    search_back,     ///< Ctrl+R
    search_forward,  ///< Ctrl+S
    clear_screen,
    interrupt,        ///< Ctrl+C
    external_editor,  ///< Ctrl+G, Ctrl+O, Ctrl+X Ctrl+E
    suspend,          ///< Ctrl+Z
};

struct KeyEvent {
    Key key = Key::text;
    std::string text = {};
};

class KeyDecoder {
  public:
    /// Takes bytes as they were read; appends the keys that are complete.
    void feed(std::string_view bytes, std::vector<KeyEvent>& out);
    /// A lone Escape was not followed by anything for a while: it was the key itself.
    void flush(std::vector<KeyEvent>& out);
    /// Something is held back that only more bytes or flush() resolve.
    bool pending() const { return !pending_.empty() && !in_paste_; }

  private:
    std::size_t decode(std::string_view bytes, std::vector<KeyEvent>& out);
    std::size_t decode_escape(std::string_view bytes, std::vector<KeyEvent>& out);
    std::size_t decode_csi(std::string_view bytes, std::vector<KeyEvent>& out);
    std::size_t decode_text(std::string_view bytes, std::vector<KeyEvent>& out);
    bool end_paste(std::vector<KeyEvent>& out);

    std::string pending_;      ///< bytes of an unfinished key, or the paste so far
    std::size_t scanned_ = 0;  ///< of the paste, where no end mark begins
    bool in_paste_ = false;
};

}  // namespace hearth::repl
