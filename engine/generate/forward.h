#pragma once
// One forward pass over a batch, on one backend or shared: the first layers on the CPU, the rest
// and the head on the card. Each layer's keys and values lie where it computes.

#include <atomic>
#include <memory>
#include <span>

#include "engine/engine.h"
#include "engine/model/decode.h"
#include "engine/model/model.h"
#include "kernels/backend.h"

namespace hearth {

/// The layers that found no room on the card.
struct CpuLayers {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Activations> activations;
    int n = 0;  ///< layers [0, n)

    /// Its activations are made later, for steps of a known size.
    static Result<CpuLayers> make(const EngineOptions& options, int n);
};

struct ForwardPass {
    const Model& model;
    std::span<const KvLayer> kv;
    Activations& activations;  ///< of `backend`; logits come to lie there
    Backend& backend;
    CpuLayers& cpu;

    /// False: a stop was seen, or the card failed; what the step wrote is undefined.
    bool run(const BatchView& batch, const std::atomic<bool>* stop) const;
};

}  // namespace hearth
