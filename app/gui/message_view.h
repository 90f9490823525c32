#pragma once
// MessageView: one message laid out for one width: Markdown pieces with their blocks, each text of
// which can be selected. Streaming appends: pieces that are complete are never laid out again.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/markdown.h"
#include "app/gui/text/layout.h"

namespace hearth::gui {

/// A text that can be selected; positions are relative to its piece.
struct Leaf {
    TextLayout layout;
    float x = 0, y = 0;
};

struct BlockView {
    BlockKind kind = BlockKind::paragraph;
    Rect box;  ///< relative to the piece; of code and tables the background
    int quote = 0;
    float quote_x = 0;  ///< left edge of the first quote bar
    TextLayout marker;
    float marker_x = 0, marker_y = 0;
    std::size_t first_leaf = 0, n_leaves = 0;
    std::string language;
    std::vector<float> column_x, row_y;  ///< lines of a table's grid
};

struct PieceView {
    std::string source;
    std::vector<Leaf> leaves;
    std::vector<BlockView> blocks;
    std::vector<std::string> links;
    float height = 0;
};

struct MessageLook {
    float width = 700;
    int px = 15;  ///< body size in pixels
    float scale = 1;
    bool plain = false;  ///< the text as it is, no Markdown
    bool dim = false;
    bool operator==(const MessageLook&) const = default;
};

class MessageView {
  public:
    /// Makes the view show `source`. `growing`: its last line is still being written.
    void update(Fonts& fonts, std::string_view source, const MessageLook& look, bool growing);
    float height() const { return height_; }
    const std::vector<PieceView>& pieces() const { return pieces_; }
    std::size_t n_leaves() const;
    /// Calls with (leaf index, leaf, y of its piece).
    void for_leaves(const std::function<void(std::size_t, const Leaf&, float)>& visit) const;
    const std::string& source() const { return source_; }
    std::size_t pieces_laid_out() const { return laid_out_; }  ///< since made, for tests

  private:
    std::vector<PieceView> pieces_;
    std::string source_;
    MessageLook look_;
    bool growing_ = false, any_ = false;
    float height_ = 0;
    std::size_t laid_out_ = 0;
};

PieceView make_piece(Fonts& fonts, std::string_view source, const MessageLook& look, bool growing);

}  // namespace hearth::gui
