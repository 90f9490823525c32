// roof: what this card gives at best, for the shares that bench prints
//
// shapes    read: n words of 16 bytes, each once. multiply: kChains x n_rounds products of 16 x 8 x
// 32 traffic   read: 16 n bytes. multiply: none bound     read: memory, when the words are more
// than the L2 holds. multiply: int8 tensor cores mapping   both: 256 threads, blocks for every
// multiprocessor; multiply: chains independent of each
//           other, so that the pipes stay full
// oracle    none: only time is of interest; the sums are stored so that nothing is left out
#include "kernels/cuda/roof.h"
#include "kernels/cuda/simt.h"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256, kBlocksEach = 8, kChains = 8, kUnroll = 4;

__global__ void __launch_bounds__(kThreads)
    read_kernel(const uint4* words, std::int64_t n, std::uint32_t* sums) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    std::uint32_t sum = 0;
    for (; i + (kUnroll - 1) * step < n; i += kUnroll * step) {
        uint4 w[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) w[u] = words[i + u * step];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) sum ^= w[u].x ^ w[u].y ^ w[u].z ^ w[u].w;
    }
    for (; i < n; i += step) sum ^= words[i].x;
    sums[blockIdx.x * kThreads + threadIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads) multiply_kernel(int n_rounds, std::uint32_t* sums) {
    const std::uint32_t seed = threadIdx.x * 0x01010101u;
    const std::uint32_t a[4] = {seed, seed + 1, seed + 2, seed + 3}, b[2] = {seed, ~seed};
    int acc[kChains][4] = {};
    for (int r = 0; r < n_rounds; ++r) {
#pragma unroll
        for (int c = 0; c < kChains; ++c) ptx::mma_s8(acc[c], a, b);
    }
    int sum = 0;
#pragma unroll
    for (int c = 0; c < kChains; ++c)
#pragma unroll
        for (int i = 0; i < 4; ++i) sum ^= acc[c][i];
    sums[blockIdx.x * kThreads + threadIdx.x] = static_cast<std::uint32_t>(sum);
}

}  // namespace

RoofSizes roof_sizes(int n_multiprocessors) {
    const auto blocks = static_cast<std::int64_t>(n_multiprocessors) * kBlocksEach;
    return {blocks, blocks * kThreads * std::int64_t{sizeof(std::uint32_t)},
            blocks * (kThreads / 32) * kChains * std::int64_t{2 * 16 * 8 * 32}};
}

cudaError_t roof_read(const void* words, std::int64_t bytes, void* sums, std::int64_t blocks,
                      cudaStream_t stream) {
    return simt::launch(read_kernel, {static_cast<unsigned>(blocks), kThreads, 0, stream},
                        static_cast<const uint4*>(words), bytes / 16,
                        static_cast<std::uint32_t*>(sums));
}

cudaError_t roof_multiply(int n_rounds, void* sums, std::int64_t blocks, cudaStream_t stream) {
    return simt::launch(multiply_kernel, {static_cast<unsigned>(blocks), kThreads, 0, stream},
                        n_rounds, static_cast<std::uint32_t*>(sums));
}

}  // namespace hearth::cuda
