// rope, KV pages and attention on the emulated card: against the double oracle, and bit for bit
// between chunkings, page orders, neighbours, schedules and ways to cut the work.
#include <cmath>
#include <utility>

#include "simt_support.h"
#include "tests/kernels/attention_support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

using Shape = AttentionShape;
using Inputs = AttentionInputs;
using Runner = AttentionRunner;

/// Errors: q to 2^-22 of itself (two halves), p to 2^-11 (f16; bf16 in two halves 2^-16), f32 sums;
/// outputs are means of values below 1. The table of specs/cuda-kernels.md 6.1 allows 5e-4.
constexpr double kTolerance = 5e-4;

void check_against_oracle(const Shape& s, const Inputs& in, const std::vector<float>& y) {
    CHECK(worst(y, attention_oracle(s, in)) <= kTolerance);
}

}  // namespace

TEST_CASE("attention on the card is the oracle's", "[cuda][attention]") {
    const Shape s = GENERATE(
        Shape{4, 2, 64}, Shape{3, 1, 80}, Shape{5, 5, 96}, Shape{8, 1, 128}, Shape{2, 1, 256},
        Shape{16, 1, 64}, Shape{6, 2, 16}, Shape{7, 1, 32, 20}, Shape{4, 2, 64, 33, 5.0f},
        Shape{4, 2, 64, 0, 0, DType::bf16}, Shape{2, 2, 256, 7, 0, DType::bf16}, Shape{9, 3, 192});
    INFO("heads " << s.n_heads << "/" << s.n_kv_heads << " dim " << s.head_dim << " window "
                  << s.window);
    Rng rng(41);
    const Inputs in = random_inputs(s, 75, rng);
    const auto b = card();
    Runner runner(*b, s, in.n, 5);
    check_against_oracle(s, in, runner.run(in, 0, in.n));
}

TEST_CASE("attention over several partitions is the oracle's however it is cut",
          "[cuda][attention][invariance]") {
    const Shape s =
        GENERATE(Shape{4, 2, 64}, Shape{2, 1, 128, 600}, Shape{3, 1, 64, 40}, Shape{1, 1, 256});
    INFO("heads " << s.n_heads << " dim " << s.head_dim << " window " << s.window);
    Rng rng(43);
    const int n = s.head_dim == 256 ? 530 : 1100;
    const Inputs in = random_inputs(s, n, rng);
    const auto b = card();
    std::vector<float> whole;
    {
        Runner runner(*b, s, n, 0);
        whole = runner.run(in, 0, n);
        check_against_oracle(s, in, whole);
    }
    const auto row = static_cast<std::ptrdiff_t>(whole.size()) / n;
    // The last rows alone: few tiles, so each partition is a block of its own, then merged.
    Runner runner(*b, s, n, 9);
    const int first = n - 5;
    runner.run(in, 0, first);
    const std::vector<float> tail(whole.begin() + first * row, whole.end());
    CHECK(same_bits(runner.run(in, first, 5), tail));
    for (int i = 0; i < 5; ++i) {
        const std::vector<float> one(whole.begin() + (first + i) * row,
                                     whole.begin() + (first + i + 1) * row);
        CHECK(same_bits(runner.run(in, first + i, 1), one));
    }
}

TEST_CASE("attention on the card does not depend on chunks, pages or schedule",
          "[cuda][attention][invariance]") {
    const Shape s = GENERATE(Shape{6, 2, 64, 0, 0, DType::f16, RopePairing::half_split, 64},
                             Shape{4, 4, 32, 21, 0, DType::bf16, RopePairing::consecutive, 16});
    Rng rng(47);
    const Inputs in = random_inputs(s, 90, rng);
    const auto b = card();
    std::vector<float> first;
    each_schedule([&] {
        for (const unsigned page_seed : {0u, 3u}) {
            for (const int chunk : {90, 1, 7, 32}) {
                if (chunk == 1 && !is_first_schedule()) continue;
                Runner runner(*b, s, in.n, page_seed);
                const auto y = runner.run_chunks(in, chunk);
                if (first.empty()) first = y;
                INFO("chunk " << chunk << " pages " << page_seed);
                CHECK(same_bits(y, first));
            }
        }
    });
}

TEST_CASE("sequences of one step on the card do not see each other", "[cuda][attention]") {
    const Shape s{4, 2, 64, 0, 0, DType::f16, RopePairing::half_split, 64};
    const AttentionSpec spec = spec_of(s);
    Rng rng(53);
    // The second ends a list of pages inside a tile of four: behind it lie words that are no pages.
    const auto [n_one, n_two] = GENERATE(std::pair{40, 23}, std::pair{12, 70});
    const int n = n_one + n_two;
    INFO("rows " << n_one << " and " << n_two);
    const Inputs one = random_inputs(s, n_one, rng), two = random_inputs(s, n_two, rng);
    const auto b = card();
    const auto alone = [&](const Inputs& in) {
        Runner runner(*b, s, in.n, 0);
        return runner.run(in, 0, in.n);
    };
    const auto expected_one = alone(one), expected_two = alone(two);
    const auto joined = [](const std::vector<float>& a, const std::vector<float>& c) {
        std::vector<float> v = a;
        v.insert(v.end(), c.begin(), c.end());
        return v;
    };
    const Matrix q(*b, joined(one.q, two.q), n), k(*b, joined(one.k, two.k), n),
        v(*b, joined(one.v, two.v), n), y(*b, std::vector<float>(one.q.size() + two.q.size()), n);
    const std::vector<std::int32_t> pages_one{4, 0, 2}, pages_two{3, 1, 5, 7, 6},
        tokens(static_cast<std::size_t>(n));
    const SequenceSpan spans[] = {{0, n_one, 0, pages_one.data(), (n_one + 15) / 16},
                                  {n_one, n_two, 0, pages_two.data(), (n_two + 15) / 16}};
    KvLayer layer;
    layer.dtype = s.dtype;
    layer.n_kv_heads = 2;
    layer.head_dim = 64;
    layer.page_bytes = row_bytes(s.dtype, 2 * 64 * kPageTokens);
    const auto bytes = static_cast<std::size_t>(layer.page_bytes) * 8;
    layer.keys = b->allocate(bytes);
    layer.values = b->allocate(bytes);
    BatchView batch;
    batch.tokens = tokens;
    batch.sequences = spans;
    b->begin(batch);
    b->rope_store_kv(q.view(), k.view(), v.view(), layer, spec);
    b->attention(y.view(), q.view(), layer, spec);
    CHECK(b->run());
    CHECK(same_bits(y.read(), joined(expected_one, expected_two)));
    b->release(layer.keys, bytes);
    b->release(layer.values, bytes);
}

TEST_CASE("rope on the card rotates both pairings, partially, and copies the rest",
          "[cuda][rope]") {
    const auto pairing = GENERATE(RopePairing::consecutive, RopePairing::half_split);
    const int n_dims = GENERATE(64, 48, 2);
    const Shape s{3, 1, 64, 0, 0, DType::f16, pairing, n_dims};
    INFO("n_dims " << n_dims);
    const AttentionSpec spec = spec_of(s);
    Rng rng(59);
    const int n = 19, first = 30;
    const Inputs in = random_inputs(s, n, rng);
    const auto b = card();
    const Matrix q(*b, in.q, n), k(*b, in.k, n), v(*b, in.v, n);
    const std::vector<std::int32_t> pages{2, 0, 3, 1}, tokens(static_cast<std::size_t>(n));
    const SequenceSpan span{0, n, first, pages.data(), 4};
    KvLayer layer;
    layer.dtype = s.dtype;
    layer.n_kv_heads = 1;
    layer.head_dim = 64;
    layer.page_bytes = row_bytes(s.dtype, 64 * kPageTokens);
    const auto bytes = static_cast<std::size_t>(layer.page_bytes) * 4;
    layer.keys = b->allocate(bytes);
    layer.values = b->allocate(bytes);
    BatchView batch;
    batch.tokens = tokens;
    batch.sequences = {&span, 1};
    b->begin(batch);
    b->rope_store_kv(q.view(), k.view(), v.view(), layer, spec);
    CHECK(b->run());
    const auto check = [&](const std::vector<float>& got, const std::vector<float>& from,
                           int heads) {
        for (int i = 0; i < n * heads; ++i) {
            const auto at = static_cast<std::ptrdiff_t>(i) * 64;
            std::vector<double> head(from.begin() + at, from.begin() + at + 64);
            reference::rope(head.data(), spec.rope.inv_freq, first + i / heads,
                            pairing == RopePairing::half_split, 1.0);
            for (std::size_t d = 0; d < 64; ++d)
                if (!(std::fabs(got[static_cast<std::size_t>(at) + d] - head[d]) < 1e-6))
                    FAIL("head " << i << " dim " << d);
        }
    };
    check(q.read(), in.q, 3);
    check(k.read(), in.k, 1);
    b->release(layer.keys, bytes);
    b->release(layer.values, bytes);
}
