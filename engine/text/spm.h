#pragma once
// Spm: SentencePiece vocabularies ("llama": Llama 1 and 2, Gemma 1 to 3 …). BPE by score (Kudo &
// Richardson 2018): of all neighbours that together spell a piece, those with the highest score
// merge first, the leftmost of equals. Gives the ids of the sentencepiece library, which is the
// oracle of the tests. O(n log n) in a word, linear in the text.

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/text_encoder.h"
#include "engine/text/token_index.h"

namespace hearth {

class Spm : public TextEncoder {
  public:
    /// `vocabulary` and `types` outlive what is made; `types` has one entry per token, `scores` too
    /// and all finite (checked before). Notes for the user go to `warnings`.
    static std::unique_ptr<Spm> make(const Vocabulary& vocabulary, std::span<const TokenType> types,
                                     std::vector<std::string>& warnings);

    void encode(std::string_view text, std::vector<TokenId>& out) const override;
    std::string bytes(std::string_view token_text, TokenType type) const override;

  private:
    struct Scratch;
    Spm(const Vocabulary& vocabulary, std::span<const TokenType> types);
    void read_pieces(const std::vector<std::string>& tokens);
    void read_bytes(const std::vector<std::string>& tokens);
    void encode_byte(char byte, std::vector<TokenId>& out) const;
    void encode_valid(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;
    void encode_word(std::string_view word, Scratch& scratch, std::vector<TokenId>& out) const;
    std::size_t word_end(std::string_view text) const;
    void push_pair(Scratch& scratch, std::uint32_t left) const;
    void merge_all(Scratch& scratch) const;
    void emit(std::string_view piece, TokenId id, Scratch& scratch,
              std::vector<TokenId>& out) const;
    void emit_unknown(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;
    bool is_unused(TokenId id) const {
        return types_[static_cast<std::size_t>(id)] == TokenType::unused;
    }

    std::span<const float> scores_;
    std::span<const TokenType> types_;
    TokenIndex pieces_;                     ///< what text can become: normal and unused pieces
    std::deque<std::string> escaped_;       ///< pieces that the file spells with a space
    std::array<TokenId, 256> byte_ids_{};   ///< -1: no such byte token
    std::array<bool, 256> before_space_{};  ///< last bytes of what a piece joins to a space
    TokenId unk_ = -1;                      ///< -1: unknown characters give nothing
    bool byte_fallback_ = false;            ///< all 256 byte tokens are there
    bool squeeze_spaces_ = false;           ///< remove_extra_whitespaces
    bool space_prefix_ = false;             ///< the tokenizer puts a space before a text
    bool has_unused_ = false;
};

}  // namespace hearth
