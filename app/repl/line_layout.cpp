#include "app/repl/line_layout.h"

#include <algorithm>

#include "app/repl/graphemes.h"

namespace hearth::repl {

Layout lay_out(std::string_view text, std::size_t cursor, int first_indent, int indent,
               int columns) {
    Layout layout;
    // A terminal that is narrower than the prompt still gets a few characters a row.
    const int limit = std::max({columns - 1, first_indent + 2, indent + 2});
    LayoutRow row;
    int column = first_indent;
    const auto end_row = [&](std::size_t end, std::size_t next, bool continued) {
        row.end = end;
        layout.rows.push_back(row);
        row = {next, next, continued};
        column = indent;
    };
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '\n') {
            if (i == cursor) {
                layout.cursor_row = static_cast<int>(layout.rows.size());
                layout.cursor_column = column;
            }
            end_row(i, i + 1, false);
            ++i;
            continue;
        }
        const std::size_t end = next_grapheme(text, i);
        const bool plain = end == i + 1 && text[i] >= 0x20 && text[i] < 0x7F;
        const auto width = [&] {
            return plain ? 1 : display_of(text.substr(i, end - i), column).columns;
        };
        if (column + width() > limit) end_row(i, i, true);
        if (i <= cursor && cursor < end) {
            layout.cursor_row = static_cast<int>(layout.rows.size());
            layout.cursor_column = column;
        }
        column += width();
        i = end;
    }
    if (cursor >= text.size()) {
        layout.cursor_row = static_cast<int>(layout.rows.size());
        layout.cursor_column = column;
    }
    row.end = text.size();
    layout.rows.push_back(row);
    return layout;
}

std::string printable(std::string_view row_text, int indent) {
    std::string out;
    out.reserve(row_text.size());
    int column = indent;
    for (std::size_t i = 0; i < row_text.size();) {
        const std::size_t end = next_grapheme(row_text, i);
        const Display shown = display_of(row_text.substr(i, end - i), column);
        out += shown.text;
        column += shown.columns;
        i = end;
    }
    return out;
}

bool has_certain_width(std::string_view row_text) {
    for (std::size_t i = 0; i < row_text.size();) {
        const std::size_t end = next_grapheme(row_text, i);
        if (code_point_at(row_text, i).n_bytes != end - i) return false;
        i = end;
    }
    return true;
}

}  // namespace hearth::repl
