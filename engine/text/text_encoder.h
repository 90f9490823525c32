#pragma once
// TextEncoder: what a kind of vocabulary (byte-level BPE, SentencePiece) does with a stretch of
// text in which no special token stands, and with one token back.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace hearth {

class TextEncoder {
  public:
    virtual ~TextEncoder() = default;
    /// Appends the ids of `text` (any bytes, no special spelling is looked for).
    virtual void encode(std::string_view text, std::vector<TokenId>& out) const = 0;
    /// Bytes of a token of type normal, unused or user-defined.
    virtual std::string bytes(std::string_view token_text, TokenType type) const = 0;
};

}  // namespace hearth
