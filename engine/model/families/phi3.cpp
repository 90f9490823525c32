// phi3 (Phi-3, 3.5, 4, 4-mini): fused qkv and gate/up rows, LongRoPE for long contexts, partial
// rotation in Phi-4-mini.

#include "engine/model/families/rows.h"

namespace hearth {

namespace {
constexpr FamilyTraits kTraits{.fused = true};
}

Result<ModelConfig> phi3_config(const WeightFile& file, int context_tokens) {
    HEARTH_TRY(ModelConfig c, read_config(file, kTraits, context_tokens));
    const Keys keys(file, c.family);
    HEARTH_TRY(const int window, keys.count("attention.sliding_window", 0, 1 << 30, 0));
    for (AttentionSpec& a : c.attention) a.window = window;
    return c;
}

Result<Weights> phi3_weights(const WeightFile& file, const ModelConfig& config) {
    return read_weights(file, config, kTraits);
}

}  // namespace hearth
