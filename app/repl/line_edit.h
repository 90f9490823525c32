#pragma once
// LineEdit: the state of the input line (text, cursor, kill ring, walk through the history, search,
// completion) and what each key does to it. Pure: no terminal, no files. Text is valid UTF-8 and
// may hold newlines; the cursor is a byte position between grapheme clusters.

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/repl/keys.h"

namespace hearth::repl {

/// What Tab offers: `candidates` replace the text from `begin` to the cursor.
struct Completion {
    std::size_t begin = 0;
    std::vector<std::string> candidates;
};
using Completer = std::function<Completion(std::string_view text, std::size_t cursor)>;

class LineEdit {
  public:
    /// What the caller has to do after a key.
    enum class Outcome {
        editing,  ///< draw
        accepted,
        interrupted,  ///< Ctrl+C; the text is as it was
        end_of_input,
        clear_screen,
        open_editor,
        suspend,
        list_candidates,  ///< show candidates() below the line
    };

    /// `history` oldest first; it must outlive this object and stay the same between begin() and
    /// the end of the line.
    explicit LineEdit(const std::vector<std::string>* history, Completer complete = {});

    /// A new line. `literal`: the text came from outside, so it is no command.
    void begin(std::string text = {}, bool literal = false);
    Outcome handle(const KeyEvent& event);
    /// The text came back from the external editor.
    void replace(std::string text);
    /// Empties the line and remembers nothing of it but the kill ring.
    void clear();

    const std::string& text() const { return text_; }
    std::size_t cursor() const { return cursor_; }
    /// The first character was pasted: never a command.
    bool literal() const { return literal_; }
    const std::vector<std::string>& candidates() const { return candidates_; }
    /// Prompt of a running Ctrl+R search, or "".
    std::string search_prompt() const;

  private:
    Outcome handle_search(const KeyEvent& event);
    Outcome enter();
    bool handle_move(Key key);
    bool handle_edit(Key key);
    void insert(std::string_view text, bool pasted);
    void erase(std::size_t begin, std::size_t end);
    void kill(std::size_t begin, std::size_t end, bool backward);
    void yank();
    void yank_pop();
    void transpose();
    void move_rows(int rows);
    void recall(std::size_t index);
    void older();
    void newer();
    Outcome complete();
    void find(bool forward, std::size_t from);

    std::size_t line_start(std::size_t pos) const;
    std::size_t line_end(std::size_t pos) const;
    std::size_t word_left(std::size_t pos) const;
    std::size_t word_right(std::size_t pos) const;
    std::size_t space_left(std::size_t pos) const;

    const std::vector<std::string>* history_;
    Completer complete_;

    std::string text_;
    std::size_t cursor_ = 0;
    bool literal_ = false;
    int wanted_column_ = -1;  ///< kept while moving up and down; -1 = none

    std::vector<std::string> kills_;  ///< newest last
    bool last_was_kill_ = false;
    std::size_t yank_begin_ = 0, yank_index_ = 0;
    bool last_was_yank_ = false;

    std::size_t history_index_ = 0;              ///< history_->size() = the new line
    std::map<std::size_t, std::string> edited_;  ///< lines changed on the walk, by index

    bool searching_ = false;
    bool search_failed_ = false;
    std::string query_, before_search_;
    std::size_t cursor_before_search_ = 0;
    std::size_t found_ = 0;  ///< index in the history

    std::vector<std::string> candidates_;
};

}  // namespace hearth::repl
