#include "engine/speculate/model_drafter.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "engine/base/check.h"
#include "engine/generate/setup.h"
#include "kernels/device.h"

namespace hearth {

namespace {

using SteadyClock = std::chrono::steady_clock;

double ms_since(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

/// Bins by the probability that the model gives its token.
constexpr float kLowest[] = {0.0f, 0.15f, 0.3f, 0.45f, 0.6f, 0.75f, 0.88f, 0.96f};
constexpr double kExpected[] = {0.15, 0.3, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93};

std::uint8_t bin_of(float probability) {
    const auto it = std::upper_bound(std::begin(kLowest) + 1, std::end(kLowest), probability);
    return static_cast<std::uint8_t>(it - std::begin(kLowest) - 1);
}

/// Bytes that one step of one token reads: all weights but the embedding table, a row of it, and
/// `head_rows` of the output head.
double bytes_per_step(const Model& m, std::int64_t head_rows) {
    double bytes = static_cast<double>(m.weight_bytes() - m.weights.token_embedding.bytes());
    if (m.weights.lm_head.data != m.weights.token_embedding.data) {
        bytes -= static_cast<double>(m.weights.lm_head.bytes());
    }
    const TensorView& head = m.weights.lm_head;
    return bytes + static_cast<double>(head_rows * row_bytes(head.dtype, head.cols));
}

}  // namespace

Result<std::unique_ptr<ModelDrafter>> ModelDrafter::load(const std::string& path,
                                                         const EngineOptions& options,
                                                         Backend& backend) {
    if (as_card(backend) != nullptr) {
        return fail(Errc::usage,
                    "a draft model computes on the processor only: on the card it is not used");
    }
    const auto start = SteadyClock::now();
    std::unique_ptr<ModelDrafter> d(new ModelDrafter(backend));
    d->path_ = path;
    HEARTH_TRY(d->model_, load_model(path, options));
    d->model_->file->will_need();
    HEARTH_TRY_VOID(d->take_memory(options));
    d->load_ms_ = ms_since(start);
    return d;
}

Result<void> ModelDrafter::take_memory(const EngineOptions& options) {
    HEARTH_TRY(const DType dtype, kv_dtype(options));
    context_tokens_ = context_limit(options, model_->config);
    const int for_contexts = kContexts * ((context_tokens_ + kPageTokens - 1) / kPageTokens);
    const int in_budget = budget_pages(options, KvCache::bytes_per_page(model_->config, dtype)) / 4;
    const int n_pages = std::max(1, std::min(for_contexts, in_budget));
    HEARTH_TRY(kv_, KvCache::make(model_->config, backend_, dtype, n_pages, options.permute_pages));
    context_tokens_ = std::min(context_tokens_, n_pages * kPageTokens);
    prefixes_ = std::make_unique<PrefixCache>(*kv_);
    return {};
}

Result<void> ModelDrafter::pair_with(const Model& target, DraftHead::Size head) {
    HEARTH_TRY(pairing_,
               pair_vocabularies(*target.tokenizer, *model_->tokenizer, target.chat_template));
    HEARTH_TRY(head_, DraftHead::make(*model_, *target.tokenizer, pairing_, backend_, head));
    weights_ = model_->weights;
    weights_.lm_head = head_->weights();
    config_ = model_->config;
    config_.vocab_size = static_cast<int>(head_->weights().rows);
    HEARTH_TRY(activations_, Activations::make(config_, backend_, kReadChunk, 1));
    ends_ = target.tokenizer->eog_ids();
    expected_cost_ = bytes_per_step(*model_, config_.vocab_size) /
                     bytes_per_step(target, target.weights.lm_head.rows);
    return {};
}

int ModelDrafter::n_bins() const { return static_cast<int>(std::size(kLowest)); }

double ModelDrafter::expected_acceptance(int bin) const { return kExpected[bin]; }

/// Ids that only the target has read as any other token.
std::int32_t ModelDrafter::known(std::int32_t id) const {
    return id >= 0 && id < model_->config.vocab_size ? id : 0;
}

void ModelDrafter::cut(Sequence& seq, int n_tokens) {
    seq.tokens.resize(static_cast<std::size_t>(n_tokens));
    seq.n_cached = std::min(seq.n_cached, n_tokens);
    kv_->cut(seq.pages, (seq.n_cached + kPageTokens - 1) / kPageTokens);
}

/// The talk holds the text of `ask`, computed as far as it was before; at least the last token is
/// left to compute.
ModelDrafter::Talk& ModelDrafter::follow(const DraftAsk& ask) {
    Talk& t = talks_[ask.conversation];
    Sequence& seq = t.seq;
    const auto n = static_cast<int>(ask.history.size());
    const auto agrees = [this](std::int32_t a, std::int32_t b) { return a == known(b); };
    const auto same = std::mismatch(seq.tokens.begin(), seq.tokens.end(), ask.history.begin(),
                                    ask.history.end(), agrees);
    int n_same = static_cast<int>(same.first - seq.tokens.begin());
    if (t.lease.node != nullptr && n_same < t.n_final) {
        // Another branch: this one stays for its return.
        cut(seq, t.n_final);
        prefixes_->keep(seq, t.lease, ask.conversation);
    }
    if (t.lease.node == nullptr) {
        n_same = 0;
        seq = {};
    }
    cut(seq, n_same);
    for (int i = n_same; i < n; ++i) {
        seq.tokens.push_back(known(ask.history[static_cast<std::size_t>(i)]));
    }
    if (t.lease.node == nullptr) prefixes_->acquire(seq, t.lease, /*may_evict=*/true);
    seq.n_cached = std::min(seq.n_cached, n - 1);
    head_->saw(ask.history.subspan(static_cast<std::size_t>(std::min(n_same, n))));
    t.n_final = n;
    return t;
}

bool ModelDrafter::compute(Sequence& seq, int n_tokens, bool want_logits,
                           const std::atomic<bool>& stop) {
    if (!prefixes_->reserve(seq, seq.n_cached + n_tokens, /*may_evict=*/true)) return false;
    batch_.clear();
    batch_.add(seq, n_tokens, want_logits ? 1 : 0, *kv_);
    view_ = batch_.view();
    backend_.begin(view_);
    decode(config_, weights_, view_, kv_->layers(), *activations_, backend_);
    if (!backend_.run(&stop)) {  // the pages of this step are undefined
        seq.n_cached = seq.n_cached / kPageTokens * kPageTokens;
        kv_->cut(seq.pages, seq.n_cached / kPageTokens);
        return false;
    }
    seq.n_cached += n_tokens;
    return true;
}

int ModelDrafter::n_to_read(const DraftAsk& ask) { return follow(ask).seq.n_pending(); }

/// One chunk of what is long; true when few enough are left to draft.
bool ModelDrafter::read(Sequence& seq, const std::atomic<bool>& stop, Draft& draft) {
    if (seq.n_pending() <= kReadAtOnce) return true;
    const auto start = SteadyClock::now();
    const int n = std::min(seq.n_pending() - 1, kReadChunk);
    const bool done = compute(seq, n, /*want_logits=*/false, stop);
    draft.n_read = n;
    draft.read_ms = ms_since(start);
    draft.reads_on = !done || seq.n_pending() > kReadAtOnce;
    return !draft.reads_on;
}

void ModelDrafter::draft_tokens(Talk& talk, const DraftAsk& ask, Draft& draft) {
    Sequence& seq = talk.seq;
    text_.assign(ask.history.begin(), ask.history.end());
    while (draft.size() < ask.most_tokens && seq.n_pending() + seq.n_cached < context_tokens_) {
        if (!compute(seq, seq.n_pending(), /*want_logits=*/true, ask.stop)) return;
        const MatrixView& logits = activations_->logits;
        const DraftHead::Choice choice = head_->choose(
            {logits.data, static_cast<std::size_t>(logits.cols)}, ask.sampling, text_);
        if (choice.id < 0 || std::find(ends_.begin(), ends_.end(), choice.id) != ends_.end()) {
            return;
        }
        draft.ids.push_back(choice.id);
        draft.bins.push_back(bin_of(choice.probability));
        text_.push_back(choice.id);
        seq.tokens.push_back(known(choice.id));
        if (!ask.go_on(draft)) return;
    }
}

Draft ModelDrafter::propose(const DraftAsk& ask) {
    Draft draft;
    if (static_cast<int>(ask.history.size()) >= context_tokens_) return draft;
    Talk& talk = follow(ask);
    if (read(talk.seq, ask.stop, draft)) draft_tokens(talk, ask, draft);
    return draft;
}

void ModelDrafter::answered(const std::string& conversation, std::span<const std::int32_t> answer) {
    const auto it = talks_.find(conversation);
    if (it == talks_.end()) return;
    Talk& t = it->second;
    if (t.lease.node != nullptr) {
        cut(t.seq, std::min(t.n_final, static_cast<int>(t.seq.tokens.size())));
        if (answer.empty() || t.forgotten)
            prefixes_->drop(t.seq, t.lease);
        else
            prefixes_->keep(t.seq, t.lease, conversation);
    }
    if (t.forgotten) prefixes_->forget(conversation);  // branches kept since then
    talks_.erase(it);
}

void ModelDrafter::forget(const std::string& conversation) {
    prefixes_->forget(conversation);
    const auto it = talks_.find(conversation);
    if (it != talks_.end()) it->second.forgotten = true;
}

Drafter::Memory ModelDrafter::memory() const {
    const std::int64_t copied = head_ ? head_->copied_bytes() : 0;
    return {model_->weight_bytes() + copied, kv_->bytes_in_use(), kv_->pool().n_in_use()};
}

std::string ModelDrafter::check_idle() const {
    if (!talks_.empty()) return "the draft model still follows a text";
    return prefixes_->check_idle();
}

}  // namespace hearth
