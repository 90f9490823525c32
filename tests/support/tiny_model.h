#pragma once
// Tiny models for tests: two layers of any family, weights from a seed, with a vocabulary and a
// chat template, as a GGUF file in memory or on disk. The same options give the same bytes
// everywhere.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/dtype.h"
#include "tests/support/gguf_writer.h"

namespace hearth::test {

enum class TinyVocabulary : std::uint8_t {
    bpe,   ///< "gpt2": 256 bytes, a few merges, <|endoftext|> <|im_start|> <|im_end|>
    spm,   ///< "llama": <unk> <s> </s>, byte tokens, letters, a few merges, chatml tokens
    none,  ///< no tokenizer keys
};

struct TinyOptions {
    std::string family = "llama";  ///< llama, qwen2, qwen3, gemma2, gemma3, phi3
    TinyVocabulary vocabulary = TinyVocabulary::bpe;
    std::uint64_t seed = 1;
    DType dtype = DType::f32;  ///< of the matrices; norms and biases are F32
    int n_layers = 2;
    int hidden_size = 64;
    int intermediate_size = 96;
    int n_heads = 4;
    int n_kv_heads = 2;
    int head_dim = 16;
    int context_length = 2048;
    int window = 8;             ///< gemma2, gemma3
    bool tied = true;           ///< no output.weight
    bool chat_template = true;  ///< chatml
};

/// Tokens in both vocabularies; rows of the embedding.
inline constexpr int kTinyVocabularySize = 384;

/// The model as a writer, to be changed before build().
GgufWriter tiny_writer(const TinyOptions& options);
Bytes tiny_model(const TinyOptions& options);
/// Writes the model to `path` and returns `path`.
std::string write_tiny_model(const std::string& path, const TinyOptions& options);

/// The chatml template that tiny models carry.
extern const char* const kTinyChatTemplate;

/// Adds tokenizer.* keys.
void add_tiny_vocabulary(GgufWriter& w, TinyVocabulary vocabulary);
/// `rows` x `cols` seeded weights of about the given standard deviation, in the format's bytes.
Bytes random_rows(DType dtype, std::int64_t rows, std::int64_t cols, double deviation,
                  std::uint64_t seed);

}  // namespace hearth::test
