// matmul, unquantized weights: y[n,m] = sum_k x[n,k] w[m,k] in f32
//
// source    plain
// shapes    x (n, K) f32   w (M, K) f32, f16 or bf16   y (n, M) f32
// traffic   bytes(w) * ceil(n / 8) + 4 n K + 4 n M; 2 n M K flops
// bound     memory up to 8 columns; above, f32 arithmetic
// mapping   a warp per row and 8 columns; lane l sums k = l, l + 32, …; one fixed tree over lanes
// oracle    tests/reference/ops.h: matmul
#include "kernels/cuda/device_math.cuh"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/tile_math.cuh"

namespace hearth::cuda {
namespace {

constexpr int kRows = 8, kColumns = 8;

__device__ inline float value_of(const float* p) { return *p; }
__device__ inline float value_of(const __half* p) { return __half2float(*p); }
__device__ inline float value_of(const __nv_bfloat16* p) { return __bfloat162float(*p); }

template <typename Element>
__global__ void __launch_bounds__(kRows * 32)
    floats_kernel(DeviceWeight w, const float* x, std::int64_t x_stride, int n, float* y,
                  std::int64_t stride, const float* bias, bool accumulate) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / 32;
    const int first = static_cast<int>(blockIdx.y) * kColumns;
    if (row >= w.rows) return;
    const auto* weights = static_cast<const Element*>(w.base) + row * w.row_elems;
    float acc[kColumns] = {};
    for (std::int64_t k = lane; k < w.cols; k += 32) {
        const float value = value_of(weights + k);
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
            if (first + c < n) acc[c] = __fmaf_rn(value, x[(first + c) * x_stride + k], acc[c]);
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
        const float sum = warp_sum(acc[c]);
        if (lane != c || first + c >= n) continue;
        float* out = y + (first + c) * stride + row;
        *out = finish_output(sum, row, bias, accumulate, accumulate ? *out : 0.0f);
    }
}

template <typename Element>
cudaError_t launch_floats(const DeviceWeight& w, MatrixView x, const MatmulOut& out,
                          cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>((w.rows + kRows - 1) / kRows),
                    static_cast<unsigned>((x.rows + kColumns - 1) / kColumns));
    return simt::launch(floats_kernel<Element>, {grid, kRows * 32, 0, stream}, w, x.data, x.stride,
                        static_cast<int>(x.rows), out.y, out.stride, out.bias, out.accumulate);
}

}  // namespace

cudaError_t matmul_floats(const DeviceWeight& w, MatrixView x, const MatmulOut& out,
                          cudaStream_t stream) {
    if (w.dtype == DType::f32) return launch_floats<float>(w, x, out, stream);
    if (w.dtype == DType::f16) return launch_floats<__half>(w, x, out, stream);
    return launch_floats<__nv_bfloat16>(w, x, out, stream);
}

}  // namespace hearth::cuda
