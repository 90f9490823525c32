#pragma once
// Frequencies of rotary embeddings with the scaling that a model file asks for: none, linear,
// llama3, YaRN, LongRoPE (specs/seed-methods.md section 12). Own arithmetic, never libm's: the
// table is part of what a cache record means.

#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/weight_file.h"
#include "kernels/backend.h"

namespace hearth {

enum class RopeScaling : std::uint8_t { none, linear, llama3, yarn, longrope };

struct RopeParams {
    RopePairing pairing = RopePairing::half_split;
    int n_dims = 0;
    double base = 10000.0;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1.0;
    double original_context = 0;  ///< tokens the model was first trained on
    double max_context = 0;       ///< tokens it claims now
    double attention_factor = 0;  ///< explicit: replaces the computed one; 0 = computed
    double beta_fast = 32, beta_slow = 1;
    double log_multiplier = 0;                         ///< YaRN mscale_all_dim; 0 = absent
    double low_freq_factor = 1, high_freq_factor = 4;  ///< llama3
    std::vector<double> divisors;  ///< (n_dims / 2): rope_freqs, or LongRoPE's chosen list
};

/// Su et al. 2021, eq. 34, with the scaling folded in.
RopeSpec make_rope(const RopeParams& params);

/// Reads "<arch>.rope.*" and the divisor tensors. `context_tokens` is the context that will be
/// used (0 = the trained one): LongRoPE takes its long list when it exceeds the original context.
Result<RopeParams> read_rope(const WeightFile& file, const std::string& architecture,
                             RopePairing pairing, int head_dim, int context_length,
                             int context_tokens);

/// Natural logarithm for x > 0, within 2 ulp; no libm.
double own_log(double x);

}  // namespace hearth
