#pragma once
// Writes the serialized ModelProto that the sentencepiece library loads, from the fields of a model
// file (text.md section 4). Protocol buffers by hand: varints and length-delimited fields.

#include <string>
#include <vector>

#include "engine/text/tokenizer.h"

namespace hearth::test {

/// What the library should know about a vocabulary. Pieces keep their ids.
struct SpmModel {
    struct Piece {
        std::string text;
        float score = 0;
        TokenType type = TokenType::normal;
    };
    std::vector<Piece> pieces;
    TokenId unk = -1;             ///< index of the one piece of type unknown
    bool byte_fallback = false;   ///< all 256 byte pieces are there
    bool squeeze_spaces = false;  ///< remove_extra_whitespaces
};

/// Pieces that the library must not match or would refuse (control and user-defined, which are
/// matched before; empty, repeated, not UTF-8) get a name that no text has; exactly one unknown
/// piece is kept or added at the end.
SpmModel make_spm_model(const Vocabulary& vocabulary, const std::vector<TokenType>& types);

std::string serialize(const SpmModel& model);

}  // namespace hearth::test
