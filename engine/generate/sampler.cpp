#include "engine/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "engine/generate/numeric.h"
#include "engine/generate/philox.h"
#include "engine/model/rope.h"

namespace hearth {

namespace {

using Candidate = Sampler::Candidate;
using Candidates = std::vector<Candidate>;

constexpr float kNever = -std::numeric_limits<float>::infinity();

/// The order of everything below: higher logit first, of equal ones the lower id. It is total, so
/// no result depends on a library's sorting.
bool before(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

float highest(const Candidates& c) {
    return std::max_element(
               c.begin(), c.end(),
               [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; })
        ->logit;
}

/// Unnormalized probability at temperature t.
double weight(const Candidate& c, float top, double t) {
    return own_exp((static_cast<double>(c.logit) - static_cast<double>(top)) / t);
}

/// Sum of weights in the order in which the candidates stand: ascending ids, or `before` once a
/// filter has cut.
double total_weight(const Candidates& c, float top, double t) {
    double sum = 0;
    for (const Candidate& x : c) sum += weight(x, top, t);
    return sum;
}

/// Sorts the first n (at least) by `before`; returns how many are sorted.
std::size_t sort_first(Candidates& c, std::size_t n) {
    n = std::min(n, c.size());
    const auto end = c.begin() + static_cast<std::ptrdiff_t>(n);
    if (n < c.size()) std::nth_element(c.begin(), end, c.end(), before);
    std::sort(c.begin(), end, before);
    return n;
}

/// Index of the first candidate, in order of `before`, at which the running sum of weights
/// reaches `target` (exceeds it, when strict); the last one when none does.
std::size_t find_cumulative(Candidates& c, float top, double t, double target, bool strict) {
    double sum = 0;
    std::size_t i = 0;
    for (std::size_t n = 64;; n *= 8) {
        // Sorting again from the start costs less than it saves: the mass is at the front.
        for (const std::size_t sorted = sort_first(c, n); i < sorted; ++i) {
            sum += weight(c[i], top, t);
            if (strict ? sum > target : sum >= target) return i;
        }
        if (i == c.size()) return i - 1;
    }
}

// --- stages, in order ----------------------------------------------------------------------------

void apply_bias(Candidates& c, const SamplingParams& p) {
    for (const auto& [id, bias] : p.logit_bias) c[static_cast<std::size_t>(id)].logit += bias;
}

/// Keskar et al. 2019 (repeat), with the sign rule of llama.cpp; frequency and presence as in the
/// OpenAI interface. `window` is sorted.
void apply_penalties(Candidates& c, const SamplingParams& p,
                     const std::vector<std::int32_t>& window) {
    for (auto it = window.begin(); it != window.end();) {
        const auto end = std::find_if(it, window.end(), [&](std::int32_t id) { return id != *it; });
        const auto count = static_cast<float>(end - it);
        if (*it >= 0 && *it < static_cast<std::int32_t>(c.size())) {
            float& logit = c[static_cast<std::size_t>(*it)].logit;
            logit = logit <= 0 ? logit * p.repeat_penalty : logit / p.repeat_penalty;
            logit -= count * p.frequency_penalty;
            logit -= p.presence_penalty;
        }
        it = end;
    }
}

void keep_top_k(Candidates& c, int k) {
    if (k <= 0 || static_cast<std::size_t>(k) >= c.size()) return;
    c.resize(sort_first(c, static_cast<std::size_t>(k)));
}

/// Meister et al. 2022: the smallest set of those whose surprise is nearest the entropy with mass
/// of at least p.
void keep_typical(Candidates& c, double p) {
    if (p >= 1.0) return;
    const float top = highest(c);
    const double total = total_weight(c, top, 1.0);
    const double log_total = own_log(total);
    const auto surprise = [&](const Candidate& x) {
        return log_total - (static_cast<double>(x.logit) - static_cast<double>(top));
    };
    double entropy = 0;
    for (const Candidate& x : c) {
        const double w = weight(x, top, 1.0);
        if (w > 0) entropy += w / total * surprise(x);
    }
    std::vector<std::pair<double, Candidate>> by_distance;
    by_distance.reserve(c.size());
    for (const Candidate& x : c) {
        const double d = surprise(x) - entropy;
        by_distance.push_back({d < 0 ? -d : d, x});
    }
    std::sort(by_distance.begin(), by_distance.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : before(a.second, b.second);
    });
    c.clear();
    double sum = 0;
    for (const auto& [distance, x] : by_distance) {
        c.push_back(x);
        sum += weight(x, top, 1.0);
        if (sum >= p * total) break;
    }
    std::sort(c.begin(), c.end(), before);
}

/// Holtzman et al. 2020: the most likely ones whose mass reaches p.
void keep_top_p(Candidates& c, double p) {
    if (p >= 1.0) return;
    const float top = highest(c);
    const double total = total_weight(c, top, 1.0);
    const std::size_t last = find_cumulative(c, top, 1.0, p * total, /*strict=*/false);
    c.resize(last + 1);
}

/// Nguyen et al. 2024: those at least min_p times as likely as the most likely one.
void keep_min_p(Candidates& c, double min_p) {
    if (min_p <= 0.0) return;
    const float top = highest(c);
    std::erase_if(c, [&](const Candidate& x) { return weight(x, top, 1.0) < min_p; });
}

std::int32_t draw(Candidates& c, double temperature, double u) {
    const float top = highest(c);
    const double total = total_weight(c, top, temperature);
    const std::size_t i = find_cumulative(c, top, temperature, u * total, /*strict=*/true);
    return c[i].id;
}

bool has_penalties(const SamplingParams& p) {
    return p.repeat_last_n != 0 &&
           (p.repeat_penalty != 1.0f || p.frequency_penalty != 0.0f || p.presence_penalty != 0.0f);
}

bool is_finite(float x) { return x - x == 0.0f; }

}  // namespace

Result<void> check_sampling(const SamplingParams& p, int n_tokens) {
    const auto check = [](bool good, const char* name, const char* allowed,
                          double value) -> Result<void> {
        if (good) return {};
        return fail(Errc::usage, "the sampling parameter {} must be {}, found {}", name, allowed,
                    value);
    };
    const auto number = [&](float v, float low, float high, const char* name, const char* allowed) {
        return check(v >= low && v <= high, name, allowed, static_cast<double>(v));
    };
    HEARTH_TRY_VOID(number(p.temperature, 0, 1000, "temperature", "between 0 and 1000"));
    HEARTH_TRY_VOID(check(p.top_k >= 0, "top_k", "0 (off) or more", p.top_k));
    HEARTH_TRY_VOID(number(p.top_p, 0, 1, "top_p", "between 0 and 1"));
    HEARTH_TRY_VOID(number(p.min_p, 0, 1, "min_p", "between 0 and 1"));
    HEARTH_TRY_VOID(number(p.typical_p, 0, 1, "typical_p", "between 0 and 1"));
    HEARTH_TRY_VOID(check(p.repeat_penalty > 0 && p.repeat_penalty <= 1000, "repeat_penalty",
                          "above 0 and at most 1000", static_cast<double>(p.repeat_penalty)));
    HEARTH_TRY_VOID(
        number(p.frequency_penalty, -1000, 1000, "frequency_penalty", "between -1000 and 1000"));
    HEARTH_TRY_VOID(
        number(p.presence_penalty, -1000, 1000, "presence_penalty", "between -1000 and 1000"));
    HEARTH_TRY_VOID(check(p.repeat_last_n >= -1, "repeat_last_n", "-1 (whole context) or more",
                          p.repeat_last_n));
    HEARTH_TRY_VOID(check(p.max_tokens >= -1, "max_tokens",
                          "-1 (until the context is full) or more", p.max_tokens));
    for (const auto& [id, bias] : p.logit_bias) {
        if (id < 0 || id >= n_tokens) {
            return fail(Errc::usage,
                        "logit_bias names the token id {}, but this model's ids go from 0 to {}",
                        id, n_tokens - 1);
        }
        HEARTH_TRY_VOID(check(is_finite(bias) || bias == kNever, "logit_bias",
                              "a number, or minus infinity", static_cast<double>(bias)));
    }
    return {};
}

Sampler::Sampler(SamplingParams params, int n_tokens, std::vector<std::int32_t> banned)
    : params_(std::move(params)),
      n_tokens_(n_tokens),
      banned_(std::move(banned)) {}

Result<std::int32_t> Sampler::sample(std::span<const float> logits,
                                     std::span<const std::int32_t> history) {
    HEARTH_CHECK(n_tokens_ > 0 && logits.size() >= static_cast<std::size_t>(n_tokens_));
    Candidates& c = candidates_;
    c.resize(static_cast<std::size_t>(n_tokens_));
    float sum = 0;  // stays zero unless some logit is not finite: one pass without a branch
    for (std::size_t i = 0; i < c.size(); ++i) {
        c[i] = {logits[i], static_cast<std::int32_t>(i)};
        sum += logits[i] * 0.0f;
    }
    if (!is_finite(sum)) {
        return fail(Errc::failed,
                    "the model computed a value that is not a number for the token at position {}; "
                    "the model file may be damaged: verify or download it again",
                    history.size());
    }
    apply_bias(c, params_);
    for (const std::int32_t id : banned_) {
        if (id >= 0 && id < n_tokens_) c[static_cast<std::size_t>(id)].logit = kNever;
    }
    if (has_penalties(params_)) {
        const std::size_t n =
            params_.repeat_last_n < 0
                ? history.size()
                : std::min(history.size(), static_cast<std::size_t>(params_.repeat_last_n));
        window_.assign(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
        std::sort(window_.begin(), window_.end());
        apply_penalties(c, params_, window_);
    }
    const auto best = std::min_element(c.begin(), c.end(), before);
    if (best->logit == kNever) {
        return fail(Errc::usage, "logit_bias forbids every token; allow at least one");
    }
    if (params_.temperature == 0.0f) return best->id;
    keep_top_k(c, params_.top_k);
    keep_typical(c, static_cast<double>(params_.typical_p));
    keep_top_p(c, static_cast<double>(params_.top_p));
    keep_min_p(c, static_cast<double>(params_.min_p));
    return draw(c, static_cast<double>(params_.temperature),
                draw_uniform(params_.seed, DrawPurpose::target_sample, history.size()));
}

}  // namespace hearth
