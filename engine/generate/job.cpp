#include "engine/generate/job.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/base/check.h"

namespace hearth {

struct RowHasher::Impl {
    struct Freer {
        void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
    };
    using State = std::unique_ptr<XXH3_state_t, Freer>;
    static State make() {
        State s(XXH3_createState());
        HEARTH_CHECK(s != nullptr);
        XXH3_128bits_reset(s.get());
        return s;
    }
    State running = make();
    State final = make();
    std::vector<State> waiting;  ///< the state after each row not confirmed
};

RowHasher::RowHasher() : impl_(std::make_unique<Impl>()) {}
RowHasher::~RowHasher() = default;

void RowHasher::add(std::span<const float> row) {
    XXH3_128bits_update(impl_->running.get(), row.data(), row.size_bytes());
    impl_->waiting.push_back(Impl::make());
    XXH3_copyState(impl_->waiting.back().get(), impl_->running.get());
}

void RowHasher::confirm(std::size_t n) {
    HEARTH_CHECK(n <= impl_->waiting.size());
    if (n == 0) return;
    impl_->final = std::move(impl_->waiting[n - 1]);
    impl_->waiting.erase(impl_->waiting.begin(),
                         impl_->waiting.begin() + static_cast<std::ptrdiff_t>(n));
}

std::string RowHasher::digest() const {
    const XXH128_hash_t h = XXH3_128bits_digest(impl_->final.get());
    return fmt::format("{:016x}{:016x}", h.high64, h.low64);
}

namespace {

std::vector<std::int32_t> banned_ids(const SamplingParams& p, const Tokenizer& tokenizer) {
    return p.ignore_eos ? tokenizer.eog_ids() : std::vector<std::int32_t>();
}

}  // namespace

Job::Job(Ticket ticket, std::vector<std::int32_t> prompt, int context_tokens,
         const Tokenizer& tokenizer)
    : ticket_(std::move(ticket)),
      n_prompt_(static_cast<int>(prompt.size())),
      context_tokens_(context_tokens),
      tokenizer_(tokenizer),
      sampler_(ticket_.request.sampling, tokenizer.vocab_size(),
               banned_ids(ticket_.request.sampling, tokenizer)),
      filter_(ticket_.request.sampling.stop),
      started_(Clock::now()) {
    HEARTH_CHECK(n_prompt_ > 0 && n_prompt_ < context_tokens);
    sequence.tokens = std::move(prompt);
    speculation.choice = ticket_.request.draft;
    if (is_background()) speculation.choice.model_path.clear();  // it takes no pages from others
    if (ticket_.request.want_logits_hash) hasher_ = std::make_unique<RowHasher>();
    stats.prompt_tokens = n_prompt_;
    stats.context_tokens = context_tokens;
}

int Job::n_left() const {
    const int room = context_tokens_ - static_cast<int>(sequence.tokens.size());
    const int most = ticket_.request.sampling.max_tokens;
    return std::max(1, most < 0 ? room : std::min(room, most - n_sampled_));
}

Result<Job::Step> Job::take_token(std::span<const float> logits) {
    HEARTH_CHECK(sequence.n_pending() == 0);
    const SamplingParams& params = ticket_.request.sampling;
    if (params.max_tokens == 0) return flush(FinishReason::length);
    HEARTH_TRY(const std::int32_t id, sampler_.sample(logits, sequence.tokens));
    if (n_sampled_++ == 0) stats.first_token_ms = ms_between(ticket_.submitted, Clock::now());
    if (!params.ignore_eos && tokenizer_.is_eog(id)) return flush(FinishReason::stop);

    sequence.tokens.push_back(id);
    if (hasher_) hasher_->add(logits);
    Step step;
    TextFilter::Output out = filter_.push(id, tokenizer_.piece(id));
    const bool stopped = out.stopped;
    const std::string fragment = std::move(out.fragment);
    show(std::move(out), step);
    if (stopped) {
        roll_back(fragment, step);
        step.done = true;
        return step;
    }
    if (n_sampled_ == params.max_tokens ||
        static_cast<int>(sequence.tokens.size()) >= context_tokens_) {
        Step last = flush(FinishReason::length);
        last.text.insert(0, step.text);
        last.ids.insert(last.ids.begin(), step.ids.begin(), step.ids.end());
        return last;
    }
    return step;
}

Job::Step Job::flush(FinishReason reason) {
    Step step;
    show(filter_.finish(), step);
    step.done = true;
    step.reason = reason;
    return step;
}

void Job::show(TextFilter::Output out, Step& step) {
    n_shown_ += static_cast<int>(out.ids.size());
    stats.completion_tokens += static_cast<int>(out.ids.size());
    if (hasher_) hasher_->confirm(out.ids.size());
    step.text = std::move(out.text);
    step.ids = std::move(out.ids);
}

/// After a stop string: the tokens that were not shown never were. Shown text before it that ended
/// inside a token gets ids of its own, so that the ids handed out spell the text.
void Job::roll_back(const std::string& fragment, Step& step) {
    sequence.tokens.resize(static_cast<std::size_t>(n_prompt_ + n_shown_));
    sequence.n_cached = std::min(sequence.n_cached, n_prompt_ + n_shown_);
    if (fragment.empty()) return;
    const auto ids = tokenizer_.encode(fragment, /*parse_special=*/false);
    std::string spelt;
    for (const std::int32_t id : ids) spelt += tokenizer_.piece(id);
    if (spelt != fragment) return;  // a vocabulary that cannot spell it mid-text: text without ids
    step.ids.insert(step.ids.end(), ids.begin(), ids.end());
    stats.completion_tokens += static_cast<int>(ids.size());
}

void Job::complete_stats(const std::string& backend) {
    stats.load_ms = ticket_.load_ms;
    stats.queue_ms = std::max(0.0, ms_between(ticket_.submitted, started_) - ticket_.load_ms);
    stats.total_ms = ms_between(ticket_.submitted, Clock::now());
    stats.context_used = n_prompt_ + stats.completion_tokens;
    stats.backend = backend;
    if (hasher_) stats.logits_hash = hasher_->digest();
}

}  // namespace hearth
