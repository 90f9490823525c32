#pragma once
// ModelConfig: the numbers of a model, read once from its file. Plain data.

#include <string>
#include <vector>

#include "kernels/backend.h"

namespace hearth {

struct ModelConfig {
    std::string family;  ///< general.architecture: "llama", "qwen2", …
    std::string name;    ///< general.name, or the file's name
    int n_layers = 0;
    int hidden_size = 0;
    int intermediate_size = 0;
    int vocab_size = 0;      ///< rows of the embedding (may exceed the tokenizer's)
    int context_length = 0;  ///< trained context, tokens
    float rms_norm_eps = 1e-5f;
    float embedding_scale = 1.0f;  ///< Gemma: sqrt(hidden_size)
    float final_softcap = 0.0f;    ///< 0 = none; Gemma 2: 30
    GatedActivation activation = GatedActivation::silu;
    std::vector<AttentionSpec> attention;  ///< one per layer: heads, window, rope, softcap

    int n_heads() const { return attention.front().n_heads; }
    int n_kv_heads() const { return attention.front().n_kv_heads; }
    int head_dim() const { return attention.front().head_dim; }
};

}  // namespace hearth
