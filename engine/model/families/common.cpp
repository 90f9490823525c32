#include "engine/model/families/common.h"

#include <algorithm>
#include <cmath>

#include "engine/base/log.h"
#include "engine/model/gguf.h"
#include "engine/model/rope.h"

namespace hearth {

Keys::Keys(const WeightFile& file, std::string_view architecture)
    : file_(file),
      prefix_(std::string(architecture) + ".") {}

std::string Keys::name(std::string_view key) const { return prefix_ + std::string(key); }

Result<int> Keys::count(std::string_view key, std::int64_t low, std::int64_t high,
                        std::int64_t fallback) const {
    const std::string full = name(key);
    std::optional<std::int64_t> v;
    const GgufKey* raw = file_.find_key(full);
    if (raw != nullptr && raw->type == GgufType::array) {
        HEARTH_TRY(auto found, file_.get_ints(full));
        const std::vector<std::int64_t> all =
            std::move(found).value_or(std::vector<std::int64_t>{});
        const bool differ =
            std::any_of(all.begin(), all.end(), [&](std::int64_t x) { return x != all.front(); });
        if (all.empty() || differ) {
            return fail(Errc::model_invalid,
                        "{}: {} differs between layers, which is not supported for this family",
                        file_.path(), full);
        }
        v = all.front();
    } else {
        HEARTH_TRY(v, file_.get_int(full));
    }
    if (!v && fallback < 0) {
        return fail(Errc::model_invalid, "{}: the key {} is missing", file_.path(), full);
    }
    const std::int64_t found = v.value_or(fallback);
    if (found < low || found > high) {
        return fail(Errc::model_invalid, "{}: {} is {}, expected {} to {}", file_.path(), full,
                    found, low, high);
    }
    return static_cast<int>(found);
}

Result<double> Keys::number(std::string_view key, double fallback) const {
    HEARTH_TRY(const auto v, file_.get_float(name(key)));
    if (v && !std::isfinite(*v)) {
        return fail(Errc::model_invalid, "{}: {} is not a finite number", file_.path(), name(key));
    }
    return v.value_or(fallback);
}

Result<void> apply_explicit_scale(const Keys& keys, ModelConfig& config) {
    HEARTH_TRY(const double scale, keys.number("attention.scale", 0));
    if (scale <= 0) return {};
    for (AttentionSpec& a : config.attention) a.scale = static_cast<float>(scale);
    return {};
}

namespace {

constexpr int kMaxLayers = 1024;
constexpr int kMaxWidth = 1 << 20;
constexpr int kMaxHeads = 1024;

Result<void> refuse_experts(const Keys& keys) {
    HEARTH_TRY(const int experts, keys.count("expert_count", 0, kMaxWidth, 0));
    if (experts == 0) return {};
    return fail(Errc::model_invalid,
                "{}: is a mixture of {} experts, which is not supported yet; choose a dense model",
                keys.file().path(), experts);
}

/// One layer's heads; the RoPE is filled in by the caller.
Result<AttentionSpec> read_heads(const Keys& keys, int hidden_size) {
    AttentionSpec a;
    HEARTH_TRY(a.n_heads, keys.count("attention.head_count", 1, kMaxHeads));
    HEARTH_TRY(a.n_kv_heads, keys.count("attention.head_count_kv", 1, kMaxHeads, a.n_heads));
    if (a.n_heads % a.n_kv_heads != 0) {
        return fail(Errc::model_invalid,
                    "{}: {} query heads cannot share {} key heads: expected a multiple",
                    keys.file().path(), a.n_heads, a.n_kv_heads);
    }
    HEARTH_TRY(a.head_dim,
               keys.count("attention.key_length", 1, kMaxWidth, hidden_size / a.n_heads));
    HEARTH_TRY(const int value_length,
               keys.count("attention.value_length", 1, kMaxWidth, a.head_dim));
    if (value_length != a.head_dim) {
        return fail(Errc::model_invalid,
                    "{}: keys have {} dimensions and values {}, expected the same",
                    keys.file().path(), a.head_dim, value_length);
    }
    if (a.head_dim % 16 != 0 || a.head_dim > 256) {
        return fail(Errc::model_invalid,
                    "{}: heads have {} dimensions, expected a multiple of 16 up to 256",
                    keys.file().path(), a.head_dim);
    }
    a.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(a.head_dim)));
    return a;
}

Result<int> vocabulary_rows(const WeightFile& file) {
    const TensorInfo* t = file.find("token_embd.weight");
    if (t == nullptr && file.tensors().empty()) {
        return fail(Errc::model_invalid,
                    "{}: holds a vocabulary and no weights, so it can tokenize but not generate",
                    file.path());
    }
    if (t == nullptr) {
        return fail(Errc::model_invalid, "{}: tensor 'token_embd.weight' is missing", file.path());
    }
    if (t->view.rows > (1 << 24)) {
        return fail(Errc::model_invalid, "{}: token_embd.weight has {} rows, expected at most {}",
                    file.path(), t->view.rows, 1 << 24);
    }
    return static_cast<int>(t->view.rows);
}

}  // namespace

Result<ModelConfig> read_config(const WeightFile& file, const FamilyTraits& traits,
                                int context_tokens) {
    ModelConfig c;
    HEARTH_TRY(auto architecture, file.get_string("general.architecture"));
    HEARTH_TRY(auto name, file.get_string("general.name"));
    c.family = std::move(architecture).value_or("");
    c.name = std::move(name).value_or("");
    if (c.name.empty()) c.name = file.path().substr(file.path().rfind('/') + 1);
    const Keys keys(file, c.family);
    HEARTH_TRY_VOID(refuse_experts(keys));
    HEARTH_TRY(c.vocab_size, vocabulary_rows(file));
    HEARTH_TRY(c.n_layers, keys.count("block_count", 1, kMaxLayers));
    HEARTH_TRY(c.hidden_size, keys.count("embedding_length", 1, kMaxWidth));
    HEARTH_TRY(c.intermediate_size, keys.count("feed_forward_length", 1, kMaxWidth));
    HEARTH_TRY(c.context_length, keys.count("context_length", 1, 1 << 30));
    HEARTH_TRY(const double eps, keys.number("attention.layer_norm_rms_epsilon", 1e-5));
    if (eps < 0 || eps > 1) {
        return fail(Errc::model_invalid, "{}: {} is {}, expected 0 to 1", file.path(),
                    keys.name("attention.layer_norm_rms_epsilon"), eps);
    }
    c.rms_norm_eps = static_cast<float>(eps);
    c.activation = traits.activation;

    HEARTH_TRY(AttentionSpec spec, read_heads(keys, c.hidden_size));
    HEARTH_TRY(const RopeParams rope, read_rope(file, c.family, traits.pairing, spec.head_dim,
                                                c.context_length, context_tokens));
    spec.rope = make_rope(rope);
    c.attention.assign(static_cast<std::size_t>(c.n_layers), spec);
    HEARTH_TRY_VOID(apply_explicit_scale(keys, c));
    return c;
}

}  // namespace hearth
