#pragma once
// SpecialTokens: finds the spellings of special tokens in text, the longest at each place. A byte
// trie; knows spellings and ids, not what they mean.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/tokenizer.h"

namespace hearth {

class SpecialTokens {
  public:
    SpecialTokens();
    /// An empty spelling is never found; of two equal spellings the first added wins.
    void add(std::string_view spelling, TokenId id);

    struct Match {
        std::size_t length_bytes = 0;  ///< 0: nothing begins here
        TokenId id = -1;
    };
    /// The longest spelling that begins at `text[at]` and ends inside `text`.
    Match longest_at(std::string_view text, std::size_t at) const;
    bool empty() const { return nodes_.size() == 1; }

  private:
    struct Node {
        TokenId id = -1;
        std::vector<std::pair<unsigned char, std::uint32_t>> next;
    };
    /// Index of the child, 0 when there is none (the root is nobody's child).
    std::uint32_t child(std::uint32_t node, unsigned char byte) const;

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> first_;  ///< children of the root by byte: most places stop here
};

}  // namespace hearth
