// qwen2 (Qwen 2, 2.5): biases on q, k, v. qwen3: a norm per head on q and k instead.

#include "engine/model/families/rows.h"

namespace hearth {

namespace {
constexpr FamilyTraits kQwen2{.qkv_bias = true};
constexpr FamilyTraits kQwen3{.qk_norm = true};
}  // namespace

Result<ModelConfig> qwen2_config(const WeightFile& file, int context_tokens) {
    return read_config(file, kQwen2, context_tokens);
}

Result<Weights> qwen2_weights(const WeightFile& file, const ModelConfig& config) {
    return read_weights(file, config, kQwen2);
}

Result<ModelConfig> qwen3_config(const WeightFile& file, int context_tokens) {
    return read_config(file, kQwen3, context_tokens);
}

Result<Weights> qwen3_weights(const WeightFile& file, const ModelConfig& config) {
    return read_weights(file, config, kQwen3);
}

}  // namespace hearth
