#pragma once
// Spm: SentencePiece vocabularies ("llama": Llama 1 and 2, Gemma 1 to 3 …) through the
// sentencepiece library. Text that is not UTF-8 never reaches the library: those bytes become byte
// tokens here.

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/text_encoder.h"

namespace hearth {

class Spm : public TextEncoder {
  public:
    /// `types` has one entry per token, `scores` too and all finite (checked before).
    /// Errors: the library refuses the vocabulary. Notes for the user go to `warnings`.
    static Result<std::unique_ptr<Spm>> make(const Vocabulary& vocabulary,
                                             const std::vector<TokenType>& types,
                                             std::vector<std::string>& warnings);
    ~Spm() override;

    void encode(std::string_view text, std::vector<TokenId>& out) const override;
    std::string bytes(std::string_view token_text, TokenType type) const override;

  private:
    struct Library;
    Spm();
    void encode_byte(char byte, std::vector<TokenId>& out) const;
    void encode_valid(std::string_view text, std::vector<TokenId>& out) const;
    std::size_t cut_before(std::string_view text) const;

    std::unique_ptr<const Library> library_;
    std::array<TokenId, 256> byte_ids_{};  ///< -1: no such byte token
    TokenId unk_ = -1;                     ///< -1: unknown characters give nothing
    bool spaces_begin_pieces_ = false;     ///< no piece has a space after another character
};

}  // namespace hearth
