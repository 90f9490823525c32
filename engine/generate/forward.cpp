#include "engine/generate/forward.h"

#include "engine/generate/setup.h"

namespace hearth {

Result<CpuLayers> CpuLayers::make(const EngineOptions& options, int n) {
    EngineOptions on_cpu = options;
    on_cpu.isa = "auto";
    CpuLayers c;
    HEARTH_TRY(c.backend, make_backend(on_cpu));
    c.n = n;
    return c;
}

bool ForwardPass::run(const BatchView& batch, const std::atomic<bool>* stop) const {
    const ModelConfig& config = model.config;
    const Weights& weights = model.weights;
    const int n_layers = static_cast<int>(weights.layers.size());
    if (cpu.n > 0) {
        const Activations& from = *cpu.activations;
        cpu.backend->begin(batch);
        decode_layers(config, weights, batch, kv, *cpu.activations, *cpu.backend, 0, cpu.n);
        if (!cpu.backend->run(stop)) return false;
        const auto rows = static_cast<std::int64_t>(batch.tokens.size());
        backend.copy(activations.x.data, from.x.data,
                     static_cast<std::size_t>(rows * from.x.stride) * sizeof(float));
    }
    backend.begin(batch);
    decode_layers(config, weights, batch, kv, activations, backend, cpu.n, n_layers);
    decode_head(config, weights, batch, activations, backend);
    return backend.run(stop);
}

}  // namespace hearth
