// Probes of the tensor-core wrappers: fragments filled from known matrices by the layouts that
// kernels rely on, against plain products. The same check runs on a card.
#include <cmath>

#include "kernels/cuda/simt.h"
#include "simt_support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

/// a (16, K) and b (8, K) as bytes or halves, row-major; d (16, 8).
__global__ void probe_s8(const std::int8_t* a, const std::int8_t* b, int* d, int k16) {
    const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
    const int k = k16 ? 16 : 32;
    const auto word = [](const std::int8_t* p) {
        std::uint32_t v = 0;
        for (int i = 0; i < 4; ++i)
            v |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(p[i])) << (8 * i);
        return v;
    };
    int acc[4] = {5, 6, 7, 8};
    if (k16 != 0) {
        const std::uint32_t fa[2] = {word(a + g * k + 4 * t), word(a + (g + 8) * k + 4 * t)};
        const std::uint32_t fb[1] = {word(b + g * k + 4 * t)};
        ptx::mma_s8_k16(acc, fa, fb);
    } else {
        const std::uint32_t fa[4] = {word(a + g * k + 4 * t), word(a + (g + 8) * k + 4 * t),
                                     word(a + g * k + 16 + 4 * t),
                                     word(a + (g + 8) * k + 16 + 4 * t)};
        const std::uint32_t fb[2] = {word(b + g * k + 4 * t), word(b + g * k + 16 + 4 * t)};
        ptx::mma_s8(acc, fa, fb);
    }
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[i] - 5 - i;
}

__global__ void probe_half(const float* a, const float* b, float* d, int bf16) {
    const int lane = static_cast<int>(threadIdx.x), g = lane / 4, t = lane % 4;
    const auto pair = [bf16](const float* p) {
        std::uint32_t v = 0;
        for (int i = 0; i < 2; ++i) {
            const std::uint16_t h = bf16 != 0 ? __bfloat16_as_ushort(__float2bfloat16_rn(p[i]))
                                              : __half_as_ushort(__float2half_rn(p[i]));
            v |= static_cast<std::uint32_t>(h) << (16 * i);
        }
        return v;
    };
    const std::uint32_t fa[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                                 pair(a + g * 16 + 8 + 2 * t), pair(a + (g + 8) * 16 + 8 + 2 * t)};
    const std::uint32_t fb[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 8 + 2 * t)};
    float acc[4] = {};
    if (bf16 != 0)
        ptx::mma_bf16(acc, fa, fb);
    else
        ptx::mma_f16(acc, fa, fb);
    for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = acc[i];
}

}  // namespace

TEST_CASE("int8 tensor-core fragments lie as documented", "[cuda][ptx]") {
    const int k16 = GENERATE(0, 1), k = k16 != 0 ? 16 : 32;
    Rng rng(1);
    std::vector<std::int8_t> a(static_cast<std::size_t>(16 * k)),
        b(static_cast<std::size_t>(8 * k));
    for (auto& v : a) v = static_cast<std::int8_t>(rng());
    for (auto& v : b) v = static_cast<std::int8_t>(rng());
    void *da, *db, *dd;
    REQUIRE(cudaMalloc(&da, a.size()) == cudaSuccess);
    REQUIRE(cudaMalloc(&db, b.size()) == cudaSuccess);
    REQUIRE(cudaMalloc(&dd, 128 * 4) == cudaSuccess);
    cudaMemcpy(da, a.data(), a.size(), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size(), cudaMemcpyHostToDevice);
    each_schedule([&] {
        CHECK(simt::launch(probe_s8, {1, 32}, static_cast<std::int8_t*>(da),
                           static_cast<std::int8_t*>(db), static_cast<int*>(dd),
                           k16) == cudaSuccess);
        int d[128];
        REQUIRE(cudaMemcpy(d, dd, sizeof d, cudaMemcpyDeviceToHost) == cudaSuccess);
        for (int m = 0; m < 16; ++m)
            for (int n = 0; n < 8; ++n) {
                int sum = 0;
                for (int i = 0; i < k; ++i)
                    sum += a[static_cast<std::size_t>(m * k + i)] *
                           b[static_cast<std::size_t>(n * k + i)];
                CHECK(d[m * 8 + n] == sum);
            }
    });
    cudaFree(da), cudaFree(db), cudaFree(dd);
}

TEST_CASE("16-bit tensor-core fragments lie as documented", "[cuda][ptx]") {
    const int bf16 = GENERATE(0, 1);
    Rng rng(2);
    std::vector<float> a(256), b(128);
    for (auto& v : a) v = static_cast<float>(static_cast<int>(rng() % 31) - 15) / 8.0f;
    for (auto& v : b) v = static_cast<float>(static_cast<int>(rng() % 31) - 15) / 8.0f;
    const auto device = card();
    const Matrix da(*device, a, 16), db(*device, b, 8), dd(*device, std::vector<float>(128), 16);
    each_schedule([&] {
        CHECK(simt::launch(probe_half, {1, 32}, da.view().data, db.view().data, dd.view().data,
                           bf16) == cudaSuccess);
        CHECK(cudaDeviceSynchronize() == cudaSuccess);
        const auto d = dd.read();
        for (std::size_t m = 0; m < 16; ++m)
            for (std::size_t n = 0; n < 8; ++n) {
                float sum = 0;
                for (std::size_t i = 0; i < 16; ++i) sum += a[m * 16 + i] * b[n * 16 + i];
                CHECK(d[m * 8 + n] == sum);  // small multiples of 1/64: exact in any order
            }
    });
}
