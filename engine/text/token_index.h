#pragma once
// TokenIndex: token text -> id, for vocabularies of hundreds of thousands of tokens. Open
// addressing without a node per entry: a model is made several times as fast as with unordered_map.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace hearth {

class TokenIndex {
  public:
    TokenIndex() = default;
    /// Room for ids 0 … n_tokens − 1.
    explicit TokenIndex(std::size_t n_tokens);

    /// The first id of equal texts stays; false where it is another's. `text` must outlive the
    /// index.
    bool add(std::string_view text, TokenId id);
    /// -1: no such text.
    TokenId find(std::string_view text) const;

  private:
    struct Slot {
        std::uint32_t tag = 0;  ///< high half of the text's hash
        TokenId id = -1;
    };
    std::vector<Slot> slots_;              ///< a power of two, at most half full
    std::vector<std::string_view> texts_;  ///< by id
};

}  // namespace hearth
