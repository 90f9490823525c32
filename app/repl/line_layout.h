#pragma once
// Where the text of the input line stands on the screen: rows of at most `columns` - 1, so that no
// terminal ever wraps by itself. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::repl {

struct LayoutRow {
    std::size_t begin = 0, end = 0;  ///< bytes of the text, without the newline
    bool continued = false;          ///< the line began in an earlier row
};

struct Layout {
    std::vector<LayoutRow> rows;  ///< at least one
    int cursor_row = 0;
    int cursor_column = 0;  ///< from the left edge, the indent included
};

/// `first_indent` columns are taken by the prompt in row 0, `indent` in all others.
Layout lay_out(std::string_view text, std::size_t cursor, int first_indent, int indent,
               int columns);

/// What to print for the bytes of a row that starts at column `indent`.
std::string printable(std::string_view row_text, int indent);

/// Printing these bytes moves the cursor by their columns on every terminal: no joined emoji, no
/// marks, no flags.
bool has_certain_width(std::string_view row_text);

}  // namespace hearth::repl
