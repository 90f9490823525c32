// inspect: logits, likelihoods and forced choices of a sequence.

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/generate/numeric.h"
#include "engine/inspect.h"
#include "engine/model/rope.h"
#include "engine/probe.h"

namespace hearth::inspect {

namespace {

using Ranked = std::vector<std::pair<std::int32_t, float>>;

/// The k highest, of equal ones the lower id first.
Ranked top_of(std::span<const float> row, int k) {
    Ranked all;
    all.reserve(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
        all.push_back({static_cast<std::int32_t>(i), row[i]});
    }
    const auto n = std::min(all.size(), static_cast<std::size_t>(std::max(0, k)));
    const auto before = [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    };
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(), before);
    all.resize(n);
    return all;
}

/// -ln softmax(row)[id]
double nll_of(std::span<const float> row, std::int32_t id) {
    float top = -std::numeric_limits<float>::infinity();
    for (const float x : row) top = std::max(top, x);
    double sum = 0;
    for (const float x : row) {
        const double d = static_cast<double>(x) - static_cast<double>(top);
        if (d > -40.0) sum += own_exp(d);  // smaller ones change no digit, however many
    }
    return own_log(sum) -
           (static_cast<double>(row[static_cast<std::size_t>(id)]) - static_cast<double>(top));
}

Result<void> not_empty(const std::vector<std::int32_t>& ids, std::size_t least) {
    if (ids.size() >= least) return {};
    return fail(Errc::usage, "at least {} token ids are needed, found {}", least, ids.size());
}

}  // namespace

Result<LogitsResult> logits(const std::string& model_path, const std::vector<std::int32_t>& ids,
                            const LogitsOptions& options) {
    HEARTH_TRY_VOID(not_empty(ids, 1));
    HEARTH_TRY(const auto probe,
               Probe::make(model_path, options.engine,
                           {static_cast<int>(ids.size()), options.chunk, options.companions}));
    struct Freer {
        void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
    };
    const std::unique_ptr<XXH3_state_t, Freer> hash(XXH3_createState());
    if (!hash) return fail(Errc::out_of_memory, "there is no memory left for a hash");
    XXH3_128bits_reset(hash.get());
    LogitsResult result;
    const int last = static_cast<int>(ids.size()) - 1;
    HEARTH_TRY_VOID(probe->feed(ids, [&](int position, std::span<const float> row) {
        XXH3_128bits_update(hash.get(), row.data(), row.size_bytes());
        if (options.all_positions || position == last) {
            result.positions.push_back(top_of(row, options.top_k));
        }
    }));
    const XXH128_hash_t h = XXH3_128bits_digest(hash.get());
    result.hash = fmt::format("{:016x}{:016x}", h.high64, h.low64);
    return result;
}

Result<NllResult> nll_ids(const std::string& model_path, const std::vector<std::int32_t>& ids,
                          const EngineOptions& options) {
    HEARTH_TRY_VOID(not_empty(ids, 2));
    const int chunk = options.prefill_chunk > 0 ? options.prefill_chunk : 512;
    HEARTH_TRY(const auto probe,
               Probe::make(model_path, options, {static_cast<int>(ids.size()), chunk, 0}));
    double sum = 0;
    HEARTH_TRY_VOID(probe->feed(ids, [&](int position, std::span<const float> row) {
        const auto next = static_cast<std::size_t>(position) + 1;
        if (next < ids.size()) sum += nll_of(row, ids[next]);
    }));
    NllResult r;
    r.tokens = static_cast<int>(ids.size()) - 1;
    r.mean_nll = sum / r.tokens;
    r.perplexity = own_exp(r.mean_nll);
    return r;
}

Result<NllResult> nll(const std::string& model_path, const std::string& text,
                      const EngineOptions& options) {
    HEARTH_TRY(const auto model, Model::load(model_path));
    const auto ids =
        model->tokenizer->with_bos(model->tokenizer->encode(text, /*parse_special=*/false));
    return nll_ids(model_path, ids, options);
}

Result<ForcedResult> teacher_forced(const std::string& model_path,
                                    const std::vector<std::int32_t>& prompt,
                                    const std::vector<std::int32_t>& forced,
                                    const EngineOptions& options) {
    HEARTH_TRY_VOID(not_empty(prompt, 1));
    const int n = static_cast<int>(prompt.size() + forced.size());
    const int chunk = options.prefill_chunk > 0 ? options.prefill_chunk : 512;
    HEARTH_TRY(const auto probe, Probe::make(model_path, options, {n, chunk, 0}));
    HEARTH_TRY(std::span<const float> row, probe->feed_last(prompt));
    ForcedResult result;
    result.top10 = top_of(row, 10);
    for (std::size_t i = 0; i < forced.size(); ++i) {
        const Ranked best = top_of(row, 2);
        result.steps.push_back({best[0].first, best[0].second - best.back().second});
        if (i + 1 == forced.size()) break;
        HEARTH_TRY(row, probe->feed_last({&forced[i], 1}));
    }
    return result;
}

}  // namespace hearth::inspect
