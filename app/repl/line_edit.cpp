#include "app/repl/line_edit.h"

#include <algorithm>
#include <utility>

#include "app/repl/graphemes.h"

namespace hearth::repl {
namespace {

constexpr std::size_t kKillRing = 30;
constexpr std::string_view kBlockMark = "\"\"\"";

std::size_t common_prefix(const std::vector<std::string>& words) {
    std::size_t n = words[0].size();
    for (const auto& word : words) {
        const auto end = std::mismatch(words[0].begin(), words[0].begin() + static_cast<long>(n),
                                       word.begin(), word.end());
        n = static_cast<std::size_t>(end.first - words[0].begin());
    }
    while (n > 0 && n < words[0].size() && (static_cast<unsigned char>(words[0][n]) & 0xC0) == 0x80)
        --n;  // not inside a character
    return n;
}

/// A block that """ opened and nothing closed yet.
bool is_open_block(std::string_view text) {
    if (text.substr(0, kBlockMark.size()) != kBlockMark) return false;
    text.remove_prefix(kBlockMark.size());
    const auto last = text.find_last_not_of(" \t\n");
    if (last == std::string_view::npos) return true;
    text = text.substr(0, last + 1);
    return text.size() < kBlockMark.size() ||
           text.substr(text.size() - kBlockMark.size()) != kBlockMark;
}

bool ends_with_continuation(std::string_view text) {
    std::size_t n = 0;
    while (n < text.size() && text[text.size() - 1 - n] == '\\') ++n;
    return n % 2 == 1;
}

/// Kinds of clusters for word movement. Wide scripts do not share a word with narrow ones.
enum class WordKind { none, narrow, wide };

WordKind kind_of(std::string_view cluster) {
    if (!is_word_character(code_point_at(cluster, 0).value)) return WordKind::none;
    return cluster_columns(cluster) == 2 ? WordKind::wide : WordKind::narrow;
}

}  // namespace

LineEdit::LineEdit(const std::vector<std::string>* history, Completer complete)
    : history_(history),
      complete_(std::move(complete)) {
    begin();
}

void LineEdit::begin(std::string text, bool literal) {
    text_ = std::move(text);
    cursor_ = text_.size();
    literal_ = literal;
    wanted_column_ = -1;
    last_was_kill_ = last_was_yank_ = false;
    history_index_ = history_->size();
    edited_.clear();
    searching_ = search_failed_ = false;
    candidates_.clear();
}

void LineEdit::clear() { begin(); }

void LineEdit::replace(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    text_ = std::move(text);
    cursor_ = text_.size();
    literal_ = false;
}

LineEdit::Outcome LineEdit::handle(const KeyEvent& event) {
    if (searching_) return handle_search(event);
    const bool was_kill = std::exchange(last_was_kill_, false);
    const bool was_yank = std::exchange(last_was_yank_, false);
    if (event.key != Key::up && event.key != Key::down) wanted_column_ = -1;
    switch (event.key) {
        case Key::text:
        case Key::paste:
            insert(event.text, event.key == Key::paste);
            return Outcome::editing;
        case Key::enter:
            return enter();
        case Key::tab:
            return complete();
        case Key::interrupt:
            return Outcome::interrupted;
        case Key::erase_or_end:
            if (text_.empty()) return Outcome::end_of_input;
            erase(cursor_, next_grapheme(text_, cursor_));
            return Outcome::editing;
        case Key::clear_screen:
            return Outcome::clear_screen;
        case Key::external_editor:
            return Outcome::open_editor;
        case Key::suspend:
            return Outcome::suspend;
        case Key::search_back:
        case Key::search_forward:
            searching_ = true;
            search_failed_ = false;
            query_.clear();
            before_search_ = text_;
            cursor_before_search_ = cursor_;
            found_ = history_->size();
            return Outcome::editing;
        default:
            break;
    }
    last_was_kill_ = was_kill;
    last_was_yank_ = was_yank;
    if (handle_move(event.key)) {
        last_was_kill_ = last_was_yank_ = false;
        return Outcome::editing;
    }
    handle_edit(event.key);
    return Outcome::editing;
}

bool LineEdit::handle_move(Key key) {
    switch (key) {
        case Key::left:
            cursor_ = previous_grapheme(text_, cursor_);
            return true;
        case Key::right:
            cursor_ = next_grapheme(text_, cursor_);
            return true;
        case Key::word_left:
            cursor_ = word_left(cursor_);
            return true;
        case Key::word_right:
            cursor_ = word_right(cursor_);
            return true;
        case Key::line_start:
            cursor_ = line_start(cursor_);
            return true;
        case Key::line_end:
            cursor_ = line_end(cursor_);
            return true;
        case Key::text_start:
            cursor_ = 0;
            return true;
        case Key::text_end:
            cursor_ = text_.size();
            return true;
        case Key::up:
            move_rows(-1);
            return true;
        case Key::down:
            move_rows(1);
            return true;
        case Key::older:
            older();
            return true;
        case Key::newer:
            newer();
            return true;
        default:
            return false;
    }
}

bool LineEdit::handle_edit(Key key) {
    const bool was_yank = std::exchange(last_was_yank_, false);
    switch (key) {
        case Key::kill_to_end: {
            const std::size_t end = line_end(cursor_);
            kill(cursor_, end == cursor_ ? next_grapheme(text_, cursor_) : end, false);
            return true;
        }
        case Key::kill_to_start: {
            const std::size_t begin = line_start(cursor_);
            kill(begin == cursor_ ? previous_grapheme(text_, cursor_) : begin, cursor_, true);
            return true;
        }
        case Key::kill_word_back:
            kill(word_left(cursor_), cursor_, true);
            return true;
        case Key::kill_space_back:
            kill(space_left(cursor_), cursor_, true);
            return true;
        case Key::kill_word:
            kill(cursor_, word_right(cursor_), false);
            return true;
        default:
            break;
    }
    last_was_kill_ = false;
    switch (key) {
        case Key::newline:
            insert("\n", false);
            return true;
        case Key::backspace:
            erase(previous_grapheme(text_, cursor_), cursor_);
            return true;
        case Key::erase:
            erase(cursor_, next_grapheme(text_, cursor_));
            return true;
        case Key::yank:
            yank();
            return true;
        case Key::yank_pop:
            last_was_yank_ = was_yank;
            yank_pop();
            return true;
        case Key::transpose:
            transpose();
            return true;
        default:
            return false;
    }
}

LineEdit::Outcome LineEdit::enter() {
    if (!literal_ && is_open_block(text_)) {
        insert("\n", false);
        return Outcome::editing;
    }
    if (!literal_ && cursor_ == text_.size() && ends_with_continuation(text_)) {
        text_.back() = '\n';
        return Outcome::editing;
    }
    cursor_ = text_.size();
    return Outcome::accepted;
}

void LineEdit::insert(std::string_view text, bool pasted) {
    if (text.empty()) return;
    if (cursor_ == 0) literal_ = pasted;
    text_.insert(cursor_, text);
    cursor_ += text.size();
    candidates_.clear();
}

void LineEdit::erase(std::size_t begin, std::size_t end) {
    if (begin >= end) return;
    text_.erase(begin, end - begin);
    cursor_ = begin;
    if (text_.empty()) literal_ = false;
}

void LineEdit::kill(std::size_t begin, std::size_t end, bool backward) {
    if (begin < end) {
        const std::string piece = text_.substr(begin, end - begin);
        if (!last_was_kill_ || kills_.empty()) {
            kills_.push_back(piece);
            if (kills_.size() > kKillRing) kills_.erase(kills_.begin());
        } else if (backward) {
            kills_.back().insert(0, piece);
        } else {
            kills_.back() += piece;
        }
        erase(begin, end);
    }
    last_was_kill_ = true;
}

void LineEdit::yank() {
    if (kills_.empty()) return;
    yank_index_ = kills_.size() - 1;
    yank_begin_ = cursor_;
    insert(kills_[yank_index_], false);
    last_was_yank_ = true;
}

void LineEdit::yank_pop() {
    if (!last_was_yank_ || kills_.empty()) return;
    erase(yank_begin_, cursor_);
    yank_index_ = (yank_index_ + kills_.size() - 1) % kills_.size();
    insert(kills_[yank_index_], false);
    last_was_yank_ = true;
}

void LineEdit::transpose() {
    // At the end the two clusters before the cursor change places, else those around it.
    std::size_t middle = cursor_;
    if (middle == text_.size()) middle = previous_grapheme(text_, middle);
    const std::size_t begin = previous_grapheme(text_, middle);
    const std::size_t end = next_grapheme(text_, middle);
    if (begin == middle || middle == end) return;
    const std::string left = text_.substr(begin, middle - begin);
    const std::string right = text_.substr(middle, end - middle);
    text_.replace(begin, end - begin, right + left);
    cursor_ = end;
}

// --- places --------------------------------------------------------------------------------------

std::size_t LineEdit::line_start(std::size_t pos) const {
    if (pos == 0) return 0;
    const auto newline = text_.rfind('\n', pos - 1);
    return newline == std::string::npos ? 0 : newline + 1;
}

std::size_t LineEdit::line_end(std::size_t pos) const {
    const auto newline = text_.find('\n', pos);
    return newline == std::string::npos ? text_.size() : newline;
}

std::size_t LineEdit::word_left(std::size_t pos) const {
    WordKind kind = WordKind::none;
    while (pos > 0) {
        const std::size_t begin = previous_grapheme(text_, pos);
        const WordKind here = kind_of(std::string_view(text_).substr(begin, pos - begin));
        if (kind != WordKind::none && here != kind) break;
        kind = here;
        pos = begin;
    }
    return pos;
}

std::size_t LineEdit::word_right(std::size_t pos) const {
    WordKind kind = WordKind::none;
    while (pos < text_.size()) {
        const std::size_t end = next_grapheme(text_, pos);
        const WordKind here = kind_of(std::string_view(text_).substr(pos, end - pos));
        if (kind != WordKind::none && here != kind) break;
        kind = here;
        pos = end;
    }
    return pos;
}

std::size_t LineEdit::space_left(std::size_t pos) const {
    const auto is_space = [&](std::size_t i) {
        return text_[i] == ' ' || text_[i] == '\t' || text_[i] == '\n';
    };
    while (pos > 0 && is_space(pos - 1)) --pos;
    while (pos > 0 && !is_space(pos - 1)) --pos;
    return pos;
}

void LineEdit::move_rows(int rows) {
    const std::string_view text = text_;
    const std::size_t begin = line_start(cursor_);
    const std::size_t end = line_end(cursor_);
    if (rows < 0 && begin == 0) return older();
    if (rows > 0 && end == text_.size()) return newer();
    if (wanted_column_ < 0) wanted_column_ = text_columns(text.substr(begin, cursor_ - begin));
    std::size_t pos = rows < 0 ? line_start(begin - 1) : end + 1;
    const std::size_t stop = line_end(pos);
    int column = 0;
    while (pos < stop) {
        const std::size_t next = next_grapheme(text_, pos);
        column += display_of(text.substr(pos, next - pos), column).columns;
        if (column > wanted_column_) break;
        pos = next;
    }
    cursor_ = pos;
}

// --- history and search --------------------------------------------------------------------------

void LineEdit::recall(std::size_t index) {
    edited_[history_index_] = text_;
    history_index_ = index;
    const auto edited = edited_.find(index);
    text_ = edited != edited_.end()    ? edited->second
            : index < history_->size() ? (*history_)[index]
                                       : std::string();
    cursor_ = text_.size();
    literal_ = false;
    wanted_column_ = -1;
}

void LineEdit::older() {
    if (history_index_ > 0) recall(history_index_ - 1);
}

void LineEdit::newer() {
    if (history_index_ < history_->size()) recall(history_index_ + 1);
}

std::string LineEdit::search_prompt() const {
    if (!searching_) return "";
    return (search_failed_ ? "(not found) '" : "(search) '") + query_ + "': ";
}

void LineEdit::find(bool forward, std::size_t from) {
    search_failed_ = false;
    if (query_.empty()) return;
    const auto hit = [&](std::size_t i) {
        const auto at = (*history_)[i].find(query_);
        if (at == std::string::npos) return false;
        found_ = i;
        text_ = (*history_)[i];
        cursor_ = at;
        return true;
    };
    if (forward) {
        for (std::size_t i = from; i < history_->size(); ++i) {
            if (hit(i)) return;
        }
    } else {
        for (std::size_t i = std::min(from, history_->size()); i-- > 0;) {
            if (hit(i)) return;
        }
    }
    search_failed_ = true;
}

LineEdit::Outcome LineEdit::handle_search(const KeyEvent& event) {
    switch (event.key) {
        case Key::text:
            query_ += event.text;
            find(false, found_ < history_->size() ? found_ + 1 : found_);
            return Outcome::editing;
        case Key::search_back:
            find(false, found_);
            return Outcome::editing;
        case Key::search_forward:
            find(true, found_ + 1);
            return Outcome::editing;
        case Key::backspace:
            query_.erase(previous_grapheme(query_, query_.size()));
            find(false, history_->size());
            return Outcome::editing;
        case Key::interrupt:
        case Key::escape:
        case Key::external_editor:  // Ctrl+G leaves a search, as in every shell
            searching_ = false;
            text_ = before_search_;
            cursor_ = cursor_before_search_;
            return Outcome::editing;
        default:
            break;
    }
    // Any other key takes what was found and acts on it.
    searching_ = false;
    if (found_ < history_->size() && text_ == (*history_)[found_]) {
        edited_[history_->size()] = before_search_;
        history_index_ = found_;
        literal_ = false;
    }
    return handle(event);
}

// --- completion ----------------------------------------------------------------------------------

LineEdit::Outcome LineEdit::complete() {
    Completion offer = complete_ ? complete_(text_, cursor_) : Completion{};
    if (offer.candidates.empty() || offer.begin > cursor_) {
        // In a text that is no command Tab is a character.
        if (literal_ || (!text_.empty() && text_[0] != '/')) insert("\t", false);
        return Outcome::editing;
    }
    std::string best = offer.candidates[0].substr(0, common_prefix(offer.candidates));
    const bool only = offer.candidates.size() == 1;
    const bool longer = best.size() > cursor_ - offer.begin;
    if (only || longer) {
        if (only && !best.empty() && best.back() != '/') best += ' ';
        const bool space_follows = cursor_ < text_.size() && text_[cursor_] == ' ';
        if (only && space_follows && best.back() == ' ') best.pop_back();
        erase(offer.begin, cursor_);
        insert(best, false);
        return Outcome::editing;
    }
    candidates_ = std::move(offer.candidates);
    return Outcome::list_candidates;
}

}  // namespace hearth::repl
