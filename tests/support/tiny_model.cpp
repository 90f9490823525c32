#include "tests/support/tiny_model.h"

#include <cstring>

#include "engine/base/check.h"
#include "kernels/quant.h"

namespace hearth::test {

namespace {

/// splitmix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
struct Random {
    std::uint64_t state;
    std::uint64_t next() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    /// In [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    /// Sum of four uniforms, centred: deviation 1, no libm.
    double normal() {
        return (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7320508075688772;
    }
    /// Half of about `value`, varied by a quarter.
    std::uint16_t scale(double value) {
        return float_to_half(static_cast<float>(value * (0.75 + 0.5 * uniform())));
    }
};

/// Random bytes are good quants of every block format; only the scales must be sane.
void random_block(DType dtype, std::uint8_t* p, double s, Random& r) {
    const auto put = [&](std::size_t at, double value) {
        const std::uint16_t h = r.scale(value);
        std::memcpy(p + at, &h, 2);
    };
    for (int i = 0; i < dtype_info(dtype).block_bytes; ++i) {
        p[i] = static_cast<std::uint8_t>(r.next());
    }
    switch (dtype) {
        case DType::q4_0:
            return put(0, s / 4.6);
        case DType::q4_1:
            put(0, s / 4.6);
            return put(2, -s / 4.6 * 7.5);
        case DType::q5_0:
            return put(0, s / 9.2);
        case DType::q5_1:
            put(0, s / 9.2);
            return put(2, -s / 9.2 * 15.5);
        case DType::q8_0:
            return put(0, s / 74);
        case DType::q2_k:
            put(80, s / 12);
            return put(82, s / 12 * 1.5);
        case DType::q3_k:
            return put(108, s / 45);
        case DType::q4_k:
            put(0, s / 170);
            return put(2, s / 170 * 7.5);
        case DType::q5_k:
            put(0, s / 340);
            return put(2, s / 340 * 15.5);
        case DType::q6_k:
            return put(208, s / 1400);
        case DType::iq4_nl:
            return put(0, s / 65);
        case DType::iq4_xs:
            return put(0, s / 1200);
        case DType::mxfp4: {  // 2^(e-128) times about 6
            double value = s / 6;
            int e = 128;
            while (value < 1) value *= 2, --e;
            p[0] = static_cast<std::uint8_t>(e);
            return;
        }
        default:
            HEARTH_CHECK(!"a block format");
    }
}

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
    std::uint64_t h = seed * 0x9e3779b97f4a7c15u + 0xcbf29ce484222325u;
    for (const char c : text) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3u;
    return h;
}

struct Builder {
    const TinyOptions& o;
    GgufWriter& w;

    void add(const std::string& name, std::int64_t cols, std::int64_t rows, double deviation) {
        w.tensors.push_back({name,
                             {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)},
                             dtype_info(o.dtype).gguf_id,
                             random_rows(o.dtype, rows, cols, deviation, hash(name, o.seed))});
    }
    void matrix(const std::string& name, std::int64_t cols, std::int64_t rows) {
        double root = 1;
        while (root * root < static_cast<double>(cols)) root += 1;
        add(name, cols, rows, 1.0 / root);
    }
    /// F32 vector around `mean`.
    void vector(const std::string& name, std::int64_t n, float mean, double deviation) {
        Random r{hash(name, o.seed)};
        Bytes data(static_cast<std::size_t>(n) * 4);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            const float v = mean + static_cast<float>(deviation * r.normal());
            std::memcpy(data.data() + i * 4, &v, 4);
        }
        w.tensors.push_back({name, {static_cast<std::uint64_t>(n)}, 0, std::move(data)});
    }
    void norm(const std::string& name, std::int64_t n) { vector(name, n, 1.0f, 0.1); }
    bool is(std::string_view family) const { return o.family == family; }

    void keys();
    void attention(const std::string& p);
    void layer(int index);
};

void Builder::keys() {
    const auto key = [&](const char* name) { return o.family + "." + name; };
    const auto u32 = [&](const char* name, int v) {
        w.set(key(name), GgufValue::u32(static_cast<std::uint32_t>(v)));
    };
    w.set("general.architecture", GgufValue::text(o.family));
    w.set("general.name", GgufValue::text("Tiny " + o.family));
    w.set("general.alignment", GgufValue::u32(32));
    u32("context_length", o.context_length);
    u32("embedding_length", o.hidden_size);
    u32("block_count", o.n_layers);
    u32("feed_forward_length", o.intermediate_size);
    u32("vocab_size", kTinyVocabularySize);
    u32("attention.head_count", o.n_heads);
    u32("attention.head_count_kv", o.n_kv_heads);
    u32("attention.key_length", o.head_dim);
    u32("attention.value_length", o.head_dim);
    w.set(key("attention.layer_norm_rms_epsilon"), GgufValue::f32(is("llama") ? 1e-5f : 1e-6f));
    u32("rope.dimension_count", o.head_dim);
    w.set(key("rope.freq_base"), GgufValue::f32(is("gemma3") || is("qwen2") ? 1e6f : 1e4f));
    if (is("gemma2") || is("gemma3")) u32("attention.sliding_window", o.window);
    if (is("gemma2")) {
        w.set(key("attn_logit_softcapping"), GgufValue::f32(50.0f));
        w.set(key("final_logit_softcapping"), GgufValue::f32(30.0f));
    }
}

void Builder::attention(const std::string& p) {
    const std::int64_t d = o.hidden_size;
    const std::int64_t nq = std::int64_t{o.n_heads} * o.head_dim;
    const std::int64_t nk = std::int64_t{o.n_kv_heads} * o.head_dim;
    if (is("phi3")) {
        matrix(p + "attn_qkv.weight", d, nq + 2 * nk);
    } else {
        matrix(p + "attn_q.weight", d, nq);
        matrix(p + "attn_k.weight", d, nk);
        matrix(p + "attn_v.weight", d, nk);
    }
    if (is("qwen2")) {
        vector(p + "attn_q.bias", nq, 0.0f, 0.5);
        vector(p + "attn_k.bias", nk, 0.0f, 0.5);
        vector(p + "attn_v.bias", nk, 0.0f, 0.5);
    }
    if (is("qwen3") || is("gemma3")) {
        norm(p + "attn_q_norm.weight", o.head_dim);
        norm(p + "attn_k_norm.weight", o.head_dim);
    }
    matrix(p + "attn_output.weight", nq, d);
}

void Builder::layer(int index) {
    const std::string p = "blk." + std::to_string(index) + ".";
    const std::int64_t d = o.hidden_size;
    const std::int64_t f = o.intermediate_size;
    norm(p + "attn_norm.weight", d);
    attention(p);
    if (is("gemma2") || is("gemma3")) norm(p + "post_attention_norm.weight", d);
    norm(p + "ffn_norm.weight", d);
    if (is("phi3")) {
        matrix(p + "ffn_up.weight", d, 2 * f);
    } else {
        matrix(p + "ffn_gate.weight", d, f);
        matrix(p + "ffn_up.weight", d, f);
    }
    matrix(p + "ffn_down.weight", f, d);
    if (is("gemma2") || is("gemma3")) norm(p + "post_ffw_norm.weight", d);
}

}  // namespace

Bytes random_rows(DType dtype, std::int64_t rows, std::int64_t cols, double deviation,
                  std::uint64_t seed) {
    const DTypeInfo info = dtype_info(dtype);
    HEARTH_CHECK(cols % info.block_elems == 0);
    Random r{seed};
    Bytes out(static_cast<std::size_t>(rows * row_bytes(dtype, cols)));
    for (std::size_t at = 0; at < out.size(); at += static_cast<std::size_t>(info.block_bytes)) {
        if (is_quantized(dtype)) {
            random_block(dtype, out.data() + at, deviation, r);
            continue;
        }
        const auto value = static_cast<float>(deviation * r.normal());
        const std::uint16_t half =
            dtype == DType::f16 ? float_to_half(value) : float_to_bf16(value);
        if (dtype == DType::f32)
            std::memcpy(out.data() + at, &value, 4);
        else
            std::memcpy(out.data() + at, &half, 2);
    }
    return out;
}

GgufWriter tiny_writer(const TinyOptions& options) {
    GgufWriter w;
    Builder b{options, w};
    b.keys();
    add_tiny_vocabulary(w, options.vocabulary);
    if (options.chat_template) {
        w.set("tokenizer.chat_template", GgufValue::text(kTinyChatTemplate));
    }
    b.add("token_embd.weight", options.hidden_size, kTinyVocabularySize, 0.3);
    for (int i = 0; i < options.n_layers; ++i) b.layer(i);
    b.norm("output_norm.weight", options.hidden_size);
    if (!options.tied) b.add("output.weight", options.hidden_size, kTinyVocabularySize, 0.3);
    return w;
}

Bytes tiny_model(const TinyOptions& options) { return tiny_writer(options).build(); }

std::string write_tiny_model(const std::string& path, const TinyOptions& options) {
    write_file(path, tiny_model(options));
    return path;
}

}  // namespace hearth::test
