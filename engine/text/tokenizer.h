#pragma once
// Tokenizer: text <-> token ids, made from the vocabulary of a model file: byte-level BPE (bpe.cpp)
// or SentencePiece (spm.cpp).
// Knows tokens; knows no roles and no template. Immutable and thread-safe after making.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace hearth {

using TokenId = std::int32_t;

/// GGUF token types (tokenizer.ggml.token_type).
enum class TokenType : std::int32_t {
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6,
};

/// What a model file says about its vocabulary (text.md section 1), already type-checked by
/// model/weight_file; every field may still contradict another: make() checks.
struct Vocabulary {
    std::string source;               ///< the file, for messages
    std::string model;                ///< tokenizer.ggml.model: "gpt2", "llama", …
    std::string pre;                  ///< tokenizer.ggml.pre, empty when missing
    std::vector<std::string> tokens;  ///< may hold any bytes
    std::vector<float> scores;        ///< empty, or one per token
    std::vector<std::int32_t> types;  ///< empty, or one per token (TokenType)
    std::vector<std::string> merges;  ///< "left right"
    std::optional<TokenId> bos, eos, eot, eom, unk, pad;
    std::optional<bool> add_bos, add_eos, add_space_prefix, remove_extra_whitespaces;
};

/// A piece of what a chat template rendered: where it came from decides what it may become.
struct Segment {
    enum class Origin : std::uint8_t {
        control,  ///< literal of the template: may contain control tokens
        text,     ///< the user's or the model's data: never becomes a control token
        ids,      ///< a stored turn: these ids, verbatim
    };
    Origin origin = Origin::text;
    std::string text;
    std::vector<TokenId> ids;  ///< for Origin::ids
};

class Tokenizer {
  public:
    /// Errors: model_invalid with a sentence. An unknown `pre` falls back by fingerprint of the
    /// vocabulary (marker tokens) or is refused; a fallback is said through `warnings()`.
    static Result<std::unique_ptr<Tokenizer>> make(Vocabulary vocabulary);
    ~Tokenizer();

    /// Ids of `text`, any bytes. User-defined tokens are matched in all text, longest first;
    /// control tokens only with `parse_special`. No BOS or EOS is added.
    std::vector<TokenId> encode(std::string_view text, bool parse_special) const;
    /// Control tokens are looked for in control segments only; between them, adjacent control and
    /// text segments are encoded as one run (as if the whole were one string), so merges across
    /// their border equal those of the published tokenizers. No BOS is added.
    std::vector<TokenId> encode(std::span<const Segment> segments) const;
    /// [bos] + ids, unless the vocabulary wants no BOS or `ids` begins with it already.
    std::vector<TokenId> with_bos(std::vector<TokenId> ids) const;

    /// Bytes that token `id` stands for in the middle of a text; empty for control tokens unless
    /// `render_special`. Ids out of range give nothing.
    std::string piece(TokenId id, bool render_special = false) const;
    /// Concatenated pieces as at the start of a text (an SPM space prefix is stripped once).
    std::string decode(std::span<const TokenId> ids, bool render_special = false) const;

    int vocab_size() const;
    const Vocabulary& vocabulary() const;
    bool is_control(TokenId id) const;
    /// End of generation: eos, eot, eom and the known texts of text.md section 5.
    bool is_eog(TokenId id) const;
    const std::vector<TokenId>& eog_ids() const;
    std::optional<TokenId> find(std::string_view token_text) const;
    bool wants_bos() const;
    /// Stable hash of everything that decides ids, 32 hex digits; stored with ids.
    const std::string& hash() const;
    const std::vector<std::string>& warnings() const;

    struct Impl;  ///< tokenizer_impl.h

  private:
    explicit Tokenizer(std::unique_ptr<const Impl> impl);
    std::unique_ptr<const Impl> impl_;
};

}  // namespace hearth
