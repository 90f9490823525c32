#pragma once
// The two functions of every family, for the table in families.cpp.

#include "engine/model/families/common.h"

namespace hearth {

Result<ModelConfig> llama_config(const WeightFile& file, int context_tokens);
Result<Weights> llama_weights(const WeightFile& file, const ModelConfig& config);
Result<ModelConfig> qwen2_config(const WeightFile& file, int context_tokens);
Result<Weights> qwen2_weights(const WeightFile& file, const ModelConfig& config);
Result<ModelConfig> qwen3_config(const WeightFile& file, int context_tokens);
Result<Weights> qwen3_weights(const WeightFile& file, const ModelConfig& config);
Result<ModelConfig> gemma2_config(const WeightFile& file, int context_tokens);
Result<Weights> gemma2_weights(const WeightFile& file, const ModelConfig& config);
Result<ModelConfig> gemma3_config(const WeightFile& file, int context_tokens);
Result<Weights> gemma3_weights(const WeightFile& file, const ModelConfig& config);
Result<ModelConfig> phi3_config(const WeightFile& file, int context_tokens);
Result<Weights> phi3_weights(const WeightFile& file, const ModelConfig& config);

}  // namespace hearth
