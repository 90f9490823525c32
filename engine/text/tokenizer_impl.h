#pragma once
// What a Tokenizer holds. Private to engine/text: tokenizer_make.cpp fills it, tokenizer.cpp uses
// it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/special_tokens.h"
#include "engine/text/text_encoder.h"
#include "engine/text/token_index.h"
#include "engine/text/tokenizer.h"

namespace hearth {

struct Tokenizer::Impl {
    Vocabulary vocabulary;
    std::vector<TokenType> types;  ///< one per token; tokens that must not come from text: control
    std::unique_ptr<const TextEncoder> encoder;
    TokenIndex ids;              ///< text -> lowest id; views into vocabulary
    SpecialTokens user_defined;  ///< found in all text
    SpecialTokens all_special;   ///< user-defined, control and unknown: found in control segments
    std::vector<TokenId> eog;    ///< ascending
    bool space_prefix = false;   ///< SPM: a space before the text and after control tokens
    bool wants_bos = false;
    std::string hash;
    std::vector<std::string> warnings;

    bool in_range(TokenId id) const {
        return id >= 0 && static_cast<std::size_t>(id) < types.size();
    }
    TokenType type(TokenId id) const { return types[static_cast<std::size_t>(id)]; }
    /// Never comes from text: control and unknown.
    bool is_control(TokenId id) const {
        return in_range(id) && (type(id) == TokenType::control || type(id) == TokenType::unknown);
    }
};

}  // namespace hearth
