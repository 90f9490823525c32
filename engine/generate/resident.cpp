#include "engine/generate/resident.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "engine/generate/card_load.h"
#include "engine/generate/setup.h"
#include "engine/speculate/lookup.h"
#include "kernels/device.h"

namespace hearth {

namespace {

/// The context that fits the budget; says so when that is less than the model and options allow.
int fit_context(Resident& r, const EngineOptions& options, int n_pages, std::int64_t page_bytes) {
    const ModelConfig& config = r.model->config;
    const int limit = context_limit(options, config);
    if (options.context_tokens > limit) {
        r.notes.push_back(fmt::format(
            "the context is limited to {} tokens: {} was trained for no more", limit, config.name));
    }
    const int fits = static_cast<int>(
        std::min<std::int64_t>(std::int64_t{n_pages} * kPageTokens, std::int64_t{limit}));
    if (fits < limit) {
        r.notes.push_back(fmt::format(
            "the context is limited to {} of {} tokens: its KV cache may use {} MiB; allow more "
            "memory for it or close other programs",
            fits, limit, (std::int64_t{n_pages} * page_bytes) >> 20));
    }
    return fits;
}

std::unique_ptr<DiskCache> make_disk_cache(const Resident& r, const EngineOptions& options,
                                           DType kv_type, const Backend& backend) {
    const std::int64_t budget = options.cache_budget_bytes > 0
                                    ? options.cache_budget_bytes
                                    : automatic_cache_budget(options.cache_dir);
    return std::make_unique<DiskCache>(
        RecordStore(options.cache_dir, budget),
        kv_identity(*r.model, kv_type, r.placement(backend.info().name)), r.model->config.name,
        *r.kv, *r.prefixes);
}

int most_rows(const Resident& r) { return r.chunk.largest() + kMostSequences; }

}  // namespace

Result<std::unique_ptr<Resident>> Resident::load(const std::string& path,
                                                 const EngineOptions& options, Backend& backend,
                                                 const CardBackend::Progress& progress) {
    const auto start = std::chrono::steady_clock::now();
    auto r = std::make_unique<Resident>();
    r->path = path;
    HEARTH_TRY(r->model, load_model(path, options));
    const Model& model = *r->model;
    model.file->will_need();
    for (const std::string& warning : model.tokenizer->warnings()) r->notes.push_back(warning);
    r->chat_template = model_template(model);
    if (!r->chat_template.note.empty()) r->notes.push_back(r->chat_template.note);
    HEARTH_TRY(const DType dtype, kv_dtype(options));
    const std::int64_t page_bytes = KvCache::bytes_per_page(model.config, dtype);
    r->chunk = ChunkSize(options.prefill_chunk, model.weight_bytes());
    int n_pages = 0;
    CardBackend* const card = as_card(backend);
    if (card != nullptr) {
        const CardLoad load{model, path, options, page_bytes, most_rows(*r), kMostSequences};
        HEARTH_TRY(const CardPlan plan, move_to_card(load, *card, progress, r->notes));
        n_pages = static_cast<int>(plan.pages);
        r->card_bytes = plan.total;
        if (plan.n_cpu_layers > 0) {
            HEARTH_TRY(r->cpu, CpuLayers::make(options, plan.n_cpu_layers));
        }
    } else {
        n_pages = budget_pages(options, page_bytes);
    }
    std::vector<KvCache::Bank> banks;
    if (r->cpu.n > 0) banks.push_back({r->cpu.backend.get(), r->cpu.n});
    banks.push_back({&backend, static_cast<int>(model.weights.layers.size()) - r->cpu.n});
    auto kv = KvCache::make(model.config, banks, dtype, n_pages, options.permute_pages);
    // An automatic budget makes do with the address space that there is.
    while (!kv && options.kv_budget_bytes == 0 && n_pages > KvCache::kSlabPages) {
        n_pages /= 2;
        kv = KvCache::make(model.config, banks, dtype, n_pages, options.permute_pages);
    }
    if (!kv) return tl::unexpected<Error>(std::move(kv.error()));
    r->kv = std::move(*kv);
    r->context_tokens = fit_context(*r, options, n_pages, page_bytes);
    r->prefixes = std::make_unique<PrefixCache>(*r->kv);
    if (!options.cache_dir.empty() && options.cache_budget_bytes >= 0)
        r->disk = make_disk_cache(*r, options, dtype, backend);
    r->self_check = options.self_check;
    HEARTH_TRY(r->activations,
               Activations::make(model.config, backend, most_rows(*r), kMostSequences));
    if (r->cpu.n > 0) {
        HEARTH_TRY(r->cpu.activations,
                   Activations::make(model.config, *r->cpu.backend, most_rows(*r), kMostSequences));
    }
    if (card != nullptr) {
        HEARTH_TRY_VOID(warm_up(r->pass(backend), *r->kv));
    }
    r->speculator = std::make_unique<Speculator>(
        model.tokenizer->vocab_size(),
        [tokenizer = model.tokenizer.get()](std::int32_t id) { return tokenizer->is_eog(id); });
    r->speculator->add(std::make_unique<LookupDrafter>());
    r->load_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return r;
}

std::string Resident::placement(const std::string& name) const {
    if (cpu.n == 0) return name;
    return fmt::format("{}, {} of {} layers on the CPU", name, cpu.n, model->weights.layers.size());
}

void Resident::set_draft(const std::string& draft_file,
                         Result<std::unique_ptr<ModelDrafter>> drafter) {
    Result<void> good;
    if (drafter)
        good = (*drafter)->pair_with(*model);
    else
        good = tl::unexpected<Error>(drafter.error());
    if (!good) {
        bad_drafts[draft_file] = good.error().what;
        const std::string name = drafter ? (*drafter)->model().config.name
                                         : draft_file.substr(draft_file.rfind('/') + 1);
        notes.push_back(fmt::format("{} cannot draft for {}: {}; answers come without it", name,
                                    model->config.name, good.error().what));
        return;
    }
    if (!(*drafter)->pairing().note.empty()) notes.push_back((*drafter)->pairing().note);
    speculator->remove_models();
    speculator->add(std::move(*drafter), draft_file);
    draft_path = draft_file;
}

}  // namespace hearth
