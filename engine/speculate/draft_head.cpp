#include "engine/speculate/draft_head.h"

#include <algorithm>
#include <cmath>

#include "engine/generate/sampler.h"

namespace hearth {

namespace {

constexpr float kSilent = -1e30f;  ///< finite: samplers refuse others
constexpr int kUnitRows = 32;      ///< kernels take rows by this many
constexpr float kNegligible = 16;  ///< logits further below the highest add nothing

int round_down(int n) { return n / kUnitRows * kUnitRows; }

/// By id: whether it means the same to both models.
std::vector<std::uint8_t> draftable(const Pairing& pairing, int n_rows) {
    std::vector<std::uint8_t> allowed(static_cast<std::size_t>(n_rows), 0);
    std::fill_n(allowed.begin(), std::min(pairing.n_common, n_rows), std::uint8_t{1});
    for (const std::int32_t id : pairing.differing) {
        if (id < n_rows) allowed[static_cast<std::size_t>(id)] = 0;
    }
    return allowed;
}

std::vector<int> ends_below(const Tokenizer& target, int n_rows) {
    std::vector<int> rows(target.eog_ids().begin(), target.eog_ids().end());
    std::erase_if(rows, [&](int row) { return row >= n_rows; });
    return rows;
}

bool is_plain_greedy(const SamplingParams& p) {
    return p.temperature == 0 && p.repeat_penalty == 1 && p.frequency_penalty == 0 &&
           p.presence_penalty == 0 && p.logit_bias.empty();
}

/// Probability of a logit among all.
float share_of(float logit, std::span<const float> logits) {
    float top = logit;
    for (const float x : logits) top = std::max(top, x);
    float sum = 0;
    for (const float x : logits) {
        if (x > top - kNegligible) sum += std::exp(x - top);
    }
    return std::exp(logit - top) / sum;
}

}  // namespace

Result<std::unique_ptr<DraftHead>> DraftHead::make(const Model& draft, const Tokenizer& target,
                                                   const Pairing& pairing, Backend& backend,
                                                   Size size) {
    std::unique_ptr<DraftHead> h(new DraftHead);
    h->whole_ = draft.weights.lm_head;
    h->n_target_ = target.vocab_size();
    const int n_all = static_cast<int>(h->whole_.rows);
    h->allowed_ = draftable(pairing, n_all);
    h->has_row_.assign(static_cast<std::size_t>(n_all), 0);
    const int frequent = round_down(size.frequent), recent = round_down(size.recent);
    if (frequent + recent < n_all - n_all / 8) {
        HEARTH_TRY_VOID(h->shorten(backend, target, frequent, recent));
        return h;
    }
    h->weights_ = h->whole_;
    h->end_rows_ = ends_below(target, n_all);
    for (int id = 0; id < n_all; ++id) {
        h->ids_.push_back(id);
        h->has_row_[static_cast<std::size_t>(id)] = 1;
        if (h->allowed_[static_cast<std::size_t>(id)] == 0) h->silent_rows_.push_back(id);
    }
    h->n_used_ = h->n_frequent_ = n_all;
    return h;
}

Result<void> DraftHead::shorten(Backend& backend, const Tokenizer& target, int frequent,
                                int recent) {
    const int n_rows = frequent + recent;
    bytes_ = static_cast<std::size_t>(n_rows * row_bytes(whole_.dtype, whole_.cols));
    memory_ = backend.allocate(bytes_);
    backend_ = &backend;
    if (memory_ == nullptr) {
        return fail(Errc::out_of_memory, "{} MiB for the head of the draft model are not free",
                    bytes_ >> 20);
    }
    weights_ = {memory_, whole_.dtype, n_rows, whole_.cols};
    ids_.assign(static_cast<std::size_t>(n_rows), -1);
    // The ends of an answer come first: one that is likely says that nothing is to be drafted.
    std::vector<std::int32_t> wanted = target.eog_ids();
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(allowed_.size()); ++id) {
        wanted.push_back(id);
    }
    for (const std::int32_t id : wanted) {
        if (n_used_ == frequent) break;
        const auto i = static_cast<std::size_t>(id);
        if (i >= allowed_.size() || allowed_[i] == 0 || has_row_[i] != 0) continue;
        if (target.is_eog(id)) end_rows_.push_back(n_used_);
        put(n_used_++, id);
    }
    n_frequent_ = next_recent_ = n_used_;
    return {};
}

DraftHead::~DraftHead() {
    if (memory_ != nullptr) backend_->release(memory_, bytes_);
}

void DraftHead::put(int row, std::int32_t id) {
    const auto r = static_cast<std::size_t>(row);
    if (ids_[r] >= 0) has_row_[static_cast<std::size_t>(ids_[r])] = 0;
    ids_[r] = id;
    has_row_[static_cast<std::size_t>(id)] = 1;
    const auto bytes = static_cast<std::size_t>(row_bytes(whole_.dtype, whole_.cols));
    auto* to = static_cast<std::uint8_t*>(memory_) + r * bytes;
    backend_->copy(to, whole_.slice_rows(id, 1).data, bytes);
}

void DraftHead::saw(std::span<const std::int32_t> ids) {
    const int n_rows = static_cast<int>(ids_.size());
    if (n_frequent_ == n_rows) return;
    for (const std::int32_t id : ids) {
        const auto i = static_cast<std::size_t>(id);
        if (id < 0 || i >= allowed_.size() || allowed_[i] == 0 || has_row_[i] != 0) continue;
        put(next_recent_, id);
        n_used_ = std::max(n_used_, ++next_recent_);
        if (next_recent_ == n_rows) next_recent_ = n_frequent_;
    }
}

DraftHead::Choice DraftHead::choose(std::span<float> logits, const SamplingParams& sampling,
                                    std::span<const std::int32_t> history) {
    logits = logits.first(static_cast<std::size_t>(n_used_));
    for (const int row : silent_rows_) logits[static_cast<std::size_t>(row)] = kSilent;
    if (sampling.ignore_eos) {
        for (const int row : end_rows_) logits[static_cast<std::size_t>(row)] = kSilent;
    }
    if (!is_plain_greedy(sampling)) return sampled(logits, sampling, history);
    const auto best = std::max_element(logits.begin(), logits.end());
    if (best == logits.end() || *best <= kSilent) return {-1, 0};
    return {ids_[static_cast<std::size_t>(best - logits.begin())], share_of(*best, logits)};
}

DraftHead::Choice DraftHead::sampled(std::span<const float> logits, const SamplingParams& sampling,
                                     std::span<const std::int32_t> history) {
    scattered_.assign(static_cast<std::size_t>(n_target_), kSilent);
    for (std::size_t row = 0; row < logits.size(); ++row) {
        const auto id = static_cast<std::size_t>(ids_[row]);
        if (id < scattered_.size()) scattered_[id] = logits[row];
    }
    Sampler sampler(sampling, n_target_);
    const auto id = sampler.sample(scattered_, history);
    if (!id || scattered_[static_cast<std::size_t>(*id)] <= kSilent) return {-1, 0};
    return {*id, share_of(scattered_[static_cast<std::size_t>(*id)], logits)};
}

}  // namespace hearth
