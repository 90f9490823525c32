#include "app/repl/input_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "app/repl/graphemes.h"
#include "app/repl/line_layout.h"

namespace hearth::repl {
namespace {

constexpr int kEscapeWaitMs = 50;  ///< a lone Escape, not the begin of a sequence
constexpr int kLookMs = 700;       ///< for news while nothing is typed

/// A file that vanishes.
struct TemporaryFile {
    std::string path;
    int fd = -1;
    TemporaryFile() {
        std::error_code error;
        auto folder = std::filesystem::temp_directory_path(error);
        path = (error ? "/tmp" : folder.string()) + "/hearth-XXXXXX.md";
        fd = ::mkstemps(path.data(), 3);  // 0600
    }
    ~TemporaryFile() {
        if (fd < 0) return;
        ::close(fd);
        ::unlink(path.c_str());
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
};

bool is_worth_keeping(Key key) {
    return key == Key::text || key == Key::paste || key == Key::enter || key == Key::newline ||
           key == Key::backspace;
}

}  // namespace

InputLine::InputLine(Terminal& terminal, InputStyle style, const std::vector<std::string>* history,
                     Completer complete, std::string editor)
    : terminal_(terminal),
      style_(std::move(style)),
      edit_(history, std::move(complete)),
      editor_(std::move(editor)) {}

InputLine::Read InputLine::read(const std::string& text, bool literal) {
    return terminal_.editing() ? run_line(text, literal) : read_plain();
}

InputLine::Watched InputLine::watch(int event_fd, int timeout_ms) {
    const Terminal::Woken woken = terminal_.wait(timeout_ms, event_fd);
    Watched out{woken.interrupt, woken.other, woken.resized, woken.resumed, woken.deadly};
    if (woken.input && terminal_.editing()) {
        const std::string bytes = terminal_.read_bytes();
        if (bytes.empty()) out.signal = SIGHUP;
        std::vector<KeyEvent> keys;
        decoder_.feed(bytes, keys);
        if (decoder_.pending()) decoder_.flush(keys);
        for (auto& key : keys) {
            if (key.key == Key::interrupt) {
                out.stop = true;
                keys_.clear();
            } else if (key.key == Key::suspend) {
                terminal_.suspend();
                out.resumed = true;
            } else if (is_worth_keeping(key.key)) {
                keys_.push_back(std::move(key));
            }
        }
    }
    return out;
}

// --- plain terminals -----------------------------------------------------------------------------

InputLine::Read InputLine::read_plain() {
    std::string text;
    bool in_block = false;
    terminal_.write(style_.prompt);
    for (bool touched = false;;) {
        const auto newline = plain_bytes_.find('\n');
        if (newline != std::string::npos || (closed_ && !plain_bytes_.empty())) {
            const std::string line = repair_utf8(plain_bytes_.substr(0, newline));
            plain_bytes_.erase(0, newline == std::string::npos ? newline : newline + 1);
            const bool fence = line.size() >= 3 && line.compare(line.size() - 3, 3, "\"\"\"") == 0;
            const bool opens = text.empty() && line.compare(0, 3, "\"\"\"") == 0;
            in_block = in_block ? !fence : opens && (line.size() < 6 || !fence);
            text += line;
            const bool more = !in_block && !text.empty() && text.back() == '\\' && !opens;
            if (more) text.back() = '\n';
            if (!in_block && !more) return {Kind::line, text, false, touched, 0};
            if (in_block) text += '\n';
            terminal_.write(style_.continuation);
            continue;
        }
        if (closed_) return {Kind::end, "", false, touched, 0};
        const Terminal::Woken woken = terminal_.wait(-1);
        if (woken.deadly != 0) return {Kind::killed, "", false, touched, woken.deadly};
        if (woken.interrupt) {
            terminal_.write("\n");
            if (text.empty()) return {Kind::interrupted, "", false, touched, 0};
            text.clear();
            in_block = false;
            terminal_.write(style_.prompt);
        }
        if (woken.resumed) terminal_.write(style_.prompt);
        if (!woken.input) continue;
        const std::string bytes = terminal_.read_bytes();
        closed_ = bytes.empty();
        touched = true;
        plain_bytes_ += bytes;
    }
}

// --- the edited line -----------------------------------------------------------------------------

InputLine::Read InputLine::run_line(const std::string& text, bool literal) {
    edit_.begin(text, literal);
    forget_drawing();
    columns_ = terminal_.columns();
    top_ = 0;
    quiet_ = false;
    Read ended{Kind::end, "", false, false, 0};
    for (;;) {
        if (keys_.empty()) draw();
        if (!next_keys(ended)) break;
        while (!keys_.empty()) {
            const KeyEvent key = std::move(keys_.front());
            keys_.pop_front();
            const bool go_on = act(edit_.handle(key), ended);
            if (!go_on) return ended;
            if (key.key != Key::interrupt) ended.touched = true;
        }
    }
    leave_line();
    return ended;
}

/// Waits until there are keys. False when the line ends without one.
bool InputLine::next_keys(Read& ended) {
    while (keys_.empty()) {
        const int wait_ms = decoder_.pending() ? kEscapeWaitMs : look_ ? kLookMs : -1;
        const Terminal::Woken woken = terminal_.wait(wait_ms);
        if (look_ && !woken.input && woken.deadly == 0 && look_()) {
            erase_drawing();
            tell_();
            draw();
        }
        if (woken.deadly != 0) {
            ended.kind = Kind::killed;
            ended.signal = woken.deadly;
            return false;
        }
        std::vector<KeyEvent> keys;
        if (woken.interrupt) keys.push_back({Key::interrupt});
        if (woken.resized) after_resize();
        if (woken.resumed) {
            forget_drawing();
            draw();
        }
        if (woken.input) {
            const std::string bytes = terminal_.read_bytes();
            if (bytes.empty()) {
                ended.kind = Kind::end;
                return false;
            }
            decoder_.feed(bytes, keys);
        } else if (decoder_.pending()) {
            decoder_.flush(keys);
        }
        std::move(keys.begin(), keys.end(), std::back_inserter(keys_));
    }
    return true;
}

/// False when the line is over; `ended` then says how.
bool InputLine::act(LineEdit::Outcome outcome, Read& ended) {
    using Outcome = LineEdit::Outcome;
    switch (outcome) {
        case Outcome::editing:
            return true;
        case Outcome::accepted:
            leave_line();
            ended.kind = Kind::line;
            ended.text = edit_.text();
            ended.literal = edit_.literal();
            return false;
        case Outcome::interrupted:
            if (!edit_.text().empty()) {
                edit_.clear();
                return true;
            }
            leave_line();
            ended.kind = Kind::interrupted;
            return false;
        case Outcome::end_of_input:
            leave_line();
            ended.kind = Kind::end;
            return false;
        case Outcome::clear_screen:
            terminal_.write("\x1b[H\x1b[2J");
            forget_drawing();
            return true;
        case Outcome::open_editor:
            edit_outside();
            return true;
        case Outcome::suspend:
            draw();
            terminal_.write("\n");
            terminal_.suspend();
            forget_drawing();
            return true;
        case Outcome::list_candidates:
            list_candidates();
            return true;
    }
    return true;
}

/// Leaves the drawing as it is and goes below it.
void InputLine::leave_line() {
    quiet_ = true;
    draw();
    const int below = static_cast<int>(drawn_.size()) - 1 - cursor_row_;
    if (below > 0) terminal_.write(fmt::format("\x1b[{}B", below));
    terminal_.write("\r\n");
    quiet_ = false;
    forget_drawing();
}

void InputLine::say_below(const std::string& text) {
    leave_line();
    terminal_.write(text + "\r\n");
}

void InputLine::edit_outside() {
    if (editor_.empty()) {
        say_below("No editor is set. Set one before starting, for example: export EDITOR=nano");
        return;
    }
    const TemporaryFile file;
    if (file.fd < 0) {
        say_below(fmt::format("A file for the editor cannot be made: {}.", std::strerror(errno)));
        return;
    }
    std::ofstream(file.path, std::ios::binary) << edit_.text();
    draw();
    const auto run = terminal_.run_command(editor_, file.path);
    terminal_.write("\r");
    if (!run) {
        say_below(run.error().what);
        return;
    }
    std::ifstream in(file.path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    edit_.replace(repair_utf8(bytes));
    // Editors use the alternate screen, so the line still stands above the cursor.
}

void InputLine::list_candidates() {
    int widest = 1;
    for (const auto& word : edit_.candidates()) widest = std::max(widest, text_columns(word) + 2);
    const int per_row = std::max(1, (terminal_.columns() - 1) / widest);
    std::string out;
    int n = 0;
    for (const auto& word : edit_.candidates()) {
        const std::string shown = sanitize_line(word);
        out += shown;
        if (++n % per_row == 0) {
            out += "\r\n";
        } else {
            out.append(static_cast<std::size_t>(widest - text_columns(shown)), ' ');
        }
    }
    while (!out.empty() && (out.back() == ' ' || out.back() == '\n' || out.back() == '\r'))
        out.pop_back();
    say_below(out);
}

// --- drawing -------------------------------------------------------------------------------------

void InputLine::forget_drawing() {
    drawn_.clear();
    drawn_columns_.clear();
    cursor_row_ = cursor_column_ = 0;
}

/// The rows to show, with prompts; also where the cursor stands and what is before it there.
std::vector<std::string> InputLine::visible_rows(int* cursor_row, std::string* before_cursor,
                                                 int* cursor_column) {
    const std::string& text = edit_.text();
    const std::string search = edit_.search_prompt();
    const std::string first = search.empty() ? style_.prompt : printable(search, 0);
    const int indent = text_columns(style_.continuation);
    const Layout layout =
        lay_out(text, edit_.cursor(), text_columns(first), indent, terminal_.columns());
    const int n_rows = static_cast<int>(layout.rows.size());
    const int height = std::max(terminal_.rows() - 1, 3);
    // Taller than the screen: a window around the cursor, with a line above and below it.
    int begin = 0, end = n_rows;
    if (n_rows > height) {
        const int inside = std::max(height - 2, 1);
        top_ = std::clamp(top_, layout.cursor_row - inside + 1, layout.cursor_row);
        top_ = std::clamp(top_, 0, n_rows - inside);
        begin = top_;
        end = top_ + inside;
    }
    std::vector<std::string> rows;
    const auto more = [&](int n, const char* where) {
        rows.push_back(n == 0 ? ""
                              : style_.dim_on + fmt::format("    ({} more rows {})", n, where) +
                                    style_.dim_off);
    };
    if (n_rows > height) more(begin, "above");
    for (int i = begin; i < end; ++i) {
        const LayoutRow& row = layout.rows[static_cast<std::size_t>(i)];
        const std::string prefix = i == 0 ? first
                                   : row.continued
                                       ? std::string(static_cast<std::size_t>(indent), ' ')
                                       : style_.continuation;
        const int start = text_columns(prefix);
        const auto piece = std::string_view(text).substr(row.begin, row.end - row.begin);
        if (i == layout.cursor_row) {
            *cursor_row = static_cast<int>(rows.size());
            *cursor_column = layout.cursor_column;
            const auto left = piece.substr(0, edit_.cursor() - row.begin);
            if (!has_certain_width(left)) *before_cursor = prefix + printable(left, start);
        }
        rows.push_back(prefix + printable(piece, start));
    }
    if (n_rows > height) more(n_rows - end, "below");
    if (text.empty() && search.empty() && !quiet_ && !style_.dim_on.empty()) {
        rows[0] += style_.dim_on + clip(style_.placeholder, terminal_.columns() - 1 - indent) +
                   style_.dim_off;
    }
    return rows;
}

void InputLine::draw() {
    int row = 0, column = 0;
    std::string before_cursor;
    const std::vector<std::string> rows = visible_rows(&row, &before_cursor, &column);
    const bool shrinks = rows.size() < drawn_.size();
    std::string out;
    if (cursor_row_ > 0) out += fmt::format("\x1b[{}A", cursor_row_);
    out += '\r';
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i > 0) out += "\r\n";
        const bool last = i + 1 == rows.size();
        if (i < drawn_.size() && rows[i] == drawn_[i] && !(last && shrinks)) continue;
        out += rows[i];
        out += last && shrinks ? "\x1b[J" : "\x1b[K";
    }
    const int up = static_cast<int>(rows.size()) - 1 - row;
    if (up > 0) out += fmt::format("\x1b[{}A", up);
    out += '\r';
    // Terminals disagree about joined emoji and marks: printing them again puts the cursor where
    // this terminal thinks they end.
    if (!before_cursor.empty()) {
        out += before_cursor;
    } else if (column > 0) {
        out += fmt::format("\x1b[{}C", column);
    }
    terminal_.write(out);
    drawn_ = rows;
    drawn_columns_.clear();
    for (const auto& text : rows) drawn_columns_.push_back(text_columns(text));
    cursor_row_ = row;
    cursor_column_ = column;
    columns_ = terminal_.columns();
}

void InputLine::erase_drawing() {
    terminal_.write(cursor_row_ > 0 ? fmt::format("\x1b[{}A\r\x1b[J", cursor_row_) : "\r\x1b[J");
    forget_drawing();
}

/// Most terminals have broken the rows anew: those above the cursor may be more now.
void InputLine::after_resize() {
    const int columns = terminal_.columns();
    if (columns < columns_) {
        int above = cursor_column_ / columns;
        for (int i = 0; i < cursor_row_; ++i) {
            above += std::max(drawn_columns_[static_cast<std::size_t>(i)] - 1, 0) / columns + 1;
        }
        cursor_row_ = above;
    }
    erase_drawing();
    draw();
}

}  // namespace hearth::repl
