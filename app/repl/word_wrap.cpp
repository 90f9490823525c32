#include "app/repl/word_wrap.h"

#include <algorithm>

#include <fmt/format.h>
#include <utf8proc.h>

#include "app/repl/graphemes.h"

namespace hearth::repl {
namespace {

constexpr int kTabColumns = 8;  ///< the terminal's own stops

/// Characters that do not begin a row in Chinese and Japanese text.
constexpr std::u32string_view kNoStart =
    U"，。、；：？！）」』】》〉〕］｝”’…—～・ーっッゃゅょャュョァィゥェォ,.;:?!)]}%>'\"";
/// Characters that do not end one.
constexpr std::u32string_view kNoEnd = U"（「『【《〈〔［｛“‘([{<'\"$#@";

bool contains(std::u32string_view set, std::int32_t c) {
    return set.find(static_cast<char32_t>(c)) != std::u32string_view::npos;
}

bool is_wide(std::int32_t c) { return c > 0xFF && utf8proc_charwidth(c) == 2; }

bool may_break_between(std::int32_t left, std::int32_t right) {
    if (left == 0) return false;
    if (left == ' ' || left == '\t') return true;
    if (is_wide(left) || is_wide(right))
        return !contains(kNoStart, right) && !contains(kNoEnd, left);
    return left == '-' && is_word_character(right);
}

}  // namespace

void WordWrap::push(std::string_view text, std::string& out) {
    std::string joined;
    if (held_return_) {
        joined = "\r" + std::string(text);
        held_return_ = false;
        text = joined;
    }
    if (!text.empty() && text.back() == '\r') {
        held_return_ = true;
        text.remove_suffix(1);
    }
    const std::string safe = sanitize(text);
    for (std::size_t i = 0; i < safe.size();) {
        const CodePoint cp = code_point_at(safe, i);
        const std::string_view bytes = std::string_view(safe).substr(i, cp.n_bytes);
        i += cp.n_bytes;
        if (cp.value == '\n') {
            put_newline();
        } else if (cp.value == ' ' || cp.value == '\t') {
            put_space(bytes[0], out);
        } else {
            put(bytes, cp.value, out);
        }
    }
}

void WordWrap::finish(std::string& out) {
    held_newlines_ = 0;
    held_return_ = false;
    if (started_ && (column_ > 0 || last_ != 0)) out += '\n';
    *this = WordWrap(columns_);
}

void WordWrap::put_newline() {
    if (!started_) return;
    ++held_newlines_;
    if (fence_line_) in_code_ = !in_code_;
    fence_line_ = false;
    line_backticks_ = 0;
}

void WordWrap::release_newlines(std::string& out) {
    if (held_newlines_ == 0 && !row_is_full_) return;
    out.append(static_cast<std::size_t>(held_newlines_ > 0 ? held_newlines_ : 1), '\n');
    held_newlines_ = 0;
    row_is_full_ = long_word_ = false;
    column_ = word_columns_ = 0;
    word_.clear();
    cluster_.clear();
    last_ = 0;
}

void WordWrap::put_space(char c, std::string& out) {
    if (!started_) return;
    if (held_newlines_ > 0) release_newlines(out);
    if (row_is_full_) return;
    const int columns = c == ' ' ? 1 : kTabColumns - column_ % kTabColumns;
    word_.clear();
    cluster_.clear();
    word_columns_ = 0;
    long_word_ = false;
    if (wraps() && column_ + columns > limit()) {
        row_is_full_ = true;
        return;
    }
    out += c;
    column_ += columns;
    last_ = c;
}

void WordWrap::see_line_start(std::int32_t code_point) {
    if (line_backticks_ < 0 || fence_line_) return;
    line_backticks_ = code_point == '`' ? line_backticks_ + 1 : -1;
    fence_line_ = line_backticks_ == 3;
}

/// Makes the word that is being written begin a row when `wanted` more columns do not fit.
/// False when the word is as long as a row.
bool WordWrap::make_room(int wanted, std::string& out) {
    if (column_ + wanted <= limit()) return true;
    if (word_columns_ >= column_ || word_columns_ + wanted > limit()) return false;
    const bool unwritten = out.size() >= word_.size() &&
                           out.compare(out.size() - word_.size(), word_.size(), word_) == 0;
    if (unwritten) {
        out.resize(out.size() - word_.size());
    } else {
        out += fmt::format("\x1b[{}D\x1b[K", word_columns_);
    }
    out += '\n';
    out += word_;
    column_ = word_columns_;
    return true;
}

void WordWrap::put(std::string_view bytes, std::int32_t code_point, std::string& out) {
    release_newlines(out);
    started_ = true;
    const bool joins = !cluster_.empty() && held_newlines_ == 0 &&
                       !utf8proc_grapheme_break_stateful(last_, code_point, &join_state_);
    int columns = 0;
    if (joins) {
        columns = -hearth::repl::cluster_columns(cluster_);
        cluster_ += bytes;
        columns += hearth::repl::cluster_columns(cluster_);
    } else {
        see_line_start(code_point);
        join_state_ = 0;
        cluster_ = bytes;
        columns = hearth::repl::cluster_columns(cluster_);
        if (may_break_between(last_, code_point)) {
            word_.clear();
            word_columns_ = 0;
            long_word_ = false;
        }
        if (wraps() && !long_word_) long_word_ = !make_room(columns, out);
    }
    out += bytes;
    word_ += bytes;
    word_columns_ += columns;
    column_ += columns;
    // The terminal went on in its next row by itself.
    if (columns_ > 0 && column_ > columns_) column_ -= columns_;
    last_ = code_point;
}

// --- thinking ------------------------------------------------------------------------------------

namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kSpace = " \t\r\n";

/// Bytes at the end of `text` that may be the begin of `tag`.
std::size_t partial_tag(std::string_view text, std::string_view tag) {
    for (std::size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n) {
        if (text.substr(text.size() - n) == tag.substr(0, n)) return n;
    }
    return 0;
}

}  // namespace

std::vector<ThinkSplitter::Piece> ThinkSplitter::push(std::string_view text) {
    held_ += text;
    std::vector<Piece> out;
    while (step(false, out)) {
    }
    return out;
}

std::vector<ThinkSplitter::Piece> ThinkSplitter::finish() {
    std::vector<Piece> out;
    while (step(true, out)) {
    }
    part_ = Part::start;
    return out;
}

/// One move of the state machine; false when more text is needed.
bool ThinkSplitter::step(bool at_end, std::vector<Piece>& out) {
    if (held_.empty()) return false;
    const auto emit = [&](bool thinking, std::size_t n) {
        if (n > 0) out.push_back({thinking, held_.substr(0, n)});
        held_.erase(0, n);
    };
    const std::size_t first = std::min(held_.find_first_not_of(kSpace), held_.size());
    switch (part_) {
        case Part::start: {
            const std::string_view rest = std::string_view(held_).substr(first);
            if (rest.substr(0, kOpen.size()) == kOpen) {
                held_.erase(0, first + kOpen.size());
                part_ = Part::thinking;
                return true;
            }
            if (!at_end && rest == kOpen.substr(0, rest.size())) return false;
            part_ = Part::answer;
            return true;
        }
        case Part::thinking: {
            const std::size_t close = held_.find(kClose);
            if (close == std::string::npos) {
                emit(true, held_.size() - (at_end ? 0 : partial_tag(held_, kClose)));
                return false;
            }
            emit(true, close);
            held_.erase(0, kClose.size());
            part_ = Part::after;
            return true;
        }
        case Part::after:
            held_.erase(0, first);
            if (held_.empty()) return false;
            part_ = Part::answer;
            return true;
        case Part::answer:
            emit(false, held_.size());
            return false;
    }
    return false;
}

std::string AnswerText::push(std::string_view text) { return show(splitter_.push(text)); }

std::string AnswerText::finish() {
    std::string out = show(splitter_.finish());
    if (thinking_) {
        wrap_.finish(out);
        out += dim_off_;
        thinking_ = false;
    }
    wrap_.finish(out);
    return out;
}

void AnswerText::end_thinking(std::string& out) {
    wrap_.finish(out);
    out += "… done thinking." + dim_off_ + "\n\n";
    thinking_ = false;
}

std::string AnswerText::show(const std::vector<ThinkSplitter::Piece>& pieces) {
    std::string out;
    for (const auto& piece : pieces) {
        const bool blank = piece.text.find_first_not_of(kSpace) == std::string::npos;
        if (piece.thinking && !thinking_) {
            if (blank) continue;  // an empty <think></think> is no thinking
            out += dim_on_ + "Thinking …\n";
            thinking_ = true;
        } else if (!piece.thinking && thinking_) {
            end_thinking(out);
        }
        wrap_.push(piece.text, out);
    }
    return out;
}

}  // namespace hearth::repl
