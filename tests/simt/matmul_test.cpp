// matmul on the emulated card: every format against the double oracle; the same bits for any number
// of columns, either kernel, any schedule.
#include <cmath>

#include "simt_support.h"
#include "tests/reference/ops.h"

using namespace hearth;
using namespace hearth::test;

namespace {

/// One group, several, a partial group, enough for slices.
std::vector<std::int64_t> some_k(DType t) {
    const int b = dtype_info(t).block_elems;
    if (b == 256) return {256, 1280};
    if (b == 32) return {32, 160, 1120};
    return {1, 7, 300};
}

reference::Matrix decoded(DType t, const std::vector<std::uint8_t>& w, std::int64_t rows,
                          std::int64_t cols) {
    std::vector<float> out(static_cast<std::size_t>(rows * cols));
    for (std::int64_t r = 0; r < rows; ++r)
        dequantize_row(t, w.data() + r * row_bytes(t, cols), out.data() + r * cols, cols);
    return {static_cast<int>(rows), static_cast<int>(cols), out};
}

}  // namespace

TEST_CASE("matmul on the card is the oracle's on every format", "[cuda][matmul]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    Rng rng(7);
    const auto b = card();
    for (const std::int64_t k : some_k(t)) {
        const std::int64_t rows = 1 + static_cast<std::int64_t>(rng() % 40);
        const int n = 1 + static_cast<int>(rng() % 20);
        INFO("rows " << rows << " k " << k << " columns " << n);
        const auto w = random_weights(t, rows, k, rng);
        const auto x = random_floats(static_cast<std::size_t>(n * k), rng);
        const auto xq = is_quantized(t) ? reference::quantize_activations(x, n)
                                        : reference::Matrix(n, static_cast<int>(k), x);
        const auto weights = decoded(t, w, rows, k);
        const auto expected = reference::matmul(xq, weights);
        double largest = 0;
        for (const double v : weights.v) largest = std::max(largest, std::fabs(v));
        const auto y = card_matmul(*b, {w.data(), t, rows, k}, x, n);
        // As for the CPU: two roundings per block of at most 16, on sums no larger than |x||w| plus
        // the minima; slices and trees only shorten the chain.
        const double steps =
            2.0 * std::ceil(static_cast<double>(k) / (is_quantized(t) ? 16 : 1)) + 12;
        for (int c = 0; c < n; ++c)
            for (int r = 0; r < rows; ++r) {
                const double got = y[static_cast<std::size_t>(c * rows + r)];
                const double bound = steps * 0x1p-24 * (expected.magnitude.at(c, r) + largest * 32);
                if (!(std::fabs(got - expected.y.at(c, r)) <= bound))
                    FAIL("column " << c << " row " << r << ": " << got << ", expected "
                                   << expected.y.at(c, r) << " within " << bound);
            }
    }
}

TEST_CASE("a row's product on the card does not depend on the columns beside it",
          "[cuda][matmul][invariance]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    Rng rng(11);
    const std::int64_t k = dtype_info(t).block_elems == 256 ? 1536 : 864, rows = 37, most = 70;
    const auto w = random_weights(t, rows, k, rng);
    const TensorView tensor{w.data(), t, rows, k};
    const auto x = random_floats(static_cast<std::size_t>(most * k), rng);
    const auto b = card();
    const auto whole = card_matmul(*b, tensor, x, most);
    for (const std::int64_t n : {1, 2, 8, 9, 16, 17, 64, 65}) {
        INFO("columns " << n);
        const std::vector<float> part(x.begin(), x.begin() + n * k);
        const auto y = card_matmul(*b, tensor, part, n);
        CHECK(same_bits(y, std::vector<float>(whole.begin(), whole.begin() + n * rows)));
    }
    // Rows of the weight: those beside a row do not matter either, as long as K is cut alike.
    const auto last = std::vector<float>(x.end() - k, x.end());
    const auto y = card_matmul(*b, tensor, last, 1);
    CHECK(same_bits(y, std::vector<float>(whole.end() - rows, whole.end())));
}

TEST_CASE("matmul on the card gives the same bits under every schedule", "[cuda][matmul]") {
    const DType t = GENERATE(DType::q4_0, DType::q4_k, DType::q6_k, DType::q2_k, DType::f16);
    const std::int64_t n = GENERATE(1, 12, 67);
    INFO(dtype_info(t).name << " columns " << n);
    Rng rng(17);
    const std::int64_t k = 1280, rows = 150;
    const auto w = random_weights(t, rows, k, rng);
    const auto x = random_floats(static_cast<std::size_t>(n * k), rng);
    const auto b = card();
    std::vector<float> first;
    each_schedule([&] {
        const auto y = card_matmul(*b, {w.data(), t, rows, k}, x, n);
        if (first.empty()) first = y;
        CHECK(same_bits(y, first));
    });
}

TEST_CASE("bias and accumulation on the card", "[cuda][matmul]") {
    const DType t = GENERATE(DType::q8_0, DType::q5_1, DType::f32);
    const std::int64_t n = GENERATE(1, 20);
    Rng rng(19);
    const std::int64_t k = 96, rows = 33;
    const auto w = random_weights(t, rows, k, rng);
    const auto x = random_floats(static_cast<std::size_t>(n * k), rng);
    const auto bias = random_floats(static_cast<std::size_t>(rows), rng);
    const TensorView tensor{w.data(), t, rows, k}, tb{bias.data(), DType::f32, 1, rows};
    const auto b = card();
    const auto plain = card_matmul(*b, tensor, x, n);
    const auto with_bias = card_matmul(*b, tensor, x, n, tb);
    const auto added = card_matmul(*b, tensor, x, n, {}, true);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        CHECK(with_bias[i] == plain[i] + bias[i % static_cast<std::size_t>(rows)]);
        CHECK(added[i] == -7.0f + plain[i]);
    }
}

TEST_CASE("activations that are not finite are seen on the card", "[cuda][matmul]") {
    Rng rng(23);
    const auto w = random_weights(DType::q4_0, 16, 64, rng);
    auto x = random_floats(128, rng);
    x[3] = std::numeric_limits<float>::quiet_NaN();
    const auto b = card();
    const auto y = card_matmul(*b, {w.data(), DType::q4_0, 16, 64}, x, 2);
    for (int r = 0; r < 16; ++r) {
        CHECK(std::isnan(y[static_cast<std::size_t>(r)]));
        CHECK(std::isfinite(y[static_cast<std::size_t>(16 + r)]));
    }
}
