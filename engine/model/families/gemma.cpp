// gemma2, gemma3: scaled embedding, norms after the branches, GELU gate, local layers with a
// window. The +1 of their norm weights is folded into the file. Gemma 2 has soft caps; Gemma 3 has
// q/k norms and another RoPE base in its local layers.

#include <cmath>

#include "engine/model/families/rows.h"
#include "engine/model/gguf.h"
#include "engine/model/rope.h"

namespace hearth {

namespace {

constexpr FamilyTraits kGemma2{.activation = GatedActivation::gelu_tanh, .post_norms = true};
constexpr FamilyTraits kGemma3{
    .activation = GatedActivation::gelu_tanh, .qk_norm = true, .post_norms = true};

/// True per layer that sees a window only: of every `period` layers all but the last, unless the
/// file says otherwise (a period, or one boolean per layer).
Result<std::vector<bool>> local_layers(const Keys& keys, int n_layers, int period) {
    const std::string name = keys.name("attention.sliding_window_pattern");
    const GgufKey* raw = keys.file().find_key(name);
    std::vector<bool> out(static_cast<std::size_t>(n_layers));
    if (raw != nullptr && raw->type == GgufType::array) {
        HEARTH_TRY(auto found, keys.file().get_ints(name));
        const std::vector<std::int64_t> flags =
            std::move(found).value_or(std::vector<std::int64_t>{});
        if (flags.size() != out.size()) {
            return fail(Errc::model_invalid, "{}: {} has {} elements, expected one per layer ({})",
                        keys.file().path(), name, flags.size(), n_layers);
        }
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = flags[i] != 0;
        return out;
    }
    HEARTH_TRY(const int p, keys.count("attention.sliding_window_pattern", 1, 1024, period));
    for (int i = 0; i < n_layers; ++i) out[static_cast<std::size_t>(i)] = i % p < p - 1;
    return out;
}

/// query_pre_attn_scalar is the head dimension except in the 27B models: hidden size / heads.
void set_scale(ModelConfig& c, int layers_of_27b) {
    if (c.n_layers != layers_of_27b) return;
    const double scalar = static_cast<double>(c.hidden_size) / c.n_heads();
    for (AttentionSpec& a : c.attention) a.scale = static_cast<float>(1.0 / std::sqrt(scalar));
}

Result<ModelConfig> gemma_config(const WeightFile& file, int context_tokens,
                                 const FamilyTraits& traits, int layers_of_27b) {
    HEARTH_TRY(ModelConfig c, read_config(file, traits, context_tokens));
    c.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(c.hidden_size)));
    set_scale(c, layers_of_27b);
    HEARTH_TRY_VOID(apply_explicit_scale(Keys(file, c.family), c));
    return c;
}

Result<float> soft_cap(const Keys& keys, std::string_view key, double fallback) {
    HEARTH_TRY(const double cap, keys.number(key, fallback));
    if (cap < 0) {
        return fail(Errc::model_invalid, "{}: {} is {}, expected a positive number or 0",
                    keys.file().path(), keys.name(key), cap);
    }
    return static_cast<float>(cap);
}

}  // namespace

Result<ModelConfig> gemma2_config(const WeightFile& file, int context_tokens) {
    HEARTH_TRY(ModelConfig c, gemma_config(file, context_tokens, kGemma2, 46));
    const Keys keys(file, c.family);
    HEARTH_TRY(const int window, keys.count("attention.sliding_window", 1, 1 << 30, 4096));
    HEARTH_TRY(const auto local, local_layers(keys, c.n_layers, 2));
    HEARTH_TRY(const float cap, soft_cap(keys, "attn_logit_softcapping", 50.0));
    HEARTH_TRY(c.final_softcap, soft_cap(keys, "final_logit_softcapping", 30.0));
    for (std::size_t i = 0; i < c.attention.size(); ++i) {
        c.attention[i].softcap = cap;
        if (local[i]) c.attention[i].window = window;
    }
    return c;
}

Result<Weights> gemma2_weights(const WeightFile& file, const ModelConfig& config) {
    return read_weights(file, config, kGemma2);
}

Result<ModelConfig> gemma3_config(const WeightFile& file, int context_tokens) {
    HEARTH_TRY(ModelConfig c, gemma_config(file, context_tokens, kGemma3, 62));
    const Keys keys(file, c.family);
    HEARTH_TRY(const int window, keys.count("attention.sliding_window", 1, 1 << 30, 512));
    HEARTH_TRY(const auto local, local_layers(keys, c.n_layers, 6));
    HEARTH_TRY(const float cap, soft_cap(keys, "attn_logit_softcapping", 0));
    HEARTH_TRY(c.final_softcap, soft_cap(keys, "final_logit_softcapping", 0));
    // Local layers keep the original base, unscaled: long contexts pass through global layers only.
    RopeParams rope;
    rope.n_dims = c.attention.front().rope.n_dims;
    HEARTH_TRY(rope.base, keys.number("rope.freq_base_swa", 10000.0));
    if (rope.base <= 1 || rope.base > 1e12) {
        return fail(Errc::model_invalid, "{}: {} is {}, expected a number above 1", file.path(),
                    keys.name("rope.freq_base_swa"), rope.base);
    }
    const RopeSpec local_rope = make_rope(rope);
    for (std::size_t i = 0; i < c.attention.size(); ++i) {
        c.attention[i].softcap = cap;
        if (!local[i]) continue;
        c.attention[i].window = window;
        c.attention[i].rope = local_rope;
    }
    return c;
}

Result<Weights> gemma3_weights(const WeightFile& file, const ModelConfig& config) {
    return read_weights(file, config, kGemma3);
}

}  // namespace hearth
