#pragma once
// Text as a terminal sees it: grapheme clusters, display columns, and a form of every byte that is
// safe to print. Knows no terminal and no editor. All strings are bytes, positions are bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth::repl {

/// One code point of a string.
struct CodePoint {
    std::int32_t value;   ///< U+FFFD for an invalid byte
    std::size_t n_bytes;  ///< consumed, at least 1
    bool valid;
};
/// Decodes at `pos` (< text.size()).
CodePoint code_point_at(std::string_view text, std::size_t pos);

/// Bytes at the end of `text` that begin a UTF-8 sequence and wait for the rest: 0 to 3.
std::size_t incomplete_tail(std::string_view text);

/// Replaces each invalid byte by U+FFFD. The result is valid UTF-8.
std::string repair_utf8(std::string_view text);

/// End of the cluster that begins at `pos`; text.size() at the end. A newline is a cluster.
std::size_t next_grapheme(std::string_view text, std::size_t pos);
/// Begin of the cluster that ends at `pos`; 0 at the begin.
std::size_t previous_grapheme(std::string_view text, std::size_t pos);

/// What to print for one cluster (never a control byte), and the columns that it takes.
struct Display {
    std::string text;
    int columns;
};
/// Controls are shown as ^[ and the like, a tab as spaces up to the next stop of 4 after `column`.
Display display_of(std::string_view cluster, int column);
/// Columns of one cluster without controls: 0, 1 or 2 mostly. Where terminals disagree the larger.
int cluster_columns(std::string_view cluster);
/// Columns of a text without newlines that starts at column 0.
int text_columns(std::string_view text);

/// Control characters (C0 except newline and tab, DEL, C1) as inert symbols; invalid bytes as
/// U+FFFD; a carriage return before a newline vanishes. For text of a model, a file or a database.
std::string sanitize(std::string_view text);
/// The same with newlines and tabs as spaces: one line.
std::string sanitize_line(std::string_view text);
/// At most `columns` wide, cut at a cluster with an ellipsis.
std::string clip(std::string_view text, int columns);

/// Letters, digits, marks of any script: what word movement treats as one word.
bool is_word_character(std::int32_t code_point);

}  // namespace hearth::repl
