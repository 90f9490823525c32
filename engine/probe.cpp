#include "engine/probe.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/generate/setup.h"
#include "kernels/device.h"

namespace hearth::inspect {

namespace {

constexpr int kCompanionStep = 5;  ///< tokens per pass at most

/// Rows of logits held at once: 64 MiB.
int output_rows(const ModelConfig& config) {
    return std::clamp((16 << 20) / config.vocab_size, 1, 256);
}

}  // namespace

Result<std::unique_ptr<Probe>> Probe::make(const std::string& model_path,
                                           const EngineOptions& options, Shape shape) {
    if (shape.chunk < 1 || shape.companions < 0 || shape.companions > 64) {
        return fail(Errc::usage,
                    "the chunk must be at least 1 and the companions 0 to 64, found {} and {}",
                    shape.chunk, shape.companions);
    }
    HEARTH_TRY_VOID(check_options(options));
    std::unique_ptr<Probe> p(new Probe);
    p->shape_ = shape;
    p->shape_.chunk = std::min(shape.chunk, 4096);
    HEARTH_TRY(p->backend_, make_backend(options));
    HEARTH_TRY(p->model_, load_model(model_path, options));
    const ModelConfig& config = p->model_->config;
    if (config.context_length > 0 && shape.n_positions > config.context_length) {
        return fail(Errc::context_overflow,
                    "{} tokens are needed, but {} was trained for {}; shorten the input",
                    shape.n_positions, config.name, config.context_length);
    }
    HEARTH_TRY_VOID(place_weights(*p->model_, *p->backend_));
    HEARTH_TRY(const DType dtype, kv_dtype(options));
    const int own = shape.n_positions / kPageTokens + 1;
    HEARTH_TRY(p->kv_, KvCache::make(config, *p->backend_, dtype, own * (1 + shape.companions),
                                     options.permute_pages));
    HEARTH_TRY(
        p->activations_,
        Activations::make(config, *p->backend_, p->shape_.chunk + shape.companions * kCompanionStep,
                          output_rows(config)));
    p->companions_.resize(static_cast<std::size_t>(shape.companions));
    return p;
}

Probe::~Probe() = default;

/// Other texts in the same pass, in front of and behind the sequence, growing at other rates.
void Probe::add_companions() {
    steps_.clear();
    const auto n_ids = sequence_.tokens.size();
    for (std::size_t c = 0; c < companions_.size(); ++c) {
        Sequence& s = companions_[c];
        const int n = 1 + (n_passes_ * static_cast<int>(c + 3)) % kCompanionStep;
        if (s.n_cached + n > shape_.n_positions) s.n_cached = 0;
        s.tokens.resize(static_cast<std::size_t>(s.n_cached));
        for (int i = 0; i < n; ++i) {
            s.tokens.push_back(sequence_.tokens[(s.tokens.size() * 7 + c * 13 + 1) % n_ids]);
        }
        kv_->cut(s.pages, (s.n_cached + kPageTokens - 1) / kPageTokens);
        HEARTH_CHECK(kv_->reserve(s.pages, s.n_cached + n));
        steps_.push_back(n);
    }
}

void Probe::pass(int n_tokens, int n_outputs) {
    HEARTH_CHECK(kv_->reserve(sequence_.pages, sequence_.n_cached + n_tokens));
    add_companions();
    batch_.clear();
    for (std::size_t c = 0; c < companions_.size(); c += 2) {
        batch_.add(companions_[c], steps_[c], 0, *kv_);
    }
    batch_.add(sequence_, n_tokens, n_outputs, *kv_);
    for (std::size_t c = 1; c < companions_.size(); c += 2) {
        batch_.add(companions_[c], steps_[c], 0, *kv_);
    }
    const BatchView view = batch_.view();
    backend_->begin(view);
    decode(model_->config, model_->weights, view, kv_->layers(), *activations_, *backend_);
    run(view);
    for (std::size_t c = 0; c < companions_.size(); ++c) companions_[c].n_cached += steps_[c];
    ++n_passes_;
}

void Probe::run(const BatchView& view) {
    backend_->run();
    logits_ = on_host(*backend_,
                      activations_->logits.top(static_cast<std::int64_t>(view.output_rows.size())));
}

std::span<const float> Probe::row(int output) const {
    const MatrixView& m = logits_;
    return {m.data + output * m.stride, static_cast<std::size_t>(m.cols)};
}

/// Logits of the rows of the sequence in the pass before, a slice at a time.
void Probe::visit_rows(int n_tokens, int first_row, const Visit& visit) {
    BatchView view = batch_.view();
    std::vector<std::int32_t> rows;
    for (int done = 0; done < n_tokens; done += static_cast<int>(rows.size())) {
        rows.clear();
        const int n = std::min(n_tokens - done, activations_->max_outputs);
        for (int i = 0; i < n; ++i) rows.push_back(first_row + done + i);
        view.output_rows = rows;
        backend_->begin(view);
        decode_head(model_->config, model_->weights, view, *activations_, *backend_);
        run(view);
        for (int i = 0; i < n; ++i) visit(sequence_.n_cached + done + i, row(i));
    }
}

Result<void> Probe::check_ids(std::span<const std::int32_t> ids) const {
    for (const std::int32_t id : ids) {
        if (id < 0 || id >= model_->config.vocab_size) {
            return fail(Errc::usage, "the token id {} does not exist; this model's go from 0 to {}",
                        id, model_->config.vocab_size - 1);
        }
    }
    return {};
}

Result<void> Probe::feed(std::span<const std::int32_t> ids, const Visit& visit) {
    HEARTH_TRY_VOID(check_ids(ids));
    sequence_.tokens.insert(sequence_.tokens.end(), ids.begin(), ids.end());
    HEARTH_CHECK(static_cast<int>(sequence_.tokens.size()) <= shape_.n_positions);
    while (sequence_.n_pending() > 0) {
        const int n = std::min(sequence_.n_pending(), shape_.chunk);
        // As in a real prompt, one row of logits at the end.
        pass(n, !visit && n == sequence_.n_pending() ? 1 : 0);
        int first_row = 0;
        for (std::size_t c = 0; c < steps_.size(); c += 2) first_row += steps_[c];
        if (visit) visit_rows(n, first_row, visit);
        sequence_.n_cached += n;
    }
    return {};
}

Result<std::span<const float>> Probe::feed_last(std::span<const std::int32_t> ids) {
    HEARTH_CHECK(!ids.empty());
    HEARTH_TRY_VOID(check_ids(ids));
    HEARTH_TRY_VOID(feed(ids.first(ids.size() - 1), {}));
    sequence_.tokens.push_back(ids.back());
    pass(1, 1);
    ++sequence_.n_cached;
    return row(0);
}

void Probe::rewind(int n_tokens) {
    HEARTH_CHECK(n_tokens <= sequence_.n_cached);
    sequence_.tokens.resize(static_cast<std::size_t>(n_tokens));
    sequence_.n_cached = n_tokens;
}

}  // namespace hearth::inspect
