// The ops on rows on the emulated card, against the CPU backend: element functions and orders of
// sums differ in the last bits only.
#include <cmath>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/ops.h"
#include "simt_support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

/// |a - b| within `ulps` units of 2^-24 of the larger of |b| and scale.
void check_near(const std::vector<float>& a, const std::vector<float>& b, double ulps,
                double scale = 0) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double bound = ulps * 0x1p-24 * std::max(std::fabs(static_cast<double>(b[i])), scale);
        if (!(std::fabs(static_cast<double>(a[i]) - b[i]) <= bound))
            FAIL("element " << i << ": " << a[i] << ", expected " << b[i]);
    }
}

/// The same ops on the CPU and on the card; x and second are in and out.
template <typename Record>
void both(std::vector<float> x, std::vector<float> second, std::int64_t rows, double ulps,
          Record record) {
    const auto cpu = backend(CpuIsa::scalar, 1);
    const auto device = card();
    std::vector<float> expected[2];
    {
        const Matrix a(*cpu, x, rows), c(*cpu, second, rows);
        record(*cpu, a.view(), c.view());
        cpu->run();
        expected[0] = a.read();
        expected[1] = c.read();
    }
    each_schedule([&] {
        const Matrix a(*device, x, rows), c(*device, second, rows);
        record(*device, a.view(), c.view());
        CHECK(device->run());
        check_near(a.read(), expected[0], ulps);
        check_near(c.read(), expected[1], ulps);
    });
}

}  // namespace

TEST_CASE("rms_norm and head_norm on the card", "[cuda][rows]") {
    const std::int64_t cols = GENERATE(1, 5, 64, 576, 1030);
    const std::int64_t rows = GENERATE(1, 3);
    INFO("columns " << cols);
    Rng rng(3);
    const auto size = static_cast<std::size_t>(rows * cols);
    const auto x = random_floats(size, rng), y = random_floats(size, rng);
    const auto w = random_floats(static_cast<std::size_t>(cols), rng);
    const TensorView weight{w.data(), DType::f32, 1, cols};
    const bool accumulate = GENERATE(false, true);
    // Sums of squares of one sign: a relative error of a few units. The last term is y's own.
    both(x, y, rows, accumulate ? 1 << 12 : 16, [&](Backend& b, MatrixView a, MatrixView c) {
        b.begin({});
        b.rms_norm(c, a, weight, 1e-5f, accumulate);
    });
    if (cols % 8 != 0) return;
    const auto hw = random_floats(8, rng);
    both(x, y, rows, 16, [&](Backend& b, MatrixView a, MatrixView) {
        b.begin({});
        b.head_norm(a, {hw.data(), DType::f32, 1, 8}, 8, 1e-6f);
    });
}

TEST_CASE("gate, softcap and gather on the card", "[cuda][rows]") {
    const std::int64_t cols = GENERATE(1, 31, 96, 1025);
    Rng rng(5);
    const std::int64_t rows = 3;
    const auto size = static_cast<std::size_t>(rows * cols);
    const auto x = random_floats(size, rng, 6.0f), up = random_floats(size, rng, 3.0f);
    for (const auto act : {GatedActivation::silu, GatedActivation::gelu_tanh}) {
        both(x, up, rows, 8, [&](Backend& b, MatrixView a, MatrixView c) {
            b.begin({});
            b.gated(a, c, act);
        });
    }
    both(x, up, rows, 8, [&](Backend& b, MatrixView a, MatrixView) {
        b.begin({});
        b.softcap(a, 2.5f);
    });
    const std::vector<std::int32_t> tokens(3), outputs{0, 1, 2}, order{2, 0, 2};
    const SequenceSpan span{0, 3, 0, order.data(), 3};
    both(x, up, rows, 0, [&](Backend& b, MatrixView a, MatrixView c) {
        BatchView batch;
        batch.tokens = tokens;
        batch.sequences = {&span, 1};
        batch.output_rows = order;
        b.begin(batch);
        b.gather_outputs(c, a);
    });
}

TEST_CASE("embed on the card gives the values of the file to the bit", "[cuda][embed]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    Rng rng(9);
    const int block = dtype_info(t).block_elems;
    for (const std::int64_t cols : {std::int64_t{block}, std::int64_t{block} * 5}) {
        const std::int64_t rows = 35;
        const auto w = random_weights(t, rows, cols, rng);
        const std::vector<std::int32_t> tokens{34, 0, 15, 16, 7, 33, 8, 24};
        const SequenceSpan span{0, 8, 0, tokens.data(), 8};
        BatchView batch;
        batch.tokens = tokens;
        batch.sequences = {&span, 1};
        const auto device = card();
        const Matrix y(*device, std::vector<float>(8 * static_cast<std::size_t>(cols)), 8);
        device->begin(batch);
        device->embed(y.view(), {w.data(), t, rows, cols}, 1.5f);
        CHECK(device->run());
        const auto got = y.read();
        std::vector<float> expected(static_cast<std::size_t>(cols));
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            dequantize_row(t, w.data() + tokens[i] * row_bytes(t, cols), expected.data(), cols);
            for (float& f : expected) f *= 1.5f;
            const auto* row = got.data() + i * static_cast<std::size_t>(cols);
            CHECK(std::vector<float>(row, row + cols) == expected);
        }
    }
}

TEST_CASE("a norm or gate that also quantizes gives what quantizing apart gives",
          "[cuda][rows][invariance]") {
    const std::int64_t cols = GENERATE(32, 96, 800);
    Rng rng(29);
    const std::int64_t rows = 5, m = 24;
    const auto x = random_floats(static_cast<std::size_t>(rows * cols), rng);
    const auto up = random_floats(static_cast<std::size_t>(rows * cols), rng);
    const auto norm = random_floats(static_cast<std::size_t>(cols), rng);
    const auto w = random_weights(DType::q5_1, m, cols, rng);
    const TensorView weight{w.data(), DType::q5_1, m, cols};
    const bool gate = GENERATE(false, true);
    const auto b = card();
    const auto compute = [&](bool apart) {
        const Matrix in(*b, x, rows), other(*b, up, rows);
        const Matrix out(*b, std::vector<float>(static_cast<std::size_t>(rows * m)), rows);
        b->begin({});
        if (gate)
            b->gated(in.view(), other.view(), GatedActivation::silu);
        else
            b->rms_norm(in.view(), in.view(), {norm.data(), DType::f32, 1, cols}, 1e-5f);
        if (apart) {
            b->run();
            b->begin({});
        }
        b->matmul(out.view(), in.view(), weight);
        CHECK(b->run());
        return out.read();
    };
    CHECK(same_bits(compute(false), compute(true)));
}

TEST_CASE("argmax takes the first of equals and reports a NaN", "[cuda][rows]") {
    const std::int64_t cols = GENERATE(1, 31, 300, 2000);
    Rng rng(31);
    auto x = random_floats(static_cast<std::size_t>(4 * cols), rng);
    const auto at = [&](std::int64_t r, std::int64_t c) -> float& {
        return x[static_cast<std::size_t>(r * cols + c)];
    };
    const std::int64_t first = cols / 3, second = cols - 1;
    at(0, first) = at(0, second) = 9.0f;
    at(1, second) = 9.0f;
    at(2, second) = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t c = 0; c < cols; ++c) at(3, c) = -std::numeric_limits<float>::infinity();
    const auto b = card();
    const Matrix m(*b, x, 4);
    each_schedule([&] {
        const Matrix index(*b, std::vector<float>(4), 1);
        CHECK(cuda::argmax(reinterpret_cast<std::int32_t*>(index.view().data), m.view(), nullptr) ==
              cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        const auto raw = index.read();
        std::int32_t got[4];
        std::memcpy(got, raw.data(), sizeof got);
        CHECK(got[0] == first);
        CHECK(got[1] == second);
        CHECK(got[2] == -1);
        CHECK(got[3] == 0);
    });
}
