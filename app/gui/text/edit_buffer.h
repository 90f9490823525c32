#pragma once
// EditBuffer: text with a caret, a selection and undo. Positions are bytes and always stand between
// grapheme clusters. Knows no layout and no keys.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::gui {

class EditBuffer {
  public:
    const std::string& text() const { return text_; }
    std::size_t caret() const { return caret_; }
    std::size_t anchor() const { return anchor_; }
    std::size_t selection_begin() const { return caret_ < anchor_ ? caret_ : anchor_; }
    std::size_t selection_end() const { return caret_ < anchor_ ? anchor_ : caret_; }
    bool has_selection() const { return caret_ != anchor_; }
    std::string selected() const;
    /// Grows with every change of the text.
    std::uint64_t revision() const { return revision_; }

    /// Another text; the old one can be brought back with undo.
    void set_text(std::string_view text);
    /// Another text without a past.
    void reset(std::string_view text);
    /// Replaces the selection. Typed characters join into one step of undo, word by word.
    void insert(std::string_view text, bool typed = false);

    enum class Step : std::uint8_t { character, word, paragraph, all };
    void erase_backward(Step step);
    void erase_forward(Step step);
    void move_backward(Step step, bool select);
    void move_forward(Step step, bool select);
    void place(std::size_t position, bool select);  ///< snapped to a cluster
    void select(std::size_t begin, std::size_t end);
    void select_all() { select(0, text_.size()); }
    void select_word_at(std::size_t position);
    void select_paragraph_at(std::size_t position);

    bool undo();
    bool redo();

  private:
    struct Edit {  ///< text [at, at + removed.size()) became `added`
        std::size_t at;
        std::string removed, added;
        std::size_t caret_before, anchor_before;
        bool typed;
    };
    std::size_t step_back(std::size_t from, Step step) const;
    std::size_t step_forward(std::size_t from, Step step) const;
    void replace(std::size_t begin, std::size_t end, std::string_view by, bool typed);

    std::string text_;
    std::size_t caret_ = 0, anchor_ = 0;
    std::uint64_t revision_ = 0;
    std::vector<Edit> done_, undone_;
};

}  // namespace hearth::gui
