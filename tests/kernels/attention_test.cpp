// rope, KV pages and attention: against the double oracle, and bit for bit between rungs, threads,
// page orders, chunkings and neighbours in the batch.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "tests/kernels/attention_support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

using Shape = AttentionShape;
using Inputs = AttentionInputs;
using Runner = AttentionRunner;

std::vector<float> run_once(Backend& b, const Shape& s, const Inputs& in, int chunk,
                            unsigned seed = 0) {
    Runner r(b, s, in.n, seed);
    return r.run_chunks(in, chunk);
}

}  // namespace

TEST_CASE("attention is the oracle's for every group size", "[kernel][attention]") {
    const int per = GENERATE(1, 2, 3, 4, 5, 6, 7, 8, 12, 16);
    const Shape s{2 * per, 2, 32, 0, 0.0f};
    Rng rng(static_cast<unsigned>(per));
    const Inputs in = random_inputs(s, 83, rng);
    const auto expected = attention_oracle(s, in);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b) << " heads per kv head " << per);
        const auto y = run_once(*b, s, in, in.n);
        // Scores up to 8 after the scale, an ulp of 2^-21 each through exp: 1e-5 with room.
        CHECK(worst(y, expected) < 1e-5);
        if (first.empty()) first = y;
        CHECK(same_bits(y, first));
    }
}

TEST_CASE("attention is the oracle's for head sizes, windows, caps, types", "[kernel][attention]") {
    const Shape s =
        GENERATE(Shape{4, 2, 16, 0, 0.0f}, Shape{4, 2, 64, 7, 0.0f}, Shape{4, 4, 80, 0, 5.0f},
                 Shape{6, 2, 96, 64, 0.0f}, Shape{2, 1, 128, 65, 2.0f}, Shape{4, 1, 256, 100, 0.0f},
                 Shape{3, 1, 48, 1, 0.0f}, Shape{4, 2, 64, 0, 0.0f, DType::bf16},
                 Shape{4, 2, 64, 20, 0.0f, DType::f32}, Shape{4, 2, 112, 0, 0.0f});
    Rng rng(5);
    const Inputs in = random_inputs(s, 150, rng);
    const auto expected = attention_oracle(s, in);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b) << " head_dim " << s.head_dim << " window " << s.window);
        const auto y = run_once(*b, s, in, in.n);
        CHECK(worst(y, expected) < 1e-5);
        if (first.empty()) first = y;
        CHECK(same_bits(y, first));
    }
}

TEST_CASE("attention does not depend on chunks, page order, threads",
          "[kernel][attention][invariance]") {
    const int window = GENERATE(0, 300, 512, 70);
    const Shape s{6, 2, 64, window, 0.0f};
    Rng rng(9);
    const Inputs in = random_inputs(s, 1100, rng);  // three partitions
    const auto base = backend(supported_cpu_isas().back(), 1);
    const auto expected = run_once(*base, s, in, in.n);
    CHECK(worst(expected, attention_oracle(s, in)) < 1e-5);
    for (const int threads : {1, 2, 3, 5}) {
        const auto b = backend(supported_cpu_isas().back(), threads);
        for (const int chunk : {1100, 512, 100, 17}) {
            INFO("window " << window << " threads " << threads << " chunk " << chunk);
            CHECK(same_bits(run_once(*b, s, in, chunk, static_cast<unsigned>(chunk + threads)),
                            expected));
        }
    }
    // Token by token at the end, where a query is split over partitions.
    const auto b = backend(supported_cpu_isas().back(), 2);
    Runner r(*b, s, in.n, 3);
    r.run(in, 0, 1050);
    for (int t = 1050; t < in.n; ++t) {
        const auto y = r.run(in, t, 1);
        CHECK(std::memcmp(y.data(), expected.data() + static_cast<std::size_t>(t) * 6 * 64,
                          y.size() * 4) == 0);
    }
}

TEST_CASE("rungs agree when a query is split over partitions", "[kernel][attention]") {
    const Shape s{7, 1, 80, 0, 0.0f};
    Rng rng(10);
    const Inputs in = random_inputs(s, 1030, rng);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        Runner r(*b, s, in.n, 2);
        r.run(in, 0, 1029);
        const auto y = r.run(in, 1029, 1);
        if (first.empty()) first = y;
        INFO(name_of(*b));
        CHECK(same_bits(y, first));
    }
}

TEST_CASE("sequences of a batch do not see each other", "[kernel][attention][invariance]") {
    const Shape s{4, 2, 32, 0, 0.0f, DType::f16, RopePairing::half_split, 32};
    Rng rng(12);
    const Inputs a = random_inputs(s, 40, rng), c = random_inputs(s, 3, rng);
    const auto b = backend(CpuIsa::automatic, 2);
    const auto alone_a = run_once(*b, s, a, 40), alone_c = run_once(*b, s, c, 3);
    // Together: rows 0..2 are c, rows 3..42 are a, in one layer with separate pages.
    Runner r(*b, s, 96, 0);
    std::vector<float> q = c.q, k = c.k, v = c.v;
    q.insert(q.end(), a.q.begin(), a.q.end());
    k.insert(k.end(), a.k.begin(), a.k.end());
    v.insert(v.end(), a.v.begin(), a.v.end());
    const std::int32_t pages_c[] = {5}, pages_a[] = {2, 1, 4};
    const SequenceSpan spans[] = {{0, 3, 0, pages_c, 1}, {3, 40, 0, pages_a, 3}};
    const std::vector<std::int32_t> tokens(43);
    BatchView batch;
    batch.tokens = tokens;
    batch.sequences = spans;
    std::vector<float> y(q.size());
    const AttentionSpec spec = spec_of(s);
    b->begin(batch);
    b->rope_store_kv(view(q, 43), view(k, 43), view(v, 43), r.layer(), spec);
    b->attention(view(y, 43), view(q, 43), r.layer(), spec);
    b->run();
    CHECK(same_bits({y.begin(), y.begin() + 3 * 128}, alone_c));
    CHECK(same_bits({y.begin() + 3 * 128, y.end()}, alone_a));
}

TEST_CASE("stale finite keys and values behind a sequence change nothing", "[kernel][attention]") {
    const Shape s{4, 2, 64, 0, 0.0f};
    Rng rng(14);
    const Inputs in = random_inputs(s, 37, rng);
    for (const auto& b : all_backends()) {
        const auto clean = run_once(*b, s, in, 37);
        Runner r(*b, s, 64, 0);
        std::vector<std::uint16_t> noise(static_cast<std::size_t>(r.layer().page_bytes) * 5 / 2);
        for (auto& h : noise)
            h = static_cast<std::uint16_t>(rng() % 0x7c00u) |
                static_cast<std::uint16_t>((rng() & 1u) << 15);
        std::memcpy(r.layer().keys, noise.data(), noise.size() * 2);
        std::memcpy(r.layer().values, noise.data(), noise.size() * 2);
        INFO(name_of(*b));
        CHECK(same_bits(r.run(in, 0, 37), clean));
    }
}

TEST_CASE("rope rotates both pairings, partially, and copies the rest", "[kernel][rope]") {
    const RopePairing pairing = GENERATE(RopePairing::consecutive, RopePairing::half_split);
    const int n_dims = GENERATE(64, 48, 20, 2);
    const Shape s{3, 1, 64, 0, 0.0f, DType::f32, pairing, n_dims};
    Rng rng(21);
    const Inputs in = random_inputs(s, 35, rng);
    const AttentionSpec spec = spec_of(s);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b) << " n_dims " << n_dims);
        Runner r(*b, s, 35, 4);
        r.run(in, 0, 35);
        const std::vector<float>& q = r.rotated_q();
        if (first.empty()) first = q;
        CHECK(same_bits(q, first));
        const auto* keys = static_cast<const float*>(r.layer().keys);
        const auto* values = static_cast<const float*>(r.layer().values);
        for (int t = 0; t < 35; ++t) {
            for (int h = 0; h < 4; ++h) {  // 3 query heads, then the key
                const float* from = h < 3 ? in.q.data() + (t * 3 + h) * 64 : in.k.data() + t * 64;
                std::vector<double> head(from, from + 64);
                reference::rope(head.data(), spec.rope.inv_freq, t,
                                pairing == RopePairing::half_split, 1.0);
                const float* page = keys + r.pages()[static_cast<std::size_t>(t / 16)] * 1024;
                for (int i = 0; i < 64; ++i) {
                    const float got = h < 3 ? q[static_cast<std::size_t>((t * 3 + h) * 64 + i)]
                                            : page[i * 16 + t % 16];
                    if (i >= n_dims) {
                        CHECK(got == from[i]);
                    } else if (!(std::fabs(got - head[static_cast<std::size_t>(i)]) < 1e-6)) {
                        FAIL("token " << t << " head " << h << " dim " << i);
                    }
                }
            }
            for (int i = 0; i < 64; ++i)
                CHECK(
                    values[r.pages()[static_cast<std::size_t>(t / 16)] * 1024 + t % 16 * 64 + i] ==
                    in.v[static_cast<std::size_t>(t * 64 + i)]);
        }
    }
}

TEST_CASE("keys and values that a half cannot hold become its largest", "[kernel][rope]") {
    const Shape s{1, 1, 16, 0, 0.0f};
    Inputs in;
    in.n = 1;
    in.q.assign(16, 0.0f);
    in.k.assign(16, 1e6f);
    in.v.assign(16, -std::numeric_limits<float>::infinity());
    for (const auto& b : all_backends()) {
        Runner r(*b, s, 1, 0);
        const auto y = r.run(in, 0, 1);
        INFO(name_of(*b));
        CHECK(static_cast<const std::uint16_t*>(r.layer().keys)[256] == 0x7bff);
        CHECK(y[0] == -65504.0f);
    }
}
