#pragma once
// InputLine: the thin layer between LineEdit and Terminal. Draws the line, reads keys, runs the
// external editor; on terminals without cursor movement it reads plain lines. Also watches the
// keyboard while an answer is written.

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "app/repl/keys.h"
#include "app/repl/line_edit.h"
#include "app/repl/terminal.h"

namespace hearth::repl {

struct InputStyle {
    std::string prompt = ">>> ";
    std::string continuation = "... ";
    std::string placeholder;  ///< shown in an empty line; needs `dim_on`
    std::string dim_on, dim_off;
};

class InputLine {
  public:
    enum class Kind {
        line,
        interrupted,  ///< Ctrl+C at an empty line
        end,          ///< Ctrl+D at an empty line, or the input is closed
        killed,       ///< SIGTERM or SIGHUP
    };
    struct Read {
        Kind kind;
        std::string text;
        bool literal = false;  ///< pasted: never a command
        bool touched = false;  ///< some key came before Ctrl+C
        int signal = 0;        ///< of killed
    };

    /// `editor`: command for Ctrl+G, "" = none is set. `history` must outlive this object.
    InputLine(Terminal& terminal, InputStyle style, const std::vector<std::string>* history,
              Completer complete, std::string editor);

    /// While a line is awaited: `look` is asked about once a second; when it says yes, `tell`
    /// writes above the line.
    void watch_for_news(std::function<bool()> look, std::function<void()> tell) {
        look_ = std::move(look);
        tell_ = std::move(tell);
    }
    void set_placeholder(std::string text) { style_.placeholder = std::move(text); }
    /// Reads one line, beginning with `text`.
    Read read(const std::string& text = {}, bool literal = false);

    struct Watched {
        bool stop = false;    ///< Ctrl+C
        bool events = false;  ///< `event_fd` is readable
        bool resized = false;
        bool resumed = false;
        int signal = 0;  ///< SIGTERM, SIGHUP
    };
    /// While an answer is written: waits for the engine or a key. What is typed is kept for the
    /// next line; Ctrl+C throws it away.
    Watched watch(int event_fd, int timeout_ms);

  private:
    Read read_plain();
    Read run_line(const std::string& text, bool literal);
    bool next_keys(Read& ended);
    bool act(LineEdit::Outcome outcome, Read& ended);
    void edit_outside();
    void list_candidates();
    void draw();
    std::vector<std::string> visible_rows(int* cursor_row, std::string* before_cursor,
                                          int* cursor_column);
    void leave_line();
    void forget_drawing();
    void erase_drawing();
    void after_resize();
    void say_below(const std::string& text);

    Terminal& terminal_;
    InputStyle style_;
    LineEdit edit_;
    std::string editor_;
    std::function<bool()> look_;
    std::function<void()> tell_;
    KeyDecoder decoder_;
    std::deque<KeyEvent> keys_;  ///< typed ahead, or not acted on yet
    std::string plain_bytes_;    ///< of unfinished plain lines
    bool closed_ = false;

    std::vector<std::string> drawn_;  ///< rows on the screen, as bytes
    std::vector<int> drawn_columns_;  ///< and their widths
    int cursor_row_ = 0, cursor_column_ = 0;
    int columns_ = 80;    ///< at the last drawing
    int top_ = 0;         ///< first row of a text that is taller than the screen
    bool quiet_ = false;  ///< no placeholder: the line is being left
};

}  // namespace hearth::repl
