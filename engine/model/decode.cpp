#include "engine/model/decode.h"

#include <algorithm>
#include <vector>

#include "engine/base/check.h"

namespace hearth {

namespace {

/// Rows begin at multiples of 64 bytes.
std::int64_t stride_of(std::int64_t cols) { return (cols + 15) / 16 * 16; }

}  // namespace

std::vector<Activations::Part> Activations::parts(const ModelConfig& config, int max_tokens,
                                                  int max_outputs) {
    std::int64_t q = 0, kv = 0;
    for (const AttentionSpec& s : config.attention) {
        q = std::max(q, std::int64_t{s.n_heads} * s.head_dim);
        kv = std::max(kv, std::int64_t{s.n_kv_heads} * s.head_dim);
    }
    const std::int64_t d = config.hidden_size, f = config.intermediate_size;
    using A = Activations;
    return {{&A::x, max_tokens, d},
            {&A::h, max_tokens, d},
            {&A::q, max_tokens, q},
            {&A::k, max_tokens, kv},
            {&A::v, max_tokens, kv},
            {&A::attn, max_tokens, q},
            {&A::gate, max_tokens, f},
            {&A::up, max_tokens, f},
            {&A::out_x, max_outputs, d},
            {&A::out_h, max_outputs, d},
            {&A::logits, max_outputs, config.vocab_size}};
}

std::int64_t Activations::bytes_for(const ModelConfig& config, int max_tokens, int max_outputs) {
    std::int64_t floats = 0;
    for (const Part& p : parts(config, max_tokens, max_outputs))
        floats += p.rows * stride_of(p.cols);
    return floats * static_cast<std::int64_t>(sizeof(float));
}

Result<std::unique_ptr<Activations>> Activations::make(const ModelConfig& config, Backend& backend,
                                                       int max_tokens, int max_outputs) {
    std::unique_ptr<Activations> a(new Activations);
    a->max_tokens = max_tokens;
    a->max_outputs = max_outputs;
    a->bytes_ = static_cast<std::size_t>(bytes_for(config, max_tokens, max_outputs));
    a->memory_ = backend.allocate(a->bytes_);
    if (a->memory_ == nullptr) {
        return fail(Errc::out_of_memory,
                    "the working memory of a step of {} tokens, {} MiB, is not free; use a smaller "
                    "chunk or a smaller model",
                    max_tokens, a->bytes_ >> 20);
    }
    a->backend_ = &backend;
    auto* p = static_cast<float*>(a->memory_);
    for (const Part& part : parts(config, max_tokens, max_outputs)) {
        (*a).*part.view = {p, part.rows, part.cols, stride_of(part.cols)};
        p += part.rows * stride_of(part.cols);
    }
    return a;
}

Activations::~Activations() {
    if (memory_ != nullptr) backend_->release(memory_, bytes_);
}

void decode(const ModelConfig& c, const Weights& w, const BatchView& batch,
            std::span<const KvLayer> kv, Activations& a, Backend& b) {
    decode_layers(c, w, batch, kv, a, b, 0, static_cast<int>(w.layers.size()));
    decode_head(c, w, batch, a, b);
}

void decode_layers(const ModelConfig& c, const Weights& w, const BatchView& batch,
                   std::span<const KvLayer> kv, Activations& a, Backend& b, int first, int last) {
    const auto n = static_cast<std::int64_t>(batch.tokens.size());
    HEARTH_CHECK(n > 0 && n <= a.max_tokens);
    HEARTH_CHECK(kv.size() == w.layers.size());
    const MatrixView x = a.x.top(n), h = a.h.top(n), q = a.q.top(n), k = a.k.top(n), v = a.v.top(n),
                     attn = a.attn.top(n), gate = a.gate.top(n), up = a.up.top(n);

    if (first == 0) b.embed(x, w.token_embedding, c.embedding_scale);
    for (auto l = static_cast<std::size_t>(first); l < static_cast<std::size_t>(last); ++l) {
        const LayerWeights& layer = w.layers[l];
        const AttentionSpec& spec = c.attention[l];

        b.rms_norm(h, x, layer.attn_norm, c.rms_norm_eps);
        b.matmul(q, h, layer.wq, layer.bq);
        b.matmul(k, h, layer.wk, layer.bk);
        b.matmul(v, h, layer.wv, layer.bv);
        if (layer.q_norm) b.head_norm(q, layer.q_norm, spec.head_dim, c.rms_norm_eps);
        if (layer.k_norm) b.head_norm(k, layer.k_norm, spec.head_dim, c.rms_norm_eps);
        b.rope_store_kv(q, k, v, kv[l], spec);
        b.attention(attn, q, kv[l], spec);
        if (layer.attn_post_norm) {
            b.matmul(h, attn, layer.wo);
            b.rms_norm(x, h, layer.attn_post_norm, c.rms_norm_eps, /*accumulate=*/true);
        } else {
            b.matmul(x, attn, layer.wo, {}, /*accumulate=*/true);
        }

        b.rms_norm(h, x, layer.ffn_norm, c.rms_norm_eps);
        b.matmul(gate, h, layer.w_gate);
        b.matmul(up, h, layer.w_up);
        b.gated(gate, up, c.activation);
        if (layer.ffn_post_norm) {
            b.matmul(h, gate, layer.w_down);
            b.rms_norm(x, h, layer.ffn_post_norm, c.rms_norm_eps, /*accumulate=*/true);
        } else {
            b.matmul(x, gate, layer.w_down, {}, /*accumulate=*/true);
        }
    }
}

void decode_head(const ModelConfig& c, const Weights& w, const BatchView& batch, Activations& a,
                 Backend& b) {
    const auto n_outputs = static_cast<std::int64_t>(batch.output_rows.size());
    HEARTH_CHECK(n_outputs <= a.max_outputs);
    if (n_outputs == 0) return;  // keys and values were all that was wanted
    const MatrixView x = a.x.top(static_cast<std::int64_t>(batch.tokens.size()));
    const MatrixView out_x = a.out_x.top(n_outputs), out_h = a.out_h.top(n_outputs);
    const MatrixView logits = a.logits.top(n_outputs);
    b.gather_outputs(out_x, x);
    b.rms_norm(out_h, out_x, w.final_norm, c.rms_norm_eps);
    b.matmul(logits, out_h, w.lm_head);
    if (c.final_softcap > 0) b.softcap(logits, c.final_softcap);
}

}  // namespace hearth
