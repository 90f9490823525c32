#include "engine/generate/resident.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "engine/generate/card_plan.h"
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
    return std::make_unique<DiskCache>(RecordStore(options.cache_dir, budget),
                                       kv_identity(*r.model, kv_type, backend.info().name),
                                       r.model->config.name, *r.kv, *r.prefixes);
}

int most_rows(const Resident& r) { return r.chunk.largest() + kMostSequences; }

/// Plans the card's memory, says so, and takes that of weights and kernels. Pages for the KV cache.
Result<int> move_to_card(Resident& r, const EngineOptions& options, std::int64_t page_bytes,
                         CardBackend& backend) {
    const Model& model = *r.model;
    const std::vector<TensorView> tensors = every_tensor(model.weights);
    CardNeeds needs;
    needs.wanted_pages = (context_limit(options, model.config) + kPageTokens - 1) / kPageTokens;
    const StepLimits limits = step_limits(model.config, most_rows(r), kMostSequences,
                                          static_cast<int>(needs.wanted_pages) * kMostSequences);
    needs.weights = backend.weight_bytes(tensors);
    needs.activations = Activations::bytes_for(model.config, most_rows(r), kMostSequences);
    needs.workspace = backend.workspace_bytes(limits);
    needs.bytes_per_page = page_bytes;
    needs.slab_pages = KvCache::kSlabPages;
    needs.context_is_explicit = options.context_tokens > 0;
    std::int64_t free = backend.free_bytes();
    if (options.kv_budget_bytes > 0) {  // the user's limit for KV is one more wall
        const std::int64_t fixed = needs.weights + needs.activations + needs.workspace;
        free = std::min(free, fixed + kCardMarginBytes +
                                  std::max(options.kv_budget_bytes,
                                           page_bytes * std::int64_t{KvCache::kSlabPages}));
    }
    HEARTH_TRY(const CardPlan plan, plan_card(r.path, needs, free));
    r.notes.push_back(plan.text);
    if (const std::string why = backend.load_weights(tensors, {}); !why.empty()) {
        return fail(Errc::out_of_memory, "{}: {}", r.path, why);
    }
    if (!backend.reserve(limits)) {
        return fail(Errc::out_of_memory,
                    "{}: the working memory of {} MiB, planned on the card, was taken by another "
                    "program meanwhile; try again",
                    r.path, needs.workspace >> 20);
    }
    return static_cast<int>(plan.pages);
}

}  // namespace

Result<std::unique_ptr<Resident>> Resident::load(const std::string& path,
                                                 const EngineOptions& options, Backend& backend) {
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
    if (CardBackend* const card = as_card(backend)) {
        HEARTH_TRY(n_pages, move_to_card(*r, options, page_bytes, *card));
    } else {
        n_pages = budget_pages(options, page_bytes);
    }
    auto kv = KvCache::make(model.config, backend, dtype, n_pages, options.permute_pages);
    // An automatic budget makes do with the address space that there is.
    while (!kv && options.kv_budget_bytes == 0 && n_pages > KvCache::kSlabPages) {
        n_pages /= 2;
        kv = KvCache::make(model.config, backend, dtype, n_pages, options.permute_pages);
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
    r->speculator = std::make_unique<Speculator>(
        model.tokenizer->vocab_size(),
        [tokenizer = model.tokenizer.get()](std::int32_t id) { return tokenizer->is_eog(id); });
    r->speculator->add(std::make_unique<LookupDrafter>());
    r->load_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return r;
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
