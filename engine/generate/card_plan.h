#pragma once
// CardPlan: what a model takes on a card, to the byte, before anything is allocated. A pure
// function of sizes; whoever allocates afterwards takes exactly this. Knows no device.

#include <cstdint>
#include <functional>
#include <string>

#include "engine/base/result.h"
#include "engine/model/config.h"
#include "kernels/device.h"

namespace hearth {

/// Left free on the card: the driver's own allocations, a desktop that grows.
inline constexpr std::int64_t kCardMarginBytes = std::int64_t{256} << 20;

struct CardNeeds {
    std::int64_t weights = 0;         ///< bytes, as Backend::weight_bytes says
    std::int64_t activations = 0;     ///< of the largest step
    std::int64_t workspace = 0;       ///< of the kernels, as Backend::workspace_bytes says
    std::int64_t bytes_per_page = 0;  ///< KV of 16 tokens, all layers
    std::int64_t slab_pages = 1;      ///< pages come in whole slabs
    std::int64_t wanted_pages = 0;    ///< for the context that was asked for
    bool context_is_explicit = false;
};

struct CardPlan {
    int n_cpu_layers = 0;    ///< the first ones, for which there is no room on the card
    std::int64_t pages = 0;  ///< KV pages, whole slabs
    std::int64_t kv_bytes = 0;
    std::int64_t total = 0;  ///< all of it
    std::string text;        ///< one line for the user
};

/// Errors: out_of_memory, with the largest context that fits where an explicit one does not.
Result<CardPlan> plan_card(const std::string& model, const CardNeeds& needs,
                           std::int64_t free_bytes);
/// The same, with as few of the n_layers layers on the CPU as make the weights fit beside the
/// context that is wanted. needs(n) with n of them there. Errors: those of plan_card for the whole
/// model.
Result<CardPlan> plan_card_layers(const std::string& model, int n_layers,
                                  const std::function<CardNeeds(int)>& needs,
                                  std::int64_t free_bytes);

/// Limits of the steps of a model.
StepLimits step_limits(const ModelConfig& config, int max_tokens, int max_outputs, int n_pages);

}  // namespace hearth
