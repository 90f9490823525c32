#include "tests/reference/decoder.h"

#include <algorithm>
#include <cmath>

#include "tests/reference/dequantize.h"

namespace hearth::reference {

namespace {

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

}  // namespace

Decoder::Decoder(const WeightFile& file, DecoderOptions options)
    : file_(file),
      options_(options),
      arch_(**file.get_string("general.architecture")) {
    n_layers_ = static_cast<int>(number("block_count", 0));
    hidden_ = static_cast<int>(number("embedding_length", 0));
    n_heads_ = static_cast<int>(number("attention.head_count", 0));
    n_kv_heads_ = static_cast<int>(number("attention.head_count_kv", n_heads_));
    head_dim_ = static_cast<int>(number("attention.key_length", hidden_ / n_heads_));
    n_rot_ = static_cast<int>(number("rope.dimension_count", head_dim_));
    eps_ = number("attention.layer_norm_rms_epsilon", 0);
    cache_.resize(static_cast<std::size_t>(n_layers_));
}

double Decoder::number(const std::string& key, double fallback) const {
    const auto v = file_.get_float(arch_ + "." + key);
    return v && *v ? **v : fallback;
}

std::vector<double> Decoder::vector(const std::string& tensor) const {
    return dequantize_row(file_.find(tensor)->view, 0);
}

bool Decoder::is_local(int layer) const {
    if (arch_ == "gemma3") return layer % 6 != 5;
    if (arch_ == "gemma2") return layer % 2 == 0;
    return number("attention.sliding_window", 0) > 0;
}

// --- rotary embedding (Su et al. 2021; scalings: specs/seed-methods.md section 12) -----------

std::vector<double> Decoder::rope_frequencies(int layer) const {
    const bool own_base = arch_ == "gemma3" && is_local(layer);
    const long double base =
        own_base ? number("rope.freq_base_swa", 10000.0) : number("rope.freq_base", 10000.0);
    const auto scaling_key = file_.get_string(arch_ + ".rope.scaling.type");
    std::string scaling = scaling_key && *scaling_key ? **scaling_key : "none";
    if (own_base) scaling = "none";
    const long double factor = number("rope.scaling.factor", 1);
    const long double original =
        number("rope.scaling.original_context_length", number("context_length", 0));
    const long double pi = std::acos(-1.0L);
    std::vector<double> divisors(static_cast<std::size_t>(n_rot_ / 2), 1.0);
    if (has("rope_freqs.weight") && !own_base) divisors = vector("rope_freqs.weight");
    if (has("rope_factors_long.weight")) {
        const double used =
            options_.context_tokens > 0 ? options_.context_tokens : number("context_length", 0);
        divisors = vector(used > static_cast<double>(original) ? "rope_factors_long.weight"
                                                               : "rope_factors_short.weight");
    }
    std::vector<double> out;
    for (int i = 0; i < n_rot_ / 2; ++i) {
        long double f = std::pow(base, -2.0L * i / n_rot_);
        if (scaling == "linear") f /= factor;
        if (scaling == "yarn") {
            const auto dim = [&](long double beta) {
                return n_rot_ * std::log(original / (beta * 2 * pi)) / (2 * std::log(base));
            };
            const long double fast = number("rope.scaling.yarn_beta_fast", 32);
            const long double slow = number("rope.scaling.yarn_beta_slow", 1);
            const long double lo = std::max(0.0L, std::floor(dim(fast)));
            const long double hi = std::min(n_rot_ - 1.0L, std::ceil(dim(slow)));
            const long double span = hi > lo ? hi - lo : 0.001L;
            const long double ramp = std::min(1.0L, std::max(0.0L, (i - lo) / span));
            f = f / factor * ramp + f * (1 - ramp);
        }
        if (scaling == "llama3") {
            const long double lambda = 2 * pi / f;
            const long double lowest = number("rope.scaling.low_freq_factor", 1);
            const long double highest = number("rope.scaling.high_freq_factor", 4);
            const long double s = (original / lambda - lowest) / (highest - lowest);
            if (s < 0)
                f /= factor;
            else if (s <= 1)
                f = (1 - s) * f / factor + s * f;
        }
        out.push_back(static_cast<double>(f / divisors[static_cast<std::size_t>(i)]));
    }
    return out;
}

double Decoder::rope_magnitude() const {
    const double given = number("rope.scaling.attn_factor", 0);
    if (given > 0) return given;
    const auto scaling = file_.get_string(arch_ + ".rope.scaling.type");
    const double factor = number("rope.scaling.factor", 1);
    if (scaling && *scaling && **scaling == "yarn") return 0.1 * std::log(factor) + 1;
    if (!has("rope_factors_long.weight")) return 1;
    const double original = number("rope.scaling.original_context_length", 0);
    return std::sqrt(1 + std::log(number("context_length", 0) / original) / std::log(original));
}

void Decoder::rotate(Matrix& x, int n_heads, int layer) const {
    const std::vector<double> frequencies = rope_frequencies(layer);
    const bool half_split = arch_ != "llama" && arch_ != "mistral3";
    const bool scaled = arch_ != "gemma3" || !is_local(layer);
    for (int t = 0; t < x.rows; ++t) {
        for (int h = 0; h < n_heads; ++h) {
            rope(&x.at(t, h * head_dim_), frequencies, position_ + t, half_split,
                 scaled ? rope_magnitude() : 1.0);
        }
    }
}

// --- the parts -------------------------------------------------------------------------------

Matrix Decoder::linear(const Matrix& x, const std::string& tensor, int first_row,
                       int n_rows) const {
    const TensorInfo* info = file_.find(tensor);
    const TensorView view = n_rows < 0 ? info->view : info->view.slice_rows(first_row, n_rows);
    if (!options_.int8_activations || dtype_info(view.dtype).block_elems == 1) {
        return matmul(x, dequantize(view)).y;
    }
    const std::vector<float> narrow(x.v.begin(), x.v.end());
    return matmul(quantize_activations(narrow, x.rows), dequantize(view)).y;
}

void Decoder::add_bias(Matrix& y, const std::string& tensor) const {
    if (!has(tensor)) return;
    const std::vector<double> bias = vector(tensor);
    for (int t = 0; t < y.rows; ++t) {
        for (int c = 0; c < y.cols; ++c) y.at(t, c) += bias[static_cast<std::size_t>(c)];
    }
}

void Decoder::norm_heads(Matrix& x, const std::string& tensor) const {
    if (!has(tensor)) return;
    Matrix heads(x.rows * x.cols / head_dim_, head_dim_);
    heads.v = x.v;
    x.v = rms_norm(heads, vector(tensor), eps_).v;
}

Matrix Decoder::attend(const Matrix& x, int layer) {
    const std::string p = "blk." + std::to_string(layer) + ".";
    const int nq = n_heads_ * head_dim_, nk = n_kv_heads_ * head_dim_;
    const bool fused = has(p + "attn_qkv.weight");
    Matrix q = fused ? linear(x, p + "attn_qkv.weight", 0, nq) : linear(x, p + "attn_q.weight");
    Matrix k = fused ? linear(x, p + "attn_qkv.weight", nq, nk) : linear(x, p + "attn_k.weight");
    Matrix v =
        fused ? linear(x, p + "attn_qkv.weight", nq + nk, nk) : linear(x, p + "attn_v.weight");
    add_bias(q, p + "attn_q.bias");
    add_bias(k, p + "attn_k.bias");
    add_bias(v, p + "attn_v.bias");
    norm_heads(q, p + "attn_q_norm.weight");
    norm_heads(k, p + "attn_k_norm.weight");
    rotate(q, n_heads_, layer);
    rotate(k, n_kv_heads_, layer);

    LayerCache& cache = cache_[static_cast<std::size_t>(layer)];
    const auto stored = [&](double y) { return options_.half_kv ? round_to_half(y) : y; };
    for (const double y : k.v) cache.k.push_back(stored(y));
    for (const double y : v.v) cache.v.push_back(stored(y));
    Matrix keys(position_ + x.rows, nk), values(position_ + x.rows, nk);
    keys.v = cache.k;
    values.v = cache.v;

    AttentionParams a;
    a.n_heads = n_heads_;
    a.n_kv_heads = n_kv_heads_;
    a.head_dim = head_dim_;
    a.scale = number("attention.scale", 1.0 / std::sqrt(static_cast<double>(head_dim_)));
    a.softcap = number("attn_logit_softcapping", 0);
    if (is_local(layer)) a.window = static_cast<int>(number("attention.sliding_window", 0));
    return linear(attention(q, keys, values, position_, a), p + "attn_output.weight");
}

Matrix Decoder::feed_forward(const Matrix& x, int layer) const {
    const std::string p = "blk." + std::to_string(layer) + ".";
    const bool fused = !has(p + "ffn_gate.weight");
    const int width = static_cast<int>(number("feed_forward_length", 0));
    Matrix gate =
        fused ? linear(x, p + "ffn_up.weight", 0, width) : linear(x, p + "ffn_gate.weight");
    const Matrix up =
        fused ? linear(x, p + "ffn_up.weight", width, width) : linear(x, p + "ffn_up.weight");
    const bool gelu = starts_with(arch_, "gemma");
    for (std::size_t i = 0; i < gate.v.size(); ++i) {
        gate.v[i] = (gelu ? gelu_tanh(gate.v[i]) : silu(gate.v[i])) * up.v[i];
    }
    return linear(gate, p + "ffn_down.weight");
}

void Decoder::add_branch(Matrix& x, Matrix branch, const std::string& post_norm) const {
    if (has(post_norm)) branch = rms_norm(branch, vector(post_norm), eps_);
    for (std::size_t i = 0; i < x.v.size(); ++i) x.v[i] += branch.v[i];
}

// --- the whole -------------------------------------------------------------------------------

Matrix Decoder::forward(std::span<const std::int32_t> ids) {
    const double scale = starts_with(arch_, "gemma") ? std::sqrt(hidden_) : 1.0;
    Matrix x(static_cast<int>(ids.size()), hidden_);
    for (int t = 0; t < x.rows; ++t) {
        const std::vector<double> row =
            dequantize_row(file_.find("token_embd.weight")->view, ids[static_cast<std::size_t>(t)]);
        for (int c = 0; c < hidden_; ++c) x.at(t, c) = row[static_cast<std::size_t>(c)] * scale;
    }
    for (int layer = 0; layer < n_layers_; ++layer) {
        const std::string p = "blk." + std::to_string(layer) + ".";
        add_branch(x, attend(rms_norm(x, vector(p + "attn_norm.weight"), eps_), layer),
                   p + "post_attention_norm.weight");
        add_branch(x, feed_forward(rms_norm(x, vector(p + "ffn_norm.weight"), eps_), layer),
                   p + "post_ffw_norm.weight");
    }
    position_ += x.rows;
    const char* head = has("output.weight") ? "output.weight" : "token_embd.weight";
    Matrix logits = linear(rms_norm(x, vector("output_norm.weight"), eps_), head);
    const double cap = number("final_logit_softcapping", 0);
    if (cap > 0) {
        for (double& z : logits.v) z = softcap(z, cap);
    }
    return logits;
}

}  // namespace hearth::reference
