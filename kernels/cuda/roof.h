#pragma once
// Launchers of the kernels that measure a card. Used by roof.cpp alone.

#include <cstdint>

#include <cuda_runtime_api.h>

namespace hearth::cuda {

/// Blocks of a launch, bytes of their sums, operations of a round of roof_multiply.
struct RoofSizes {
    std::int64_t blocks, sum_bytes, ops_per_round;
};
RoofSizes roof_sizes(int n_multiprocessors);
cudaError_t roof_read(const void* words, std::int64_t bytes, void* sums, std::int64_t blocks,
                      cudaStream_t stream);
cudaError_t roof_multiply(int n_rounds, void* sums, std::int64_t blocks, cudaStream_t stream);

}  // namespace hearth::cuda
