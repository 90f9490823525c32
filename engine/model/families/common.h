#pragma once
// What the families share: one reader of metadata and one of tensors, steered by a row of traits.
// A family's own file holds only what makes it different.

#include <string>
#include <string_view>

#include "engine/model/families.h"
#include "kernels/backend.h"

namespace hearth {

struct FamilyTraits {
    RopePairing pairing = RopePairing::half_split;
    GatedActivation activation = GatedActivation::silu;
    bool qkv_bias = false;    ///< required; other families may carry them too
    bool qk_norm = false;     ///< attn_q_norm, attn_k_norm per head, before RoPE
    bool post_norms = false;  ///< post_attention_norm, post_ffw_norm on the branches
    bool fused = false;       ///< attn_qkv (q, k, v rows); ffn_up holds gate rows, then up rows
};

/// Typed, range-checked keys below "<architecture>.".
class Keys {
  public:
    explicit Keys(const WeightFile& file, std::string_view architecture);

    const WeightFile& file() const { return file_; }
    std::string name(std::string_view key) const;
    /// A count from `low` to `high`. An array is accepted when all its elements are equal.
    /// Error when it is missing and has no fallback (fallback < 0).
    Result<int> count(std::string_view key, std::int64_t low, std::int64_t high,
                      std::int64_t fallback = -1) const;
    /// A finite number; `fallback` when missing.
    Result<double> number(std::string_view key, double fallback) const;

  private:
    const WeightFile& file_;
    std::string prefix_;
};

/// Everything but windows, soft caps and scales that are a family's own: shapes, eps, one
/// AttentionSpec per layer with the global RoPE. `context_tokens` chooses LongRoPE's list.
Result<ModelConfig> read_config(const WeightFile& file, const FamilyTraits& traits,
                                int context_tokens);

/// Finds every tensor, compares its shape with `config`, refuses what would be left unused.
Result<Weights> read_weights(const WeightFile& file, const ModelConfig& config,
                             const FamilyTraits& traits);

/// `<arch>.attention.scale` replaces what the family computed.
Result<void> apply_explicit_scale(const Keys& keys, ModelConfig& config);

}  // namespace hearth
