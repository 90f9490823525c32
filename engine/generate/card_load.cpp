#include "engine/generate/card_load.h"

#include <algorithm>
#include <numeric>

#include "engine/generate/setup.h"

namespace hearth {

namespace {

/// With the first n_cpu layers elsewhere.
CardNeeds needs_of(const CardLoad& l, const StepLimits& limits, const CardBackend& backend,
                   int n_cpu) {
    const auto n_layers = static_cast<std::int64_t>(l.model.weights.layers.size());
    CardNeeds needs;
    needs.wanted_pages = (context_limit(l.options, l.model.config) + kPageTokens - 1) / kPageTokens;
    needs.weights = backend.weight_bytes(every_tensor(l.model.weights, n_cpu));
    needs.activations = Activations::bytes_for(l.model.config, l.max_rows, l.max_outputs);
    needs.workspace = backend.workspace_bytes(limits);
    needs.bytes_per_page = l.page_bytes / n_layers * (n_layers - n_cpu);
    needs.slab_pages = KvCache::kSlabPages;
    needs.context_is_explicit = l.options.context_tokens > 0;
    return needs;
}

}  // namespace

Result<CardPlan> move_to_card(const CardLoad& l, CardBackend& backend,
                              const CardBackend::Progress& progress,
                              std::vector<std::string>& notes) {
    if (!backend.failure().empty()) return fail(Errc::device_lost, "{}", backend.failure());
    const int context = context_limit(l.options, l.model.config);
    const int pages = (context + kPageTokens - 1) / kPageTokens;
    const StepLimits limits =
        step_limits(l.model.config, l.max_rows, l.max_outputs, pages * l.max_outputs);
    const auto needs = [&](int n_cpu) { return needs_of(l, limits, backend, n_cpu); };
    std::int64_t free = backend.free_bytes();
    if (l.options.kv_budget_bytes > 0) {  // the user's limit for KV is one more wall
        const CardNeeds all = needs(0);
        const std::int64_t fixed = all.weights + all.activations + all.workspace;
        const std::int64_t slab = l.page_bytes * std::int64_t{KvCache::kSlabPages};
        free = std::min(free, fixed + kCardMarginBytes + std::max(l.options.kv_budget_bytes, slab));
    }
    HEARTH_TRY(
        const CardPlan plan,
        plan_card_layers(l.path, static_cast<int>(l.model.weights.layers.size()), needs, free));
    notes.push_back(plan.text);
    if (const std::string why =
            backend.load_weights(every_tensor(l.model.weights, plan.n_cpu_layers), progress);
        !why.empty()) {
        return fail(Errc::out_of_memory, "{}: {}", l.path, why);
    }
    if (!backend.reserve(limits)) {
        return fail(Errc::out_of_memory,
                    "{}: the working memory of {} MiB, planned on the card, was taken by another "
                    "program meanwhile; try again",
                    l.path, backend.workspace_bytes(limits) >> 20);
    }
    return plan;
}

Result<void> warm_up(const ForwardPass& pass, KvCache& kv) {
    // The matmul's kernels: to 8 columns, to 16, panels. One token twice: the second is captured.
    for (const int n : {1, 1, 9, 17}) {
        const int rows = std::min(n, pass.activations.max_tokens);
        std::vector<std::int32_t> pages;
        if (!kv.reserve(pages, rows)) return {};
        std::vector<std::int32_t> slots;
        for (const std::int32_t page : pages) slots.push_back(kv.slot(page));
        const std::vector<std::int32_t> tokens(static_cast<std::size_t>(rows), 0);
        const std::int32_t last = rows - 1;
        const SequenceSpan span{0, rows, 0, slots.data(), static_cast<int>(slots.size())};
        pass.run({tokens, {&span, 1}, {&last, 1}}, nullptr);
        kv.cut(pages, 0);
        const std::string failure = as_card(pass.backend)->failure();
        if (!failure.empty()) return fail(Errc::device_lost, "{}", failure);
    }
    return {};
}

}  // namespace hearth
