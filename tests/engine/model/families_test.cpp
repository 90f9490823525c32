// Every family end to end against tests/reference in double precision.
//
// Tolerance, in units of the deviation of a row of logits (s). F32 weights and F32 KV: every result
// of an op is within sqrt(K) * 2^-24 (K <= 512: 1.4e-6) of its exact value relative to its terms;
// some 20 ops in a row, each rescaled by a norm, give about 3e-5; 1e-4 is allowed for the largest
// difference. F16 KV adds values that round to the other side (2^-11 of one element of one key):
// 1e-3. Block-quantized weights: the reference rounds activations to int8 as the kernels do, but
// where an element lies near a half the two round apart, which moves what follows, until roundings
// differ at random. One rounding to int8 is noise of max/127/sqrt(12), 0.5 % of the deviation of
// 32 normal values; 9 matmuls in a row, twice independent: 0.5 % * 3 * 1.4 = 2.3 % root mean
// square. A wrong pairing, window, scale, norm or quant moves logits by the order of s.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include <catch2/catch.hpp>

#include "tests/engine/model/runner.h"
#include "tests/reference/decoder.h"
#include "tests/support/tiny_model.h"

using namespace hearth;
using namespace hearth::test;

namespace {

std::vector<std::int32_t> some_ids(int n) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < n; ++i) ids.push_back((i * 37 + i * i * 11 + 5) % kTinyVocabularySize);
    return ids;
}

/// Differences over the deviation of the reference's row.
struct Difference {
    double largest = 0;
    double rms = 0;  ///< of the worst row
};

Difference compare(const std::vector<std::vector<float>>& got, const reference::Matrix& expected) {
    REQUIRE(static_cast<int>(got.size()) == expected.rows);
    Difference out;
    for (int t = 0; t < expected.rows; ++t) {
        double sum = 0, squares = 0, largest = 0;
        for (int c = 0; c < expected.cols; ++c) {
            const double e = expected.at(t, c);
            const double g = got[static_cast<std::size_t>(t)][static_cast<std::size_t>(c)];
            const double difference = std::isfinite(g) ? std::fabs(g - e) : 1e9;
            sum += e * e;
            squares += difference * difference;
            largest = std::max(largest, difference);
        }
        out.largest = std::max(out.largest, largest / std::sqrt(sum / expected.cols));
        out.rms = std::max(out.rms, std::sqrt(squares / sum));
    }
    return out;
}

Difference run(GgufWriter w, DType kv, int n_tokens, int chunk, bool int8, int context_tokens = 0) {
    const LoadedModel model = load_bytes(w.build(), context_tokens);
    const auto ids = some_ids(n_tokens);
    reference::Decoder decoder(
        *model.file,
        {.half_kv = kv == DType::f16, .int8_activations = int8, .context_tokens = context_tokens});
    const reference::Matrix expected = decoder.forward(ids);
    const auto backend = make_cpu_backend({.n_threads = 1});
    Runner runner(model, *backend, kv, n_tokens, /*reversed_pages=*/true);
    return compare(runner.forward(ids, chunk), expected);
}

constexpr double kF32 = 1e-4;
constexpr double kHalfKv = 1e-3;
constexpr double kInt8 = 2.3e-2;  // rms

const char* const kAll[] = {"llama", "mistral3", "qwen2", "qwen3", "gemma2", "gemma3", "phi3"};

TinyOptions of_family(const std::string& family) {
    TinyOptions o;
    o.family = family;
    o.n_layers = family == "gemma3" ? 7 : 2;  // its sixth layer is the global one
    return o;
}

}  // namespace

TEST_CASE("F32 models of every family give the reference's logits", "[model][families]") {
    const std::string family = GENERATE(from_range(std::begin(kAll), std::end(kAll)));
    CAPTURE(family);
    // 41 tokens pass the window of 8 and two page borders.
    CHECK(run(tiny_writer(of_family(family)), DType::f32, 41, 41, false).largest < kF32);
}

TEST_CASE("A half-precision KV cache costs its rounding only", "[model][families]") {
    const std::string family = GENERATE(from_range(std::begin(kAll), std::end(kAll)));
    CAPTURE(family);
    CHECK(run(tiny_writer(of_family(family)), DType::f16, 30, 7, false).largest < kHalfKv);
}

TEST_CASE("Head counts: many for one, shared by three, own", "[model][families]") {
    const auto heads = GENERATE(table<int, int, int>(
        {{4, 1, 16}, {9, 3, 16}, {4, 4, 32}, {1, 1, 48}, {6, 2, 80}, {2, 1, 256}, {14, 2, 64}}));
    const std::string family = GENERATE("llama", "qwen2", "qwen3", "phi3");
    TinyOptions o = of_family(family);
    std::tie(o.n_heads, o.n_kv_heads, o.head_dim) = heads;
    CAPTURE(family, o.n_heads, o.n_kv_heads, o.head_dim);
    CHECK(run(tiny_writer(o), DType::f32, 20, 20, false).largest < kF32);
}

TEST_CASE("Every weight format runs in a whole model", "[model][families]") {
    const int index = GENERATE(range(0, kNumDTypes));
    TinyOptions o = of_family("llama");
    o.dtype = static_cast<DType>(index);
    o.hidden_size = 256;
    o.intermediate_size = 512;
    o.head_dim = 64;
    o.tied = index % 2 == 0;
    CAPTURE(dtype_info(o.dtype).name);
    const Difference d = run(tiny_writer(o), DType::f32, 24, 24, true);
    CAPTURE(d.largest);
    if (is_quantized(o.dtype))
        CHECK(d.rms < kInt8);
    else
        CHECK(d.largest < kF32);
}

TEST_CASE("Quantized fused tensors are cut at the right rows", "[model][families]") {
    const DType dtype = GENERATE(DType::q8_0, DType::q4_k, DType::q6_k);
    TinyOptions o = of_family("phi3");
    o.dtype = dtype;
    o.hidden_size = 256;
    o.intermediate_size = 512;
    o.head_dim = 64;
    CHECK(run(tiny_writer(o), DType::f32, 24, 24, true).rms < kInt8);
}

TEST_CASE("Rope variants give the reference's logits", "[model][rope]") {
    const std::string family = GENERATE("llama", "qwen2", "phi3", "gemma3");
    TinyOptions o = of_family(family);
    o.head_dim = 32;
    GgufWriter w = tiny_writer(o);
    const auto set = [&](const char* key, GgufValue v) { w.set(family + "." + key, std::move(v)); };
    SECTION("linear") {
        set("rope.scaling.type", GgufValue::text("linear"));
        set("rope.scaling.factor", GgufValue::f32(4));
    }
    SECTION("yarn") {
        set("rope.scaling.type", GgufValue::text("yarn"));
        set("rope.scaling.factor", GgufValue::f32(8));
        set("rope.scaling.original_context_length", GgufValue::u32(64));
    }
    SECTION("yarn with an explicit attention factor") {
        set("rope.scaling.type", GgufValue::text("yarn"));
        set("rope.scaling.factor", GgufValue::f32(8));
        set("rope.scaling.original_context_length", GgufValue::u32(64));
        set("rope.scaling.attn_factor", GgufValue::f32(1.5f));
    }
    SECTION("llama3 by keys") {
        set("rope.scaling.type", GgufValue::text("llama3"));
        set("rope.scaling.factor", GgufValue::f32(8));
        set("rope.scaling.original_context_length", GgufValue::u32(256));
    }
    SECTION("partial rotation") { set("rope.dimension_count", GgufValue::u32(16)); }
    SECTION("another base") { set("rope.freq_base", GgufValue::f32(500000)); }
    SECTION("an explicit scale of scores") { set("attention.scale", GgufValue::f32(0.4f)); }
    CHECK(run(w, DType::f32, 70, 70, false).largest < kF32);
}

namespace {

void add_vector(GgufWriter& w, const std::string& name, const std::vector<float>& values) {
    Bytes data(values.size() * 4);
    std::memcpy(data.data(), values.data(), data.size());
    w.tensors.push_back({name, {values.size()}, 0, data});
}

}  // namespace

TEST_CASE("Frequency divisors of Llama 3 and LongRoPE are used", "[model][rope]") {
    TinyOptions o = of_family("llama");
    SECTION("rope_freqs") {
        GgufWriter w = tiny_writer(o);
        add_vector(w, "rope_freqs.weight", {1, 1, 1, 2, 3.5f, 8, 8, 8});
        CHECK(run(w, DType::f32, 40, 40, false).largest < kF32);
    }
    SECTION("longrope without a type key, either list") {
        const int context = GENERATE(0, 64, 65);
        o.family = "phi3";
        GgufWriter w = tiny_writer(o);
        add_vector(w, "rope_factors_long.weight", {1, 2, 3, 4, 5, 6, 7, 8});
        add_vector(w, "rope_factors_short.weight", {1, 1, 1.5f, 1.5f, 2, 2, 2.5f, 2.5f});
        w.set("phi3.rope.scaling.original_context_length", GgufValue::u32(64));
        CAPTURE(context);
        CHECK(run(w, DType::f32, 40, 40, false, context).largest < kF32);
    }
}

TEST_CASE("Llama files with a window and with biases are honoured", "[model][families]") {
    TinyOptions o = of_family("llama");
    GgufWriter w = tiny_writer(o);
    w.set("llama.attention.sliding_window", GgufValue::u32(5));
    add_vector(w, "blk.0.attn_k.bias", std::vector<float>(32, 0.25f));
    CHECK(run(w, DType::f32, 40, 40, false).largest < kF32);
}

TEST_CASE("A window is crossed alike in chunks and whole", "[model][families]") {
    const std::string family = GENERATE("gemma2", "gemma3", "llama", "qwen2", "phi3");
    const DType dtype = GENERATE(DType::f32, DType::q8_0, DType::q4_k);
    TinyOptions o = of_family(family);
    o.dtype = dtype;
    o.hidden_size = 256;
    o.intermediate_size = 256;
    o.head_dim = 64;
    o.window = 20;
    const LoadedModel model = load_bytes(tiny_model(o));
    const auto ids = some_ids(90);
    const auto backend = make_cpu_backend({.n_threads = 2});
    Runner whole(model, *backend, DType::f16, 90);
    const auto expected = whole.forward(ids, 90);
    for (const int chunk : {1, 7, 16, 33}) {
        Runner runner(model, *backend, DType::f16, 90, chunk != 7);
        CAPTURE(family, chunk);
        CHECK(runner.forward(ids, chunk) == expected);
    }
}
