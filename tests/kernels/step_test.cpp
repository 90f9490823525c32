// A recorded step gives the bits of its ops run one by one: dropped barriers, private copies and
// shared quantizations are invisible.
#include <catch2/catch.hpp>

#include "tests/kernels/support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

constexpr int kHeads = 4, kKvHeads = 2, kDim = 32, kHidden = 256, kInner = 512;

/// A transformer layer over random weights, its activations and its KV pages.
struct Layer {
    std::vector<std::uint8_t> wq, wk, wv, wo, gate, up, down;
    std::vector<float> norm1, norm2, post, bias;
    std::vector<float> x, h, q, k, v, a, g, u, logits;
    std::vector<float> keys, values;
    std::vector<std::int32_t> pages{2, 0, 1}, tokens, outputs;
    SequenceSpan span;
    AttentionSpec spec;
    std::int64_t n;

    explicit Layer(std::int64_t rows) : n(rows) {
        Rng rng(3);
        wq = random_weights(DType::q4_k, kHidden, kHidden, rng);
        wk = random_weights(DType::q8_0, kKvHeads * kDim, kHidden, rng);
        wv = random_weights(DType::q6_k, kKvHeads * kDim, kHidden, rng);
        wo = random_weights(DType::q5_0, kHidden, kHeads * kDim, rng);
        gate = random_weights(DType::q4_0, kInner, kHidden, rng);
        up = random_weights(DType::q4_0, kInner, kHidden, rng);
        down = random_weights(DType::q6_k, kHidden, kInner, rng);
        norm1 = random_floats(kHidden, rng);
        norm2 = random_floats(kHidden, rng);
        post = random_floats(kHidden, rng);
        bias = random_floats(kKvHeads * kDim, rng);
        const auto size = [&](std::int64_t cols) { return static_cast<std::size_t>(n * cols); };
        x = random_floats(size(kHidden), rng);
        h.resize(size(kHidden));
        q.resize(size(kHidden));
        a.resize(size(kHeads * kDim));
        q.resize(size(kHeads * kDim));
        k.resize(size(kKvHeads * kDim));
        v.resize(size(kKvHeads * kDim));
        g.resize(size(kInner));
        u.resize(size(kInner));
        logits.resize(kHidden);
        keys.resize(3 * 16 * kKvHeads * kDim);
        values.resize(keys.size());
        tokens.resize(static_cast<std::size_t>(n));
        outputs = {static_cast<std::int32_t>(n - 1)};
        span = {0, static_cast<int>(n), 5, pages.data(), 3};
        spec.n_heads = kHeads;
        spec.n_kv_heads = kKvHeads;
        spec.head_dim = kDim;
        spec.scale = 0.2f;
        spec.rope = {RopePairing::half_split, kDim, std::vector<double>(kDim / 2, 0.3), 1.0f};
    }

    /// Calls between(backend) after every op.
    template <typename Between>
    void record(Backend& b, Between between) {
        const TensorView n1{norm1.data(), DType::f32, 1, kHidden},
            n2{norm2.data(), DType::f32, 1, kHidden}, n3{post.data(), DType::f32, 1, kHidden};
        const TensorView tb{bias.data(), DType::f32, 1, kKvHeads * kDim};
        const KvLayer kv{keys.data(), values.data(), 16 * kKvHeads * kDim * 4,
                         DType::f32,  kKvHeads,      kDim};
        const auto m = [&](std::vector<float>& t) { return view(t, n); };
        const auto step = [&](auto op) {
            op();
            between(b);
        };
        const std::int64_t wide = kHeads * kDim, narrow = kKvHeads * kDim;
        step([&] { b.rms_norm(m(h), m(x), n1, 1e-5f); });
        step([&] { b.matmul(m(q), m(h), {wq.data(), DType::q4_k, wide, kHidden}); });
        step([&] { b.matmul(m(k), m(h), {wk.data(), DType::q8_0, narrow, kHidden}, tb); });
        step([&] { b.matmul(m(v), m(h), {wv.data(), DType::q6_k, narrow, kHidden}); });
        step([&] { b.head_norm(m(q), {norm1.data(), DType::f32, 1, kDim}, kDim, 1e-6f); });
        step([&] { b.rope_store_kv(m(q), m(k), m(v), kv, spec); });
        step([&] { b.attention(m(a), m(q), kv, spec); });
        step([&] { b.matmul(m(h), m(a), {wo.data(), DType::q5_0, kHidden, wide}); });
        step([&] { b.rms_norm(m(x), m(h), n3, 1e-5f, true); });
        step([&] { b.rms_norm(m(h), m(x), n2, 1e-5f); });
        step([&] { b.matmul(m(g), m(h), {gate.data(), DType::q4_0, kInner, kHidden}); });
        step([&] { b.matmul(m(u), m(h), {up.data(), DType::q4_0, kInner, kHidden}); });
        step([&] { b.gated(m(g), m(u), GatedActivation::silu); });
        step([&] { b.matmul(m(x), m(g), {down.data(), DType::q6_k, kHidden, kInner}, {}, true); });
        step([&] { b.rms_norm(m(x), m(x), n1, 1e-5f); });
        step([&] { b.matmul(m(h), m(x), {wq.data(), DType::q4_k, kHidden, kHidden}); });
        step([&] { b.gather_outputs(view(logits, 1), m(h)); });
        step([&] { b.softcap(view(logits, 1), 3.0f); });
    }
    BatchView batch() const {
        BatchView v2;
        v2.tokens = tokens;
        v2.sequences = {&span, 1};
        v2.output_rows = outputs;
        return v2;
    }
    std::vector<float> everything() const {
        std::vector<float> all = x;
        for (const auto* part : {&h, &q, &k, &v, &a, &g, &logits, &keys, &values})
            all.insert(all.end(), part->begin(), part->end());
        return all;
    }
};

}  // namespace

TEST_CASE("a step is its ops one by one", "[kernel][step]") {
    const std::int64_t n = GENERATE(1, 2, 5, 20);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b) << " rows " << n);
        Layer whole(n), single(n);
        for (int repeat = 0; repeat < 3; ++repeat) {
            b->begin(whole.batch());
            whole.record(*b, [](Backend&) {});
            CHECK(b->run());
            b->begin(single.batch());
            single.record(*b, [&](Backend& be) {
                be.run();
                be.begin(single.batch());
            });
            b->run();
            CHECK(same_bits(whole.everything(), single.everything()));
        }
        if (first.empty()) first = whole.everything();
        CHECK(same_bits(whole.everything(), first));
    }
}
