// matmul: y[n,m] = sum_k x[n,k] w[m,k], w quantized, x int8 per 32
//
// source    Frantar et al. 2024 (Marlin): weights in fragment order, few columns on tensor cores
// shapes    x (n, K) quantized rows   w (M, K) planes   y (n, M) f32
// traffic   bytes(w) + n * 1.5 K + 4 n M; 2 n M K operations
// bound     skinny (n <= 16): memory, the weights once; panel: int8 tensor cores and the f32 chain
// mapping   skinny: a warp owns 16 rows and one slice of K; the slices of a tile share a block and
//           merge in order. panel: a warp owns 16 rows and 64 columns, all slices one after the
//           other; the block's 8 warps share 64 columns in shared memory, three stages of cp.async
// oracle    tests/reference/ops.h: matmul, quantize_activations
#include "kernels/cuda/ops.h"
#include "kernels/cuda/tile_math.cuh"

namespace hearth::cuda {
namespace {

constexpr int kWarps = 8;

/// Blocks per multiprocessor that the compiler shall leave registers for. 0: as it thinks best. It
/// spills a few registers to fit one block more where a number stands: not worth it
/// (packaging/kernel_report.py).
constexpr int skinny_blocks(DType t, int tiles) {
    constexpr bool kSm120 = simt::kArchitecture == 120;
    switch (t) {
        case DType::q5_1:
            return tiles == 2 ? 1 : kSm120 ? 2 : 0;
        case DType::q2_k:
        case DType::q3_k:
            return tiles == 2 ? 1 : 0;
        case DType::iq4_xs:
            return tiles == 1 ? 2 : 0;
        case DType::q6_k:
            return tiles == 2 && simt::kArchitecture >= 90 ? 1 : 0;
        case DType::q4_1:
        case DType::q4_k:
        case DType::mxfp4:
            return kSm120 ? 3 - tiles : 0;
        case DType::q5_k:
            return kSm120 && tiles == 1 ? 2 : 0;
        case DType::iq4_nl:
            return kSm120 && tiles == 2 ? 1 : 0;
        default:
            return 0;
    }
}

/// Columns [first, first + 8) of group `group` from global memory; columns past n are zero.
template <DType kType>
__device__ void load_columns(const QuantizedRows& x, int first, int n, int group, int lane,
                             ColumnGroup& out) {
    using Group = WeightGroup<kType>;
    const int g = lane / 4, t = lane % 4;
    const uint4 zero{0, 0, 0, 0};
    const float4 none{0.0f, 0.0f, 0.0f, 0.0f};
    const std::int64_t at = static_cast<std::int64_t>(first + g) * x.groups + group;
    const auto* q = reinterpret_cast<const uint4*>(x.q) + at * 8 + t;
    const bool there = first + g < n;
    out.q[0] = there ? q[0] : zero;
    out.q[1] = there ? q[4] : zero;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        const int column = first + 2 * t + c;
        const std::int64_t s = static_cast<std::int64_t>(column) * x.groups + group;
        const bool is_column = column < n;
        out.d[c] = is_column ? reinterpret_cast<const float4*>(x.d)[s] : none;
        if constexpr (Group::kMin && !Group::kPer16)
            out.s[c] = is_column ? reinterpret_cast<const float4*>(x.s)[s] : none;
        if constexpr (Group::kMin && Group::kPer16) {
            out.s16[c][0] = is_column ? reinterpret_cast<const float4*>(x.s16)[2 * s] : none;
            out.s16[c][1] = is_column ? reinterpret_cast<const float4*>(x.s16)[2 * s + 1] : none;
        }
    }
}

/// kTiles column tiles of 8.
template <DType kType, int kTiles>
__global__ void __launch_bounds__(kWarps * 32, skinny_blocks(kType, kTiles))
    skinny_kernel(DeviceWeight w, QuantizedRows x, int n, float* y, std::int64_t stride,
                  const float* bias, bool accumulate) {
    SMEM(float, part, [kWarps][kTiles * 8][kTileRows]);
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const int slice = warp % w.slices, tiles_here = kWarps / w.slices;
    const int tile = static_cast<int>(blockIdx.x) * tiles_here + warp / w.slices;
    float acc[kTiles][4] = {};
    if (tile < w.tiles) {
        int group, last;
        slice_groups<kType>(w, slice, group, last);
        WeightGroup<kType> next;
        if (group < last) next.load(w, tile, group, lane);
        for (; group < last; ++group) {
            UnpackedGroup<kType> unpacked;
            unpacked.unpack(next, group);
            if (group + 1 < last) next.load(w, tile, group + 1, lane);
#pragma unroll
            for (int j = 0; j < kTiles; ++j) {
                ColumnGroup columns;
                load_columns<kType>(x, 8 * j, n, group, lane, columns);
                add_group<kType>(unpacked, columns, acc[j]);
            }
        }
    }
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) part[warp][8 * j + 2 * t + i % 2][g + i / 2 * 8] = acc[j][i];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < tiles_here * n * kTileRows; i += kWarps * 32) {
        const int r = i % kTileRows, column = i / kTileRows % n, local = i / kTileRows / n;
        const std::int64_t row =
            (static_cast<std::int64_t>(blockIdx.x) * tiles_here + local) * kTileRows + r;
        if (row >= w.rows) continue;
        float sum = 0.0f;
        for (int s = 0; s < w.slices; ++s)
            sum = __fadd_rn(sum, part[local * w.slices + s][column][r]);
        float* out = y + column * stride + row;
        *out = finish_output(sum, row, bias, accumulate, accumulate ? *out : 0.0f);
    }
}

// ---- many columns ------------------------------------------------------------------------------

constexpr int kPanelColumns = 64, kStages = 3;

/// One group of 64 columns in shared memory.
struct Stage {
    uint4 q[2][kPanelColumns][4];  ///< [half][column][t]
    float4 d[kPanelColumns];
    float4 s[2 * kPanelColumns];  ///< s per column, or s16 [half][column]
};
struct PanelShared {
    Stage stage[kStages];
    float total[8][4][kWarps * 32];  ///< finished slices, [column tile][i][thread]
};

template <DType kType>
__device__ void fetch_stage(Stage& to, const QuantizedRows& x, int first, int n, int group) {
    using Group = WeightGroup<kType>;
    const int thread = static_cast<int>(threadIdx.x);
    const auto copy = [&](void* dst, const void* base, std::int64_t at, int column) {
        const auto* from = static_cast<const uint4*>(base) + at;
        const bool there = column < n;
        ptx::cp_async16(dst, there ? from : base, there ? 16 : 0);
    };
    for (int i = thread; i < kPanelColumns * 8; i += kWarps * 32) {
        const int column = i / 8, half = i / 4 % 2, t = i % 4;
        const std::int64_t at = static_cast<std::int64_t>(first + column) * x.groups + group;
        copy(&to.q[half][column][t], x.q, at * 8 + half * 4 + t, first + column);
    }
    if (thread < kPanelColumns) {
        const std::int64_t at = static_cast<std::int64_t>(first + thread) * x.groups + group;
        copy(&to.d[thread], x.d, at, first + thread);
        if constexpr (Group::kMin && !Group::kPer16) copy(&to.s[thread], x.s, at, first + thread);
        if constexpr (Group::kMin && Group::kPer16) {
            copy(&to.s[thread], x.s16, 2 * at, first + thread);
            copy(&to.s[kPanelColumns + thread], x.s16, 2 * at + 1, first + thread);
        }
    }
}

template <DType kType>
__device__ void stage_columns(const Stage& from, int j, int lane, ColumnGroup& out) {
    using Group = WeightGroup<kType>;
    const int g = lane / 4, t = lane % 4;
    out.q[0] = from.q[0][8 * j + g][t];
    out.q[1] = from.q[1][8 * j + g][t];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        const int column = 8 * j + 2 * t + c;
        out.d[c] = from.d[column];
        if constexpr (Group::kMin && !Group::kPer16) out.s[c] = from.s[column];
        if constexpr (Group::kMin && Group::kPer16) {
            out.s16[c][0] = from.s[column];
            out.s16[c][1] = from.s[kPanelColumns + column];
        }
    }
}

template <DType kType>
__global__ void __launch_bounds__(kWarps * 32, 1)
    panel_kernel(DeviceWeight w, QuantizedRows x, int n, float* y, std::int64_t stride,
                 const float* bias, bool accumulate) {
    auto& shared = *reinterpret_cast<PanelShared*>(simt::dyn_smem());
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    const int first = static_cast<int>(blockIdx.x) * kPanelColumns;
    // A warp past the last tile computes the last one again and stores nothing.
    const int wanted = static_cast<int>(blockIdx.y) * kWarps + warp;
    const int tile = wanted < w.tiles ? wanted : w.tiles - 1;
    float acc[8][4] = {};
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) shared.total[j][i][thread] = 0.0f;
    for (int s = 0; s < kStages - 1; ++s) {
        if (s < w.groups) fetch_stage<kType>(shared.stage[s], x, first, n, s);
        ptx::cp_async_commit();
    }
    WeightGroup<kType> next;
    next.load(w, tile, 0, lane);
    int slice = 0, begin, end;
    slice_groups<kType>(w, 0, begin, end);
    for (int group = 0; group < w.groups; ++group) {
        ptx::cp_async_wait<kStages - 2>();
        __syncthreads();
        const int ahead = group + kStages - 1;
        if (ahead < w.groups) fetch_stage<kType>(shared.stage[ahead % kStages], x, first, n, ahead);
        ptx::cp_async_commit();
        UnpackedGroup<kType> unpacked;
        unpacked.unpack(next, group);
        if (group + 1 < w.groups) next.load(w, tile, group + 1, lane);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            ColumnGroup columns;
            stage_columns<kType>(shared.stage[group % kStages], j, lane, columns);
            add_group<kType>(unpacked, columns, acc[j]);
        }
        if (group + 1 < end) continue;
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float& total = shared.total[j][i][thread];
                total = __fadd_rn(total, acc[j][i]);
                acc[j][i] = 0.0f;
            }
        if (++slice < w.slices) slice_groups<kType>(w, slice, begin, end);
    }
    ptx::cp_async_wait<0>();
    if (wanted >= w.tiles) return;
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int j = 0; j < 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int column = first + 8 * j + 2 * t + i % 2;
            const std::int64_t row = static_cast<std::int64_t>(tile) * kTileRows + g + i / 2 * 8;
            if (column >= n || row >= w.rows) continue;
            float* out = y + column * stride + row;
            *out = finish_output(shared.total[j][i][thread], row, bias, accumulate,
                                 accumulate ? *out : 0.0f);
        }
}

template <DType kType>
cudaError_t launch_matmul(const DeviceWeight& w, const QuantizedRows& x, int n,
                          const MatmulOut& out, cudaStream_t stream, bool panel) {
    if (panel) {
        const cudaError_t e = simt::allow_smem(panel_kernel<kType>, sizeof(PanelShared));
        if (e != cudaSuccess) return e;
        const dim3 grid(static_cast<unsigned>((n + kPanelColumns - 1) / kPanelColumns),
                        static_cast<unsigned>((w.tiles + kWarps - 1) / kWarps));
        return simt::launch(panel_kernel<kType>, {grid, kWarps * 32, sizeof(PanelShared), stream},
                            w, x, n, out.y, out.stride, out.bias, out.accumulate);
    }
    const int tiles_here = kWarps / w.slices;
    const dim3 grid(static_cast<unsigned>((w.tiles + tiles_here - 1) / tiles_here));
    if (n <= 8)
        return simt::launch(skinny_kernel<kType, 1>, {grid, kWarps * 32, 0, stream}, w, x, n, out.y,
                            out.stride, out.bias, out.accumulate);
    return simt::launch(skinny_kernel<kType, 2>, {grid, kWarps * 32, 0, stream}, w, x, n, out.y,
                        out.stride, out.bias, out.accumulate);
}

}  // namespace

cudaError_t matmul_quantized(const DeviceWeight& w, const QuantizedRows& x, std::int64_t n,
                             const MatmulOut& out, cudaStream_t stream, int panel) {
    const int columns = static_cast<int>(n);
    const bool many = panel > 0 || (panel == 0 && n > kSkinnyColumns);
    switch (w.dtype) {
        case DType::q4_0:
            return launch_matmul<DType::q4_0>(w, x, columns, out, stream, many);
        case DType::q4_1:
            return launch_matmul<DType::q4_1>(w, x, columns, out, stream, many);
        case DType::q5_0:
            return launch_matmul<DType::q5_0>(w, x, columns, out, stream, many);
        case DType::q5_1:
            return launch_matmul<DType::q5_1>(w, x, columns, out, stream, many);
        case DType::q8_0:
            return launch_matmul<DType::q8_0>(w, x, columns, out, stream, many);
        case DType::q2_k:
            return launch_matmul<DType::q2_k>(w, x, columns, out, stream, many);
        case DType::q3_k:
            return launch_matmul<DType::q3_k>(w, x, columns, out, stream, many);
        case DType::q4_k:
            return launch_matmul<DType::q4_k>(w, x, columns, out, stream, many);
        case DType::q5_k:
            return launch_matmul<DType::q5_k>(w, x, columns, out, stream, many);
        case DType::q6_k:
            return launch_matmul<DType::q6_k>(w, x, columns, out, stream, many);
        case DType::iq4_nl:
            return launch_matmul<DType::iq4_nl>(w, x, columns, out, stream, many);
        case DType::iq4_xs:
            return launch_matmul<DType::iq4_xs>(w, x, columns, out, stream, many);
        case DType::mxfp4:
            return launch_matmul<DType::mxfp4>(w, x, columns, out, stream, many);
        default:
            return cudaErrorInvalidValue;
    }
}

}  // namespace hearth::cuda
