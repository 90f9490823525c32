#pragma once
// A streamed answer made ready for a screen: broken at words by display columns, control characters
// inert, thinking apart from the answer. Pure: text in, bytes for the terminal out. Any split of
// the text leaves the same screen.
//
// Every character appears at once; when a word turns out too long for its row, the part that is on
// the screen already is taken back and set again on the next row. Code between ``` and words
// longer than a row are left to the terminal's own wrap, so that copying gives them whole.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::repl {

class WordWrap {
  public:
    /// 0 columns = nothing is broken, no cursor movement.
    explicit WordWrap(int columns = 0) : columns_(columns) {}

    /// Appends to `out` what shows `text` (complete UTF-8). Blank lines at the end are held back.
    void push(std::string_view text, std::string& out);
    /// The cursor goes to the begin of a row, unless it is there already.
    void finish(std::string& out);
    /// For what comes; what stands stays.
    void set_columns(int columns) { columns_ = columns; }

  private:
    void put(std::string_view bytes, std::int32_t code_point, std::string& out);
    void put_space(char c, std::string& out);
    void put_newline();
    bool make_room(int wanted, std::string& out);
    void release_newlines(std::string& out);
    void see_line_start(std::int32_t code_point);
    bool wraps() const { return columns_ > 0 && !in_code_ && !fence_line_; }
    int limit() const { return columns_ - 1; }

    int columns_;
    int column_ = 0;
    int held_newlines_ = 0;
    bool held_return_ = false;
    bool started_ = false;      ///< something visible was written
    bool row_is_full_ = false;  ///< a space stood at the edge: the next character begins a row
    std::string word_;          ///< since the last place where a break is allowed, as printed
    int word_columns_ = 0;
    bool long_word_ = false;       ///< longer than a row: the terminal wraps it
    std::string cluster_;          ///< the last one, which later code points may join
    std::int32_t last_ = 0;        ///< last code point; 0 at the begin of a row
    std::int32_t join_state_ = 0;  ///< of utf8proc
    int line_backticks_ = 0;       ///< at the begin of the line; -1 = something else came
    bool fence_line_ = false, in_code_ = false;
};

/// Takes <think> … </think> at the begin of an answer apart.
class ThinkSplitter {
  public:
    struct Piece {
        bool thinking;
        std::string text;
    };
    /// Pieces that are certain now; what may become a tag is held back.
    std::vector<Piece> push(std::string_view text);
    std::vector<Piece> finish();

  private:
    enum class Part { start, thinking, after, answer };
    bool step(bool at_end, std::vector<Piece>& out);

    Part part_ = Part::start;
    std::string held_;
};

/// Both together, with the words and styles around thinking.
class AnswerText {
  public:
    /// `dim_on`, `dim_off`: written around thinking; empty without colour.
    AnswerText(int columns, std::string dim_on, std::string dim_off)
        : wrap_(columns),
          dim_on_(std::move(dim_on)),
          dim_off_(std::move(dim_off)) {}

    /// More of the answer; returns what to write now.
    std::string push(std::string_view text);
    /// The answer is complete or was stopped: the rest, styles closed, cursor at a row's begin.
    std::string finish();
    void set_columns(int columns) { wrap_.set_columns(columns); }

  private:
    std::string show(const std::vector<ThinkSplitter::Piece>& pieces);
    void end_thinking(std::string& out);

    ThinkSplitter splitter_;
    WordWrap wrap_;
    std::string dim_on_, dim_off_;
    bool thinking_ = false;
};

}  // namespace hearth::repl
