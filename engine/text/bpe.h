#pragma once
// Bpe: byte-level byte-pair encoding (Sennrich et al. 2016 over the bytes of GPT-2): pieces of the
// pre-tokenizer, merges by rank. O(n log n) in the length of a piece, linear in the text.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/pretokenizer.h"
#include "engine/text/text_encoder.h"
#include "engine/text/token_index.h"

namespace hearth {

class Bpe : public TextEncoder {
  public:
    /// `vocabulary` outlives what is made; `types` has one entry per token, `ids` knows every
    /// token's text. Notes for the user (merges that cannot be used) go to `warnings`. Errors: no
    /// merges, a merge without two parts.
    static Result<std::unique_ptr<Bpe>> make(const Vocabulary& vocabulary,
                                             const std::vector<TokenType>& types,
                                             const TokenIndex& ids, const PreTokenizerRow& row,
                                             std::vector<std::string>& warnings);

    void encode(std::string_view text, std::vector<TokenId>& out) const override;
    std::string bytes(std::string_view token_text, TokenType type) const override;

  private:
    struct Scratch;
    struct Merge {
        std::uint64_t pair = kNoPair;  ///< left id · 2^32 + right id
        std::uint32_t rank = 0;        ///< lower merges first
        TokenId merged = -1;
    };
    static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};

    Bpe(PreTokenizer splitter, const PreTokenizerRow& row)
        : splitter_(std::move(splitter)),
          whole_pieces_(row.ignore_merges),
          nfc_(row.nfc) {}
    Result<void> read_merges(const Vocabulary& vocabulary, const std::vector<TokenType>& types,
                             const TokenIndex& ids, std::vector<std::string>& warnings);
    void read_bytes(const std::vector<TokenType>& types, const TokenIndex& ids);
    void insert(const Merge& merge);
    const Merge* find(TokenId left, TokenId right) const;
    void encode_piece(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;
    void merge_all(Scratch& scratch) const;
    void push_pair(Scratch& scratch, std::uint32_t at) const;

    PreTokenizer splitter_;
    bool whole_pieces_ = false;
    bool nfc_ = false;
    std::vector<Merge> merges_;            ///< open addressing, a power of two
    std::array<TokenId, 256> byte_ids_{};  ///< -1: the vocabulary cannot spell this byte
    std::vector<TokenId> replacement_;     ///< ids of U+FFFD, for such bytes
    TokenIndex pieces_;  ///< alphabet text -> id, for whole pieces; views into the vocabulary
};

}  // namespace hearth
