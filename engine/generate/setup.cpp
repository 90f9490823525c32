#include "engine/generate/setup.h"

#include <algorithm>
#include <limits>

#include "engine/base/memory.h"
#include "kernels/device.h"

namespace hearth {

namespace {

struct IsaName {
    std::string_view name;
    CpuIsa isa;
};
constexpr IsaName kIsaNames[] = {
    {"auto", CpuIsa::automatic},  {"scalar", CpuIsa::scalar},   {"avx2", CpuIsa::avx2},
    {"avxvnni", CpuIsa::avxvnni}, {"vnni256", CpuIsa::vnni256}, {"avx512", CpuIsa::avx512},
};

std::string supported_isas() {
    std::string list;
    for (const CpuIsa isa : supported_cpu_isas()) {
        for (const IsaName& n : kIsaNames) {
            if (n.isa == isa) list += (list.empty() ? "" : ", ") + std::string(n.name);
        }
    }
    return list;
}

/// Address space is cheap but not endless: a pool is never larger than this.
constexpr std::int64_t kMostPages = 1 << 18;

}  // namespace

Result<void> check_options(const EngineOptions& o) {
    const auto check = [](std::int64_t value, std::int64_t low, std::int64_t high,
                          const char* name) -> Result<void> {
        if (value >= low && value <= high) return {};
        return fail(Errc::usage, "the option {} must be between {} and {}, found {}", name, low,
                    high, value);
    };
    HEARTH_TRY_VOID(check(o.n_threads, 0, 1024, "threads"));
    HEARTH_TRY_VOID(check(o.context_tokens, 0, 1 << 24, "context"));
    HEARTH_TRY_VOID(check(o.prefill_chunk, 0, 4096, "prefill chunk"));
    HEARTH_TRY_VOID(check(o.keep_alive_s, -1, std::numeric_limits<int>::max(), "keep-alive"));
    HEARTH_TRY_VOID(check(o.kv_budget_bytes, 0, std::int64_t{1} << 50, "KV budget"));
    HEARTH_TRY_VOID(check(o.cache_budget_bytes, -1, std::int64_t{1} << 50, "cache budget"));
    HEARTH_TRY_VOID(kv_dtype(o));
    return {};
}

Result<std::unique_ptr<Backend>> make_backend(const EngineOptions& options) {
    if (options.isa == "cuda") {
        std::string why;
        std::unique_ptr<Backend> card = make_card_backend({}, why);
        if (card == nullptr) {
            return fail(Errc::no_gpu, "the card was asked for (isa cuda), but {}", why);
        }
        return card;
    }
    const auto it = std::find_if(std::begin(kIsaNames), std::end(kIsaNames),
                                 [&](const IsaName& n) { return n.name == options.isa; });
    if (it == std::end(kIsaNames)) {
        return fail(Errc::usage,
                    "unknown instruction set '{}'; this processor has auto, {}; a card is cuda",
                    options.isa, supported_isas());
    }
    auto backend = make_cpu_backend({options.n_threads, it->isa});
    if (backend == nullptr) {
        return fail(Errc::usage, "this processor cannot execute the instruction set {}; it has {}",
                    options.isa, supported_isas());
    }
    return backend;
}

Result<void> place_weights(const Model& model, Backend& backend) {
    CardBackend* const card = as_card(backend);
    if (card == nullptr) return {};
    const std::vector<TensorView> tensors = every_tensor(model.weights);
    const std::int64_t needed = card->weight_bytes(tensors), free = card->free_bytes();
    if (needed > free) {
        return fail(Errc::out_of_memory,
                    "{}: its weights need {} MiB on the card, {} MiB are free there; close other "
                    "programs, take a smaller model or quantization, or use the processor "
                    "(--isa auto)",
                    model.file->path(), needed >> 20, free >> 20);
    }
    const std::string why = card->load_weights(tensors, {});
    if (why.empty()) return {};
    return fail(Errc::out_of_memory, "{}: {}", model.file->path(), why);
}

std::string backend_text(const Backend& backend) {
    return backend.info().name + " " + backend.info().detail;
}

Result<DType> kv_dtype(const EngineOptions& options) {
    if (options.kv_type == "f16") return DType::f16;
    if (options.kv_type == "bf16") return DType::bf16;
    return fail(Errc::usage, "the KV type must be f16 or bf16, found '{}'", options.kv_type);
}

Result<std::unique_ptr<Model>> load_model(const std::string& path, const EngineOptions& options) {
    return Model::load(path, options.context_tokens > 0 ? options.context_tokens : kDefaultContext);
}

int context_limit(const EngineOptions& options, const ModelConfig& config) {
    const int wanted = options.context_tokens > 0 ? options.context_tokens : kDefaultContext;
    return config.context_length > 0 ? std::min(wanted, config.context_length) : wanted;
}

int budget_pages(const EngineOptions& options, std::int64_t bytes_per_page) {
    std::int64_t budget = options.kv_budget_bytes;
    if (budget == 0) {
        const std::int64_t free = free_memory_bytes();
        budget = free > 0 ? free / 2 : std::int64_t{1} << 30;
    }
    return static_cast<int>(std::clamp<std::int64_t>(budget / bytes_per_page, 1, kMostPages));
}

}  // namespace hearth
