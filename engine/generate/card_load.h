#pragma once
// A model moves onto a card: the plan, said before anything is taken, the upload, the working
// memory, the first steps. Knows the engine's limits of a step; does not know what is computed.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/kv_cache.h"
#include "engine/engine.h"
#include "engine/generate/card_plan.h"
#include "engine/generate/forward.h"
#include "engine/model/model.h"
#include "kernels/device.h"

namespace hearth {

struct CardLoad {
    const Model& model;
    const std::string& path;
    const EngineOptions& options;
    std::int64_t page_bytes;  ///< KV of a page, all layers
    int max_rows, max_outputs;
};

/// Plans the card's memory, says so in `notes`, and takes that of weights and kernels; KV cache and
/// activations are taken by whoever owns them, as planned. Errors: out_of_memory, device_lost.
Result<CardPlan> move_to_card(const CardLoad& load, CardBackend& backend,
                              const CardBackend::Progress& progress,
                              std::vector<std::string>& notes);

/// One step of each kind (one token, some, many), so that the driver loads the kernels now and not
/// at the first question. The pages it takes go back.
/// pass.backend is a card.
Result<void> warm_up(const ForwardPass& pass, KvCache& kv);

}  // namespace hearth
