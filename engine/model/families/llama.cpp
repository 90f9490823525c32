// llama: Llama 1-3, Mistral, SmolLM. Q and K rows are permuted by the converter: consecutive pairs.

#include "engine/model/families/rows.h"

namespace hearth {

namespace {
constexpr FamilyTraits kTraits{.pairing = RopePairing::consecutive};
}

Result<ModelConfig> llama_config(const WeightFile& file, int context_tokens) {
    HEARTH_TRY(ModelConfig c, read_config(file, kTraits, context_tokens));
    const Keys keys(file, c.family);
    HEARTH_TRY(const int window, keys.count("attention.sliding_window", 0, 1 << 30, 0));
    for (AttentionSpec& a : c.attention) a.window = window;  // Mistral 7B 0.1: 4096
    HEARTH_TRY(const double temperature, keys.number("attention.temperature_scale", 0));
    if (temperature != 0) {
        return fail(Errc::model_invalid,
                    "{}: scales attention with the position ({}), which is not supported",
                    file.path(), keys.name("attention.temperature_scale"));
    }
    return c;
}

Result<Weights> llama_weights(const WeightFile& file, const ModelConfig& config) {
    return read_weights(file, config, kTraits);
}

}  // namespace hearth
