#include "app/gui/text/edit_buffer.h"

#include <algorithm>

#include "app/repl/graphemes.h"
#include "app/text_input.h"

namespace hearth::gui {
namespace {

constexpr std::size_t kMaxUndo = 500;

bool is_word_at(std::string_view text, std::size_t at) {
    return repl::is_word_character(repl::code_point_at(text, at).value);
}

}  // namespace

std::string EditBuffer::selected() const {
    return text_.substr(selection_begin(), selection_end() - selection_begin());
}

void EditBuffer::set_text(std::string_view text) { replace(0, text_.size(), text, false); }

void EditBuffer::reset(std::string_view text) {
    text_ = valid_utf8(text);
    caret_ = anchor_ = text_.size();
    done_.clear();
    undone_.clear();
    ++revision_;
}

void EditBuffer::replace(std::size_t begin, std::size_t end, std::string_view by, bool typed) {
    if (begin == end && by.empty()) return;
    undone_.clear();
    // Letters that follow each other are one step until a word ends.
    const bool joins = typed && begin == end && !done_.empty() && done_.back().typed &&
                       done_.back().at + done_.back().added.size() == begin &&
                       !(by == " " && !done_.back().added.ends_with(' ')) && by != "\n";
    if (joins) {
        done_.back().added += by;
    } else {
        done_.push_back(
            {begin, text_.substr(begin, end - begin), std::string(by), caret_, anchor_, typed});
        if (done_.size() > kMaxUndo) done_.erase(done_.begin());
    }
    text_.replace(begin, end - begin, by);
    caret_ = anchor_ = begin + by.size();
    ++revision_;
}

void EditBuffer::insert(std::string_view text, bool typed) {
    replace(selection_begin(), selection_end(), valid_utf8(text), typed);
}

std::size_t EditBuffer::step_back(std::size_t from, Step step) const {
    const std::string_view text = text_;
    switch (step) {
        case Step::character:
            return repl::previous_grapheme(text, from);
        case Step::word: {
            std::size_t at = from;
            while (at > 0 && !is_word_at(text, repl::previous_grapheme(text, at))) {
                at = repl::previous_grapheme(text, at);
            }
            while (at > 0 && is_word_at(text, repl::previous_grapheme(text, at))) {
                at = repl::previous_grapheme(text, at);
            }
            return at;
        }
        case Step::paragraph: {
            if (from == 0) return 0;
            const std::size_t newline = text.rfind('\n', from - 1);
            return newline == std::string_view::npos ? 0 : newline + 1;
        }
        case Step::all:
            break;
    }
    return 0;
}

std::size_t EditBuffer::step_forward(std::size_t from, Step step) const {
    const std::string_view text = text_;
    switch (step) {
        case Step::character:
            return from < text.size() ? repl::next_grapheme(text, from) : from;
        case Step::word: {
            std::size_t at = from;
            while (at < text.size() && !is_word_at(text, at)) at = repl::next_grapheme(text, at);
            while (at < text.size() && is_word_at(text, at)) at = repl::next_grapheme(text, at);
            return at;
        }
        case Step::paragraph:
            return std::min(text.find('\n', from), text.size());
        case Step::all:
            break;
    }
    return text_.size();
}

void EditBuffer::erase_backward(Step step) {
    if (has_selection()) return replace(selection_begin(), selection_end(), "", false);
    replace(step_back(caret_, step), caret_, "", false);
}

void EditBuffer::erase_forward(Step step) {
    if (has_selection()) return replace(selection_begin(), selection_end(), "", false);
    replace(caret_, step_forward(caret_, step), "", false);
}

void EditBuffer::move_backward(Step step, bool select) {
    // Without Shift a selection collapses to its edge.
    if (has_selection() && !select && step == Step::character) {
        caret_ = anchor_ = selection_begin();
        return;
    }
    caret_ = step_back(caret_, step);
    if (!select) anchor_ = caret_;
}

void EditBuffer::move_forward(Step step, bool select) {
    if (has_selection() && !select && step == Step::character) {
        caret_ = anchor_ = selection_end();
        return;
    }
    caret_ = step_forward(caret_, step);
    if (!select) anchor_ = caret_;
}

void EditBuffer::place(std::size_t position, bool select) {
    caret_ = std::min(position, text_.size());
    while (caret_ < text_.size() && (text_[caret_] & 0xC0) == 0x80) ++caret_;
    if (!select) anchor_ = caret_;
}

void EditBuffer::select(std::size_t begin, std::size_t end) {
    anchor_ = std::min(begin, text_.size());
    caret_ = std::min(end, text_.size());
}

void EditBuffer::select_word_at(std::size_t position) {
    std::size_t begin = std::min(position, text_.size()), end = begin;
    while (begin > 0 && is_word_at(text_, repl::previous_grapheme(text_, begin))) {
        begin = repl::previous_grapheme(text_, begin);
    }
    while (end < text_.size() && is_word_at(text_, end)) end = repl::next_grapheme(text_, end);
    if (begin == end && end < text_.size()) end = repl::next_grapheme(text_, end);
    select(begin, end);
}

void EditBuffer::select_paragraph_at(std::size_t position) {
    const std::size_t at = std::min(position, text_.size());
    select(step_back(at, Step::paragraph), step_forward(at, Step::paragraph));
}

bool EditBuffer::undo() {
    if (done_.empty()) return false;
    Edit edit = std::move(done_.back());
    done_.pop_back();
    text_.replace(edit.at, edit.added.size(), edit.removed);
    caret_ = std::min(edit.caret_before, text_.size());
    anchor_ = std::min(edit.anchor_before, text_.size());
    undone_.push_back(std::move(edit));
    ++revision_;
    return true;
}

bool EditBuffer::redo() {
    if (undone_.empty()) return false;
    Edit edit = std::move(undone_.back());
    undone_.pop_back();
    text_.replace(edit.at, edit.removed.size(), edit.added);
    caret_ = anchor_ = edit.at + edit.added.size();
    done_.push_back(std::move(edit));
    ++revision_;
    return true;
}

}  // namespace hearth::gui
