#pragma once
// Host launchers of the kernels: one function per op, each checks nothing but its own limits and
// launches on `stream`. Addresses are device memory. Shapes as in kernels/backend.h.

#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels/backend.h"
#include "kernels/cuda/weight_layout.h"

namespace hearth::cuda {

/// Rows of activations as int8 per 32, in the order of the matrix fragments.
///   q   [row][group][half][t][4 words]: words of blocks 2 * half, 2 * half + 1: first, second
///   d   [row][4 * groups] scale; s [row][4 * groups] d * sum of q; s16 [row][4 * groups][2] of
///   halves
struct QuantizedRows {
    std::int8_t* q = nullptr;
    float* d = nullptr;
    float* s = nullptr;
    float* s16 = nullptr;
    int groups = 0;
};
/// Bytes of `rows` quantized rows, and the views into them.
std::int64_t quantized_bytes(std::int64_t rows, int groups);
QuantizedRows quantized_rows(void* memory, std::int64_t rows, int groups);

/// x (n, K) -> q. Blocks past K are zero.
cudaError_t quantize_rows(MatrixView x, const QuantizedRows& q, cudaStream_t stream);

/// What becomes of a product: y = p (+ bias), or y += p.
struct MatmulOut {
    float* y = nullptr;
    std::int64_t stride = 0;
    const float* bias = nullptr;
    bool accumulate = false;
};
/// The most columns that the skinny kernel takes; more go through the panel kernel. Speed only.
inline constexpr int kSkinnyColumns = 16;
/// `panel`: 0 = by the number of columns, 1 = always the panel kernel, -1 = never (tests).
cudaError_t matmul_quantized(const DeviceWeight& w, const QuantizedRows& x, std::int64_t n,
                             const MatmulOut& out, cudaStream_t stream, int panel = 0);
cudaError_t matmul_floats(const DeviceWeight& w, MatrixView x, const MatmulOut& out,
                          cudaStream_t stream);

cudaError_t embed(MatrixView y, const std::int32_t* tokens, const DeviceWeight& table, float scale,
                  cudaStream_t stream);
/// With q: quantizes the result as well.
cudaError_t rms_norm(MatrixView y, MatrixView x, const float* weight, float eps, bool accumulate,
                     const QuantizedRows* q, cudaStream_t stream);
cudaError_t head_norm(MatrixView x, const float* weight, int head_dim, float eps,
                      cudaStream_t stream);
cudaError_t gated(MatrixView gate, MatrixView up, GatedActivation act, const QuantizedRows* q,
                  cudaStream_t stream);
cudaError_t gather_rows(MatrixView y, MatrixView x, const std::int32_t* rows, cudaStream_t stream);
cudaError_t softcap(MatrixView x, float cap, cudaStream_t stream);
/// index[r] = the column of the largest value of row r, the first of equals; -1 with a NaN.
cudaError_t argmax(std::int32_t* index, MatrixView x, cudaStream_t stream);

/// Where the rows of a step lie: position of each row, first entry of its sequence's pages.
struct RowPlaces {
    const std::int32_t* position = nullptr;
    const std::int32_t* first_page = nullptr;
    const std::int32_t* pages = nullptr;
};
/// cos, sin (T, n_dims / 2); nullptr: nothing is rotated.
struct RopeView {
    const float* cos = nullptr;
    const float* sin = nullptr;
    int n_dims = 0;
    bool half_split = false;
};
cudaError_t rope_store_kv(MatrixView q, MatrixView k, MatrixView v, const KvLayer& kv,
                          const AttentionSpec& spec, const RopeView& rope, const RowPlaces& places,
                          cudaStream_t stream);

/// A tile of 16 (token, query head of the group) pairs of one sequence.
struct AttentionItem {
    std::int32_t first_row = 0;       ///< batch row of the sequence's first token
    std::int32_t n_rows = 0;          ///< its tokens in this step
    std::int32_t first_position = 0;  ///< of that row
    std::int32_t first_page = 0;      ///< its entry in the page list
    std::int32_t first_pair = 0;      ///< pair = token * per_kv + head of the group
};
inline constexpr int kAttentionRows = 16;
inline constexpr int kPartition = 512;  ///< keys, absolute; see attention.cu
/// n_parts: partitions that the longest sequence touches. With partials (room for
/// attention_partial_floats) every partition is a block of its own; without, a block walks all.
/// Speed only.
struct AttentionPlan {
    const AttentionItem* items = nullptr;
    const std::int32_t* pages = nullptr;
    int n_items = 0;
    int n_parts = 0;
    float* partials = nullptr;
};
std::int64_t attention_partial_floats(int n_items, int n_parts, const AttentionSpec& spec);
cudaError_t attention(MatrixView y, MatrixView q, const KvLayer& kv, const AttentionSpec& spec,
                      const AttentionPlan& plan, cudaStream_t stream);

}  // namespace hearth::cuda
