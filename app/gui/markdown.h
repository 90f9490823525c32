#pragma once
// Markdown (md4c) as a flat list of blocks, and the cut of a growing text into pieces that no
// longer change, so that a token costs only the last piece. Pure functions; knows no screen.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::gui {

struct MarkdownSpan {
    std::uint32_t begin = 0, end = 0;  ///< bytes of the text; ascending, covering it
    bool bold = false, italic = false, code = false, strike = false, math = false;
    int link = -1;  ///< index into MarkdownDocument::links
};

struct MarkdownText {
    std::string text;
    std::vector<MarkdownSpan> spans;
};

enum class BlockKind : std::uint8_t { paragraph, heading, code, rule, table };
enum class CellAlign : std::uint8_t { left, center, right };

struct MarkdownBlock {
    BlockKind kind = BlockKind::paragraph;
    int level = 0;            ///< of a heading, 1 to 6
    int indent = 0;           ///< depth of lists around it
    int quote = 0;            ///< depth of quotes around it
    bool tight = false;       ///< inside a list without blank lines
    std::string marker = {};  ///< "•", "1.", "☐": on the first block of a list item
    MarkdownText body = {};
    std::string language = {};  ///< of a code block
    int columns = 0;            ///< of a table; the first row is its head
    std::vector<MarkdownText> cells = {};
    std::vector<CellAlign> aligns = {};
};

struct MarkdownDocument {
    std::vector<MarkdownBlock> blocks;
    std::vector<std::string> links;
};

MarkdownDocument parse_markdown(std::string_view source);

/// Ends of the pieces; the last is source.size(). A text that only grows keeps all but the last.
std::vector<std::size_t> split_markdown(std::string_view source);

/// A piece whose last line is still being written, with open emphasis and code closed, so that
/// `**bold` is bold at once.
std::string close_open_marks(std::string_view piece);

/// LaTeX in \( \), \[ \] and $$ $$ as readable Unicode; everything else as it is.
std::string plain_math(std::string_view latex);

/// Reasoning in <think>…</think> at the start of an answer, apart from the answer.
struct ThinkingSplit {
    std::string_view thinking, answer;
    bool open = false;  ///< the end mark has not come yet
};
ThinkingSplit split_thinking(std::string_view text);

}  // namespace hearth::gui
