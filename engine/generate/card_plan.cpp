#include "engine/generate/card_plan.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace hearth {

namespace {

/// Rounded up: a need is never shown smaller than it is.
std::int64_t mib(std::int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

}  // namespace

Result<CardPlan> plan_card(const std::string& model, const CardNeeds& n, std::int64_t free_bytes) {
    const std::int64_t fixed = n.weights + n.activations + n.workspace;
    const std::int64_t slab = n.slab_pages * n.bytes_per_page;
    const std::int64_t left = std::max<std::int64_t>(free_bytes - kCardMarginBytes - fixed, 0);
    const std::int64_t fitting = left / slab * n.slab_pages;
    const std::int64_t wanted = (n.wanted_pages + n.slab_pages - 1) / n.slab_pages * n.slab_pages;
    if (fitting == 0) {
        return fail(
            Errc::out_of_memory,
            "{}: does not fit on the card: weights {} MiB, working memory {} MiB and {} MiB "
            "for the shortest context make {} MiB, with {} MiB kept free; {} MiB are free "
            "there now; close other programs, take a smaller model or quantization, or use "
            "the processor (--isa auto)",
            model, mib(n.weights), mib(n.activations + n.workspace), mib(slab), mib(fixed + slab),
            mib(kCardMarginBytes), free_bytes >> 20);
    }
    if (n.context_is_explicit && wanted > fitting) {
        return fail(
            Errc::out_of_memory,
            "{}: a context of {} tokens does not fit on the card: weights {} MiB, working "
            "memory {} MiB and KV {} MiB, with {} MiB kept free; {} MiB are free there now; "
            "the largest context that fits is {} tokens",
            model, n.wanted_pages * kPageTokens, mib(n.weights), mib(n.activations + n.workspace),
            mib(wanted * n.bytes_per_page), mib(kCardMarginBytes), free_bytes >> 20,
            fitting * kPageTokens);
    }
    CardPlan plan;
    // Room for a few conversations of full length, never all of the card.
    plan.pages = std::min(fitting, std::max(wanted, std::min(4 * wanted, fitting / 2)));
    plan.pages = std::max(plan.pages / n.slab_pages * n.slab_pages, n.slab_pages);
    plan.kv_bytes = plan.pages * n.bytes_per_page;
    plan.total = fixed + plan.kv_bytes;
    plan.text = fmt::format(
        "on the card: weights {} MiB, keys and values {} MiB for {} tokens, working memory {} MiB, "
        "{} MiB in all of {} MiB that are free",
        mib(n.weights), mib(plan.kv_bytes), plan.pages * kPageTokens,
        mib(n.activations + n.workspace), mib(plan.total), free_bytes >> 20);
    return plan;
}

Result<CardPlan> plan_card_layers(const std::string& model, int n_layers,
                                  const std::function<CardNeeds(int)>& needs,
                                  std::int64_t free_bytes) {
    auto whole = plan_card(model, needs(0), free_bytes);
    if (whole) return whole;
    // The weights fit, but not with that context: it is said what does. Slower is not chosen by us.
    CardNeeds shortest = needs(0);
    shortest.wanted_pages = 1;
    if (plan_card(model, shortest, free_bytes)) return whole;
    for (int n = 1; n < n_layers; ++n) {
        const CardNeeds with = needs(n);
        auto plan = plan_card(model, with, free_bytes);
        if (!plan || plan->pages < with.wanted_pages) continue;
        plan->n_cpu_layers = n;
        plan->text = fmt::format("{} of {} layers find no room on the card and run on the CPU, {}",
                                 n, n_layers, plan->text);
        return plan;
    }
    return whole;
}

StepLimits step_limits(const ModelConfig& c, int max_tokens, int max_outputs, int n_pages) {
    StepLimits l;
    l.rows = max_tokens;
    l.outputs = max_outputs;
    l.vocab_size = c.vocab_size;
    l.pages = n_pages;
    l.widest_input = std::max(c.hidden_size, c.intermediate_size);
    std::vector<const RopeSpec*> ropes;
    for (const AttentionSpec& a : c.attention) {
        l.widest_input = std::max(l.widest_input, std::int64_t{a.n_heads} * a.head_dim);
        l.n_kv_heads = std::max(l.n_kv_heads, a.n_kv_heads);
        l.head_dim = std::max(l.head_dim, a.head_dim);
        l.heads_per_kv = std::max(l.heads_per_kv, a.n_heads / a.n_kv_heads);
        const auto same = [&](const RopeSpec* r) {
            return r->n_dims == a.rope.n_dims && r->inv_freq == a.rope.inv_freq &&
                   r->magnitude == a.rope.magnitude && r->pairing == a.rope.pairing;
        };
        if (std::none_of(ropes.begin(), ropes.end(), same)) {
            ropes.push_back(&a.rope);
            l.rope_floats += a.rope.n_dims;
        }
    }
    return l;
}

}  // namespace hearth
