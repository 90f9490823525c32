// Ops on rows: embed, norms, gate, gather, softcap against the oracle and across rungs.
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/kernels/support.h"
#include "tests/reference/ops.h"

using namespace hearth;
using namespace hearth::test;

namespace {

constexpr std::int64_t kPad = 5;  ///< floats between rows, must stay untouched

/// A matrix with a stride larger than its columns, filled from dense values.
struct Strided {
    std::vector<float> v;
    std::int64_t rows, cols;
    Strided(const std::vector<float>& dense, std::int64_t r)
        : rows(r),
          cols(static_cast<std::int64_t>(dense.size()) / r) {
        v.assign(static_cast<std::size_t>(rows * (cols + kPad)), 99.0f);
        for (std::int64_t t = 0; t < rows; ++t)
            std::copy_n(dense.begin() + t * cols, cols, v.begin() + t * (cols + kPad));
    }
    MatrixView view() { return {v.data(), rows, cols, cols + kPad}; }
    std::vector<float> dense() const {
        std::vector<float> d;
        for (std::int64_t t = 0; t < rows; ++t) {
            d.insert(d.end(), v.begin() + t * (cols + kPad), v.begin() + t * (cols + kPad) + cols);
            for (std::int64_t i = 0; i < kPad; ++i)
                CHECK(v[static_cast<std::size_t>(t * (cols + kPad) + cols + i)] == 99.0f);
        }
        return d;
    }
};

void check_close(const std::vector<float>& got, const std::vector<double>& expected,
                 double relative) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!(std::fabs(got[i] - expected[i]) <= relative * (std::fabs(expected[i]) + 1e-30)))
            FAIL("element " << i << ": " << got[i] << ", expected " << expected[i]);
}

}  // namespace

TEST_CASE("rms_norm, plain, in place and accumulating", "[kernel][rms_norm]") {
    const std::int64_t cols = GENERATE(1, 15, 16, 17, 64, 576, 1000), rows = GENERATE(1, 3, 9);
    Rng rng(1);
    const auto x = random_floats(static_cast<std::size_t>(rows * cols), rng, 3.0f);
    const auto w = random_floats(static_cast<std::size_t>(cols), rng);
    const TensorView weight{w.data(), DType::f32, 1, cols};
    const auto expected = reference::rms_norm({static_cast<int>(rows), static_cast<int>(cols), x},
                                              {w.begin(), w.end()}, 1e-5);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b) << " " << rows << " x " << cols);
        Strided in(x, rows), out(x, rows), place(x, rows), sum(x, rows);
        b->begin({});
        b->rms_norm(out.view(), in.view(), weight, 1e-5f);
        b->rms_norm(place.view(), place.view(), weight, 1e-5f);
        b->rms_norm(sum.view(), in.view(), weight, 1e-5f, true);
        b->run();
        const auto y = out.dense();
        check_close(y, expected.v, 1e-6);
        CHECK(same_bits(place.dense(), y));
        const auto added = sum.dense();
        for (std::size_t i = 0; i < y.size(); ++i)
            CHECK(added[i] == Approx(x[i] + y[i]).margin(1e-6));
        auto all = y;
        all.insert(all.end(), added.begin(), added.end());
        if (first.empty()) first = all;
        CHECK(same_bits(all, first));
    }
}

TEST_CASE("head_norm norms each head by itself", "[kernel][rms_norm]") {
    const int d = GENERATE(16, 64, 80, 256);
    Rng rng(2);
    const std::int64_t rows = 3, heads = 5;
    const auto x = random_floats(static_cast<std::size_t>(rows * heads * d), rng);
    const auto w = random_floats(static_cast<std::size_t>(d), rng);
    const auto expected =
        reference::rms_norm({static_cast<int>(rows * heads), d, x}, {w.begin(), w.end()}, 1e-6);
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        Strided in(x, rows);
        b->begin({});
        b->head_norm(in.view(), {w.data(), DType::f32, 1, d}, d, 1e-6f);
        b->run();
        const auto y = in.dense();
        check_close(y, expected.v, 1e-6);
        if (first.empty()) first = y;
        CHECK(same_bits(y, first));
    }
}

TEST_CASE("gated activations and softcap", "[kernel][gated]") {
    const std::int64_t cols = GENERATE(1, 16, 33, 200), rows = GENERATE(1, 4);
    Rng rng(3);
    auto gate = random_floats(static_cast<std::size_t>(rows * cols), rng, 12.0f);
    gate[0] = -200.0f;
    const auto up = random_floats(gate.size(), rng);
    std::vector<double> silu, gelu, capped;
    for (std::size_t i = 0; i < gate.size(); ++i) {
        silu.push_back(reference::silu(gate[i]) * up[i]);
        gelu.push_back(reference::gelu_tanh(gate[i]) * up[i]);
        capped.push_back(reference::softcap(gate[i], 30.0));
    }
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b));
        Strided a(gate, rows), c(gate, rows), e(gate, rows), u(up, rows);
        b->begin({});
        b->gated(a.view(), u.view(), GatedActivation::silu);
        b->gated(c.view(), u.view(), GatedActivation::gelu_tanh);
        b->softcap(e.view(), 30.0f);
        b->run();
        auto all = a.dense();
        check_close(all, silu, 2e-6);
        // far out gelu is below the normal range or its argument's cube loses digits: absolute
        const auto y = c.dense();
        for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Approx(gelu[i]).margin(1e-6));
        check_close(e.dense(), capped, 1e-6);
        all.insert(all.end(), y.begin(), y.end());
        const auto z = e.dense();
        all.insert(all.end(), z.begin(), z.end());
        if (first.empty()) first = all;
        CHECK(same_bits(all, first));
    }
}

TEST_CASE("embed looks tokens up in any format, gather_outputs picks rows", "[kernel][embed]") {
    const DType t = GENERATE(from_range(all_formats()));
    Rng rng(4);
    const std::int64_t vocab = 20, cols = 256;
    const auto table = random_weights(t, vocab, cols, rng);
    const std::vector<std::int32_t> tokens = {3, 19, 0, 3, 7}, outputs = {1, 4};
    for (const auto& b : all_backends()) {
        std::vector<float> y(5 * 256), z(2 * 256);
        BatchView batch;
        batch.tokens = tokens;
        const SequenceSpan span{0, 5, 0, nullptr, 0};
        batch.sequences = {&span, 1};
        batch.output_rows = outputs;
        b->begin(batch);
        b->embed(view(y, 5), {table.data(), t, vocab, cols}, 2.5f);
        b->gather_outputs(view(z, 2), view(y, 5));
        b->run();
        std::vector<float> row(256);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            dequantize_row(t, table.data() + tokens[i] * row_bytes(t, cols), row.data(), cols);
            for (std::size_t k = 0; k < 256; ++k)
                if (y[i * 256 + k] != row[k] * 2.5f) FAIL("token " << i << " column " << k);
        }
        for (std::size_t i = 0; i < 2; ++i)
            CHECK(std::memcmp(z.data() + i * 256,
                              y.data() + static_cast<std::size_t>(outputs[i]) * 256, 1024) == 0);
    }
}

TEST_CASE("memory of the backend is zeroed and aligned", "[kernel]") {
    const auto b = backend(CpuIsa::automatic, 1);
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{5} << 20}) {
        auto* p = static_cast<std::uint8_t*>(b->allocate(bytes));
        REQUIRE(p != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(p) % (bytes > 1000 ? std::size_t{2} << 20 : 64) ==
              0);
        CHECK(std::all_of(p, p + bytes, [](std::uint8_t v) { return v == 0; }));
        b->release(p, bytes);
    }
}
