// read_weights: tensor names -> Weights, every shape compared with the configuration.

#include <string>
#include <unordered_set>

#include "engine/base/log.h"
#include "engine/model/families/common.h"
#include "engine/model/gguf.h"

namespace hearth {

namespace {

class Tensors {
  public:
    explicit Tensors(const WeightFile& file) : file_(file) {}

    /// A matrix of `rows` outputs from `cols` inputs, any weight format.
    Result<TensorView> matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
        const TensorInfo* t = file_.find(name);
        if (t == nullptr) {
            return fail(Errc::model_invalid, "{}: tensor '{}' is missing, expected shape [{}, {}]",
                        file_.path(), name, cols, rows);
        }
        if (t->view.rows != rows || t->view.cols != cols || t->shape.size() > 2) {
            return fail(Errc::model_invalid,
                        "{}: tensor '{}' has shape [{}], expected [{}, {}] from the configuration",
                        file_.path(), name, fmt::join(t->shape, ", "), cols, rows);
        }
        used_.insert(t->name);
        return t->view;
    }

    /// An F32 vector. Missing: an empty view when `optional`.
    Result<TensorView> vector(const std::string& name, std::int64_t n, bool optional = false) {
        const TensorInfo* t = file_.find(name);
        if (t == nullptr && optional) return TensorView{};
        if (t == nullptr) {
            return fail(Errc::model_invalid, "{}: tensor '{}' is missing, expected shape [{}]",
                        file_.path(), name, n);
        }
        if (t->view.rows != 1 || t->view.cols != n) {
            return fail(Errc::model_invalid,
                        "{}: tensor '{}' has shape [{}], expected [{}] from the configuration",
                        file_.path(), name, fmt::join(t->shape, ", "), n);
        }
        if (t->view.dtype != DType::f32) {
            return fail(Errc::model_invalid, "{}: tensor '{}' has the type {}, expected F32",
                        file_.path(), name, dtype_info(t->view.dtype).name);
        }
        used_.insert(t->name);
        return t->view;
    }

    bool has(const std::string& name) const { return file_.find(name) != nullptr; }

    /// A tensor of a layer that nobody asked for would change the answer if it were used: a model
    /// of another shape under a known name.
    Result<void> refuse_unused(int n_layers) const {
        for (const TensorInfo& t : file_.tensors()) {
            if (used_.count(t.name) != 0) continue;
            const std::size_t dot = t.name.find('.', 4);
            const bool layered = t.name.compare(0, 4, "blk.") == 0 && dot != std::string::npos;
            const bool in_range = layered && std::atoi(t.name.c_str() + 4) < n_layers;
            if (in_range && t.name.find("rot_embd") == std::string::npos) {
                return fail(Errc::model_invalid,
                            "{}: tensor '{}' is not part of the architecture that the file names",
                            file_.path(), printable(t.name));
            }
            if (t.name.compare(0, 5, "rope_") == 0) continue;
            log(LogLevel::warning,
                fmt::format("{}: tensor '{}' is not used", file_.path(), printable(t.name)));
        }
        return {};
    }

  private:
    const WeightFile& file_;
    std::unordered_set<std::string_view> used_;
};

Result<void> read_qkv(Tensors& in, const std::string& p, const AttentionSpec& a,
                      std::int64_t hidden, const FamilyTraits& traits, LayerWeights& out) {
    const std::int64_t nq = std::int64_t{a.n_heads} * a.head_dim;
    const std::int64_t nk = std::int64_t{a.n_kv_heads} * a.head_dim;
    if (traits.fused) {
        HEARTH_TRY(const auto qkv, in.matrix(p + "attn_qkv.weight", nq + 2 * nk, hidden));
        out.wq = qkv.slice_rows(0, nq);
        out.wk = qkv.slice_rows(nq, nk);
        out.wv = qkv.slice_rows(nq + nk, nk);
        return {};
    }
    HEARTH_TRY(out.wq, in.matrix(p + "attn_q.weight", nq, hidden));
    HEARTH_TRY(out.wk, in.matrix(p + "attn_k.weight", nk, hidden));
    HEARTH_TRY(out.wv, in.matrix(p + "attn_v.weight", nk, hidden));
    const bool optional = !traits.qkv_bias;
    HEARTH_TRY(out.bq, in.vector(p + "attn_q.bias", nq, optional));
    HEARTH_TRY(out.bk, in.vector(p + "attn_k.bias", nk, optional));
    HEARTH_TRY(out.bv, in.vector(p + "attn_v.bias", nk, optional));
    return {};
}

Result<void> read_ffn(Tensors& in, const std::string& p, std::int64_t hidden, std::int64_t width,
                      const FamilyTraits& traits, LayerWeights& out) {
    if (traits.fused) {
        HEARTH_TRY(const auto both, in.matrix(p + "ffn_up.weight", 2 * width, hidden));
        out.w_gate = both.slice_rows(0, width);
        out.w_up = both.slice_rows(width, width);
    } else {
        HEARTH_TRY(out.w_gate, in.matrix(p + "ffn_gate.weight", width, hidden));
        HEARTH_TRY(out.w_up, in.matrix(p + "ffn_up.weight", width, hidden));
    }
    HEARTH_TRY(out.w_down, in.matrix(p + "ffn_down.weight", hidden, width));
    return {};
}

Result<LayerWeights> read_layer(Tensors& in, const ModelConfig& c, int layer,
                                const FamilyTraits& traits) {
    const std::string p = fmt::format("blk.{}.", layer);
    const AttentionSpec& a = c.attention[static_cast<std::size_t>(layer)];
    const std::int64_t hidden = c.hidden_size;
    LayerWeights out;
    HEARTH_TRY(out.attn_norm, in.vector(p + "attn_norm.weight", hidden));
    HEARTH_TRY_VOID(read_qkv(in, p, a, hidden, traits, out));
    if (traits.qk_norm) {
        HEARTH_TRY(out.q_norm, in.vector(p + "attn_q_norm.weight", a.head_dim));
        HEARTH_TRY(out.k_norm, in.vector(p + "attn_k_norm.weight", a.head_dim));
    }
    HEARTH_TRY(out.wo,
               in.matrix(p + "attn_output.weight", hidden, std::int64_t{a.n_heads} * a.head_dim));
    HEARTH_TRY(out.ffn_norm, in.vector(p + "ffn_norm.weight", hidden));
    HEARTH_TRY_VOID(read_ffn(in, p, hidden, c.intermediate_size, traits, out));
    if (traits.post_norms) {
        HEARTH_TRY(out.attn_post_norm, in.vector(p + "post_attention_norm.weight", hidden));
        HEARTH_TRY(out.ffn_post_norm, in.vector(p + "post_ffw_norm.weight", hidden));
    }
    return out;
}

}  // namespace

Result<Weights> read_weights(const WeightFile& file, const ModelConfig& config,
                             const FamilyTraits& traits) {
    Tensors in(file);
    Weights w;
    HEARTH_TRY(w.token_embedding,
               in.matrix("token_embd.weight", config.vocab_size, config.hidden_size));
    HEARTH_TRY(w.final_norm, in.vector("output_norm.weight", config.hidden_size));
    for (int i = 0; i < config.n_layers; ++i) {
        HEARTH_TRY(auto layer, read_layer(in, config, i, traits));
        w.layers.push_back(layer);
    }
    w.lm_head = w.token_embedding;
    if (in.has("output.weight")) {
        HEARTH_TRY(w.lm_head, in.matrix("output.weight", config.vocab_size, config.hidden_size));
    }
    HEARTH_TRY_VOID(in.refuse_unused(config.n_layers));
    return w;
}

}  // namespace hearth
