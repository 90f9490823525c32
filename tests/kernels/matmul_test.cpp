// matmul: every format and rung against the double oracle, and every rung, column count, thread
// count and placement against each other, bit for bit.
#include <cmath>

#include <catch2/catch.hpp>

#include "tests/kernels/support.h"
#include "tests/reference/ops.h"

using namespace hearth;
using namespace hearth::test;

namespace {

/// A K that has several panels, an odd count of blocks, or a single block, by index.
std::vector<std::int64_t> some_k(DType t) {
    const int b = dtype_info(t).block_elems;
    if (b == 256) return {256, 512, 768, 1280};
    if (b == 32) return {32, 64, 96, 512, 544, 1120};
    return {1, 3, 7, 8, 17, 32, 255, 257, 300};
}

reference::Matrix decoded(DType t, const std::vector<std::uint8_t>& w, std::int64_t rows,
                          std::int64_t cols) {
    std::vector<float> out(static_cast<std::size_t>(rows * cols));
    for (std::int64_t r = 0; r < rows; ++r)
        dequantize_row(t, w.data() + r * row_bytes(t, cols), out.data() + r * cols, cols);
    return {static_cast<int>(rows), static_cast<int>(cols), out};
}

/// The part of each block that is subtracted again: |minimum|, bounds the rounding of the chain
/// beyond |x| |w|.
double largest_weight(const reference::Matrix& w) {
    double top = 0;
    for (const double v : w.v) top = std::max(top, std::fabs(v));
    return top;
}

}  // namespace

TEST_CASE("matmul is the oracle's on every format and rung", "[kernel][matmul]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    Rng rng(7);
    const auto backends = all_backends();
    for (const std::int64_t k : some_k(t)) {
        const std::int64_t rows = 1 + static_cast<std::int64_t>(rng() % 40);
        const int n = 1 + static_cast<int>(rng() % 9);
        const auto w = random_weights(t, rows, k, rng);
        const auto x = random_floats(static_cast<std::size_t>(n * k), rng);
        const auto xq = is_quantized(t) ? reference::quantize_activations(x, n)
                                        : reference::Matrix(n, static_cast<int>(k), x);
        const auto weights = decoded(t, w, rows, k);
        const auto expected = reference::matmul(xq, weights);
        const TensorView tensor{w.data(), t, rows, k};
        std::vector<float> first;
        for (const auto& b : backends) {
            INFO(name_of(*b) << " rows " << rows << " k " << k << " columns " << n);
            const auto y = run_matmul(*b, tensor, x, n);
            if (first.empty()) {
                first = y;
                // Chain of 2 roundings per block of at most 16 elements, half an ulp each, on
                // partial sums no larger than |x||w| plus the minima, which a weight bounds.
                const double steps =
                    2.0 * std::ceil(static_cast<double>(k) / (is_quantized(t) ? 16 : 1)) + 4;
                const double slack = largest_weight(weights) * 32;
                for (int c = 0; c < n; ++c)
                    for (int r = 0; r < rows; ++r) {
                        const double got = y[static_cast<std::size_t>(c * rows + r)];
                        const double bound =
                            steps * 0x1p-24 * (expected.magnitude.at(c, r) + slack);
                        if (!(std::fabs(got - expected.y.at(c, r)) <= bound))
                            FAIL("column " << c << " row " << r << ": " << got << ", expected "
                                           << expected.y.at(c, r) << " within " << bound);
                    }
            }
            CHECK(same_bits(y, first));
        }
    }
}

TEST_CASE("a row's product does not depend on the columns beside it",
          "[kernel][matmul][invariance]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    Rng rng(11);
    const std::int64_t k = dtype_info(t).block_elems == 256 ? 768 : 736, rows = 47;
    const auto w = random_weights(t, rows, k, rng);
    const TensorView tensor{w.data(), t, rows, k};
    const std::int64_t most = 35;
    const auto x = random_floats(static_cast<std::size_t>(most * k), rng);
    const auto scalar = backend(CpuIsa::scalar, 1);
    const auto whole = run_matmul(*scalar, tensor, x, most);
    for (const auto& b : all_backends()) {
        if (b->info().detail.find("scalar") == 0) continue;
        for (const std::int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 31, 33, 35}) {
            INFO(name_of(*b) << " columns " << n);
            const std::vector<float> part(x.begin(), x.begin() + n * k);
            const auto y = run_matmul(*b, tensor, part, n);
            CHECK(same_bits(y, std::vector<float>(whole.begin(), whole.begin() + n * rows)));
        }
    }
}

TEST_CASE("row counts around the group of 16 and the panel of 32", "[kernel][matmul]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    Rng rng(13);
    const std::int64_t k = dtype_info(t).block_elems == 256 ? 512 : 96, most = 97;
    const auto w = random_weights(t, most, k, rng);
    const auto x = random_floats(static_cast<std::size_t>(3 * k), rng);
    const auto scalar = backend(CpuIsa::scalar, 1);
    const auto whole = run_matmul(*scalar, {w.data(), t, most, k}, x, 3);
    for (const auto& b : all_backends()) {
        for (const std::int64_t rows : {1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 64, 65, 97}) {
            INFO(name_of(*b) << " rows " << rows);
            const auto y = run_matmul(*b, {w.data(), t, rows, k}, x, 3);
            for (std::int64_t c = 0; c < 3; ++c)
                CHECK(std::memcmp(y.data() + c * rows, whole.data() + c * most,
                                  static_cast<std::size_t>(rows) * 4) == 0);
        }
    }
}

TEST_CASE("matmul reads and writes nothing outside its matrices", "[kernel][matmul][guard]") {
    const DType t = GENERATE(from_range(all_formats()));
    const bool at_end = GENERATE(true, false);
    INFO(dtype_info(t).name << (at_end ? " at the end" : " at the start"));
    Rng rng(17);
    for (const auto& b : all_backends()) {
        for (const std::int64_t k : some_k(t)) {
            for (const std::int64_t rows : {1, 15, 16, 17, 33}) {
                for (const std::int64_t n : {1, 2, 7, 17}) {
                    if (k > 600 && (n == 2 || rows == 15)) continue;
                    INFO(name_of(*b) << " rows " << rows << " k " << k << " columns " << n);
                    const auto w = random_weights(t, rows, k, rng);
                    const auto x = random_floats(static_cast<std::size_t>(n * k), rng);
                    const Guarded gw(w.data(), w.size(), at_end);
                    const Guarded gx(x.data(), x.size() * 4, at_end);
                    const Guarded gy(static_cast<std::size_t>(n * rows) * 4, at_end);
                    b->begin({});
                    b->matmul({gy.as<float>(), n, rows, rows}, {gx.as<float>(), n, k, k},
                              {gw.as<void>(), t, rows, k});
                    b->run();
                    CHECK(std::isfinite(gy.as<float>()[n * rows - 1]));
                }
            }
        }
    }
}

TEST_CASE("extreme weights and activations stay exact", "[kernel][matmul][extremes]") {
    const DType t = GENERATE(from_range(all_formats()));
    INFO(dtype_info(t).name);
    if (!is_quantized(t)) return;
    Rng rng(19);
    const std::int64_t rows = 33, k = dtype_info(t).block_elems == 256 ? 256 : 96;
    const int fill = GENERATE(0x00, 0xff, 0x80, 0x7f, 0x0f, 0xf0, 0x88);
    const int activation = GENERATE(0, 1, 2, 3, 4, 5);
    auto w = random_weights(t, rows, k, rng);
    // The scales stay, every quant byte is `fill`.
    const auto bytes = static_cast<std::size_t>(dtype_info(t).block_bytes);
    const auto keep = [&](std::size_t at) {
        if (t == DType::q2_k) return at >= 80;
        if (t == DType::q3_k) return at >= 108;
        if (t == DType::q6_k) return at >= 208;
        if (t == DType::q4_1 || t == DType::q5_1 || t == DType::q4_k || t == DType::q5_k)
            return at < 4;
        return at < (t == DType::mxfp4 ? 1u : 2u);
    };
    for (std::size_t i = 0; i < w.size(); ++i)
        if (!keep(i % bytes)) w[i] = static_cast<std::uint8_t>(fill);
    std::vector<float> x(static_cast<std::size_t>(2 * k));
    for (std::size_t i = 0; i < x.size(); ++i) {
        const float values[] = {1.0f,  -1.0f, i % 2 ? 1.0f : -1.0f, i < 32 ? 0.0f : uniform(rng),
                                1e30f, 1e-33f};
        x[i] = values[activation];
    }
    const auto expected =
        reference::matmul(reference::quantize_activations(x, 2), decoded(t, w, rows, k));
    std::vector<float> first;
    for (const auto& b : all_backends()) {
        INFO(name_of(*b) << " fill " << fill << " activation " << activation);
        const auto y = run_matmul(*b, {w.data(), t, rows, k}, x, 2);
        if (first.empty()) {
            first = y;
            for (int c = 0; c < 2; ++c)
                for (int r = 0; r < rows; ++r) {
                    const double scale = activation == 4 ? 1e30 : activation == 5 ? 0.0 : 1.0;
                    const double bound =
                        0x1p-24 * 40 * (expected.magnitude.at(c, r) * 4 + 60 * scale);
                    if (!(std::fabs(y[static_cast<std::size_t>(c * rows + r)] -
                                    expected.y.at(c, r)) <= bound))
                        FAIL("column " << c << " row " << r << " "
                                       << y[static_cast<std::size_t>(c * rows + r)] << " expected "
                                       << expected.y.at(c, r));
                }
        }
        CHECK(same_bits(y, first));
    }
}

TEST_CASE("every K of whole blocks up to 1024", "[kernel][matmul]") {
    const DType t = GENERATE(DType::q4_0, DType::q8_0, DType::q5_0, DType::q4_1);
    Rng rng(23);
    const auto scalar = backend(CpuIsa::scalar, 1);
    const auto backends = all_backends();
    for (std::int64_t k = 32; k <= 1024; k += 32) {
        const auto w = random_weights(t, 19, k, rng);
        const auto x = random_floats(static_cast<std::size_t>(k), rng);
        const auto expected = run_matmul(*scalar, {w.data(), t, 19, k}, x, 1);
        for (const auto& b : backends) {
            INFO(name_of(*b) << " k " << k);
            CHECK(same_bits(run_matmul(*b, {w.data(), t, 19, k}, x, 1), expected));
        }
    }
}

TEST_CASE("a segment of several weights, bias and accumulate", "[kernel][matmul]") {
    Rng rng(29);
    const std::int64_t k = 512, n = GENERATE(1, 5, 20);
    const auto wa = random_weights(DType::q4_k, 70, k, rng),
               wb = random_weights(DType::q6_k, 33, k, rng);
    const auto wc = random_weights(DType::f16, 40, k, rng);
    const auto bias = random_floats(33, rng);
    const TensorView a{wa.data(), DType::q4_k, 70, k}, b{wb.data(), DType::q6_k, 33, k},
        c{wc.data(), DType::f16, 40, k}, tb{bias.data(), DType::f32, 1, 33};
    auto x = random_floats(static_cast<std::size_t>(n * k), rng);
    for (const auto& be : all_backends()) {
        INFO(name_of(*be));
        const auto ya = run_matmul(*be, a, x, n), yb = run_matmul(*be, b, x, n),
                   yc = run_matmul(*be, c, x, n);
        std::vector<float> za(ya.size()), zb(yb.size()), zc(yc.size(), 0.5f), zd(ya.size(), 2.0f);
        be->begin({});
        be->matmul(view(za, n), view(x, n), a);
        be->matmul(view(zb, n), view(x, n), b, tb);
        be->matmul(view(zc, n), view(x, n), c, {}, true);
        be->matmul(view(zd, n), view(x, n), a, {}, true);
        be->matmul(view(zd, n), view(x, n), a, {}, true);  // the same output twice
        be->run();
        CHECK(same_bits(za, ya));
        for (std::size_t i = 0; i < zb.size(); ++i) CHECK(zb[i] == yb[i] + bias[i % 33]);
        for (std::size_t i = 0; i < zc.size(); ++i) CHECK(zc[i] == 0.5f + yc[i]);
        for (std::size_t i = 0; i < zd.size(); ++i) CHECK(zd[i] == (2.0f + ya[i]) + ya[i]);
    }
}

TEST_CASE("an activation that is not finite is seen in the product", "[kernel][matmul]") {
    Rng rng(31);
    const auto w = random_weights(DType::q4_0, 16, 64, rng);
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        auto x = random_floats(64, rng);
        x[40] = bad;
        for (const auto& b : all_backends())
            for (const float y : run_matmul(*b, {w.data(), DType::q4_0, 16, 64}, x, 1))
                CHECK(std::isnan(y));
    }
}

TEST_CASE("offsets beyond 2^31 elements", "[kernel][matmul][large]") {
    // 2^31 elements of Q4_0 are 1.2 GB of address space; only the rows that differ from zero exist.
    const std::int64_t k = 65536, rows = 40001;
    const std::int64_t stride = row_bytes(DType::q4_0, k);
    const auto bytes = static_cast<std::size_t>(rows * stride);
    void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(map != MAP_FAILED);
    Rng rng(37);
    const std::int64_t first = 39990;  // element 2.6e9
    const auto w = random_weights(DType::q4_0, rows - first, k, rng);
    auto* data = static_cast<std::uint8_t*>(map);
    std::memcpy(data + first * stride, w.data(), w.size());
    const auto x = random_floats(static_cast<std::size_t>(k), rng);
    const auto b = backend(CpuIsa::automatic, 2);
    const auto expected = run_matmul(*b, {w.data(), DType::q4_0, rows - first, k}, x, 1);
    // The last groups of the whole matrix, seen as one tensor that starts far in.
    const TensorView whole{data, DType::q4_0, rows, k};
    const std::int64_t from = 39936;
    const auto y = run_matmul(*b, whole.slice_rows(from, rows - from), x, 1);
    CHECK(std::memcmp(y.data() + (first - from), expected.data(), expected.size() * 4) == 0);
    munmap(map, bytes);
}

TEST_CASE("stop ends a step early and the backend works afterwards", "[kernel][stop]") {
    Rng rng(41);
    const auto w = random_weights(DType::q4_0, 256, 512, rng);
    auto x = random_floats(512 * 4, rng);
    const auto b = backend(CpuIsa::automatic, 2);
    std::vector<float> y(256 * 4);
    const std::atomic<bool> stop{true};
    b->begin({});
    b->matmul(view(y, 4), view(x, 4), {w.data(), DType::q4_0, 256, 512});
    CHECK_FALSE(b->run(&stop));
    const std::atomic<bool> go{false};
    b->begin({});
    b->matmul(view(y, 4), view(x, 4), {w.data(), DType::q4_0, 256, 512});
    CHECK(b->run(&go));
    CHECK(same_bits(y, run_matmul(*b, {w.data(), DType::q4_0, 256, 512}, x, 4)));
}
