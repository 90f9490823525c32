// The ops on rows: quantize, norms, gate, gather, softcap, argmax
//
// source    RMSNorm: Zhang & Sennrich 2019, eq. 4
// shapes    backend.h
// traffic   8 bytes per element, norms and quantization fused where one follows the other
// bound     memory; one row (decode) is launch-bound
// mapping   one block of 256 threads per row; head_norm a warp per head; gather and softcap
// elements oracle    tests/reference/ops.h
#include "kernels/cuda/device_math.cuh"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/quantize.cuh"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256;

/// Four elements from column 4 * at on; zero past the end.
__device__ inline void load_four(const float* row, int at, std::int64_t cols, float (&v)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = 4 * at + i < cols ? row[4 * at + i] : 0.0f;
}
__device__ inline void store_four(float* row, int at, std::int64_t cols, const float (&v)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
        if (4 * at + i < cols) row[4 * at + i] = v[i];
}
/// Words of four elements, whole groups: every warp stays together through a quantization.
__device__ inline int padded_words(std::int64_t cols, const QuantizedRows& q) {
    return q.q != nullptr ? q.groups * 32 : static_cast<int>((cols + 127) / 128 * 32);
}

__global__ void __launch_bounds__(kThreads)
    quantize_kernel(const float* x, std::int64_t stride, std::int64_t cols, QuantizedRows q) {
    const std::int64_t row = blockIdx.x;
    for (int at = static_cast<int>(threadIdx.x); at < q.groups * 32; at += kThreads) {
        float v[4];
        load_four(x + row * stride, at, cols, v);
        quantize_four(v, row, at, q);
    }
}

__global__ void __launch_bounds__(kThreads)
    rms_norm_kernel(float* y, std::int64_t y_stride, const float* x, std::int64_t x_stride,
                    const float* weight, std::int64_t cols, float eps, bool accumulate,
                    QuantizedRows q) {
    SMEM(float, part, [8]);
    const std::int64_t row = blockIdx.x;
    const float* from = x + row * x_stride;
    float* to = y + row * y_stride;
    float sum = 0.0f;
    for (std::int64_t k = threadIdx.x; k < cols; k += kThreads)
        sum = __fmaf_rn(from[k], from[k], sum);
    sum = block_sum_256(sum, part);
    const float mean = __fdiv_rn(sum, static_cast<float>(cols));
    const float r = __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(mean, eps)));
    for (int at = static_cast<int>(threadIdx.x); at < padded_words(cols, q); at += kThreads) {
        float v[4], w[4], old[4] = {};
        load_four(from, at, cols, v);
        load_four(weight, at, cols, w);
        if (accumulate) load_four(to, at, cols, old);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float scaled = __fmul_rn(v[i], r);
            v[i] = accumulate ? __fmaf_rn(scaled, w[i], old[i]) : __fmul_rn(scaled, w[i]);
        }
        store_four(to, at, cols, v);
        if (q.q != nullptr) quantize_four(v, row, at, q);
    }
}

/// A warp per head.
__global__ void __launch_bounds__(kThreads)
    head_norm_kernel(float* x, std::int64_t stride, const float* weight, int head_dim,
                     std::int64_t heads, std::int64_t n, float eps) {
    const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * 8 + threadIdx.x / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (item >= n) return;
    float* head = x + item / heads * stride + item % heads * head_dim;
    float sum = 0.0f;
    for (int i = lane; i < head_dim; i += 32) sum = __fmaf_rn(head[i], head[i], sum);
    const float mean = __fdiv_rn(warp_sum(sum), static_cast<float>(head_dim));
    const float r = __fdiv_rn(1.0f, __fsqrt_rn(__fadd_rn(mean, eps)));
    for (int i = lane; i < head_dim; i += 32) head[i] = __fmul_rn(__fmul_rn(head[i], r), weight[i]);
}

/// silu(x) = x / (1 + e^-x); gelu_tanh(x) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
__device__ inline float activate(float x, GatedActivation act) {
    float u = x;
    if (act == GatedActivation::gelu_tanh) {
        const float cube = __fmaf_rn(__fmul_rn(__fmul_rn(x, x), x), 0.044715f, x);
        u = __fmul_rn(cube, 2.0f * 0.7978845608f);
    }
    return __fdiv_rn(x, __fadd_rn(1.0f, own_exp(-u)));
}

__global__ void __launch_bounds__(kThreads)
    gated_kernel(float* gate, std::int64_t gate_stride, const float* up, std::int64_t up_stride,
                 std::int64_t cols, GatedActivation act, QuantizedRows q) {
    const std::int64_t row = blockIdx.y;
    const int at = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
    if (at >= padded_words(cols, q)) return;  // whole warps
    float v[4], u[4];
    load_four(gate + row * gate_stride, at, cols, v);
    load_four(up + row * up_stride, at, cols, u);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = __fmul_rn(activate(v[i], act), u[i]);
    store_four(gate + row * gate_stride, at, cols, v);
    if (q.q != nullptr) quantize_four(v, row, at, q);
}

__global__ void __launch_bounds__(kThreads)
    gather_kernel(float* y, std::int64_t y_stride, const float* x, std::int64_t x_stride,
                  std::int64_t cols, const std::int32_t* rows) {
    const std::int64_t r = blockIdx.y;
    const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (k < cols) y[r * y_stride + k] = x[rows[r] * x_stride + k];
}

__global__ void __launch_bounds__(kThreads)
    softcap_kernel(float* x, std::int64_t stride, std::int64_t cols, float cap) {
    const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    float* p = x + blockIdx.y * stride + k;
    if (k < cols) *p = __fmul_rn(cap, own_tanh(__fdiv_rn(*p, cap)));
}

struct Best {
    float value;
    std::int32_t index;
};
__device__ inline Best better(Best a, Best b) {
    const bool take = b.value > a.value || (b.value == a.value && b.index < a.index);
    return take ? b : a;
}

__global__ void __launch_bounds__(kThreads)
    argmax_kernel(std::int32_t* index, const float* x, std::int64_t stride, std::int64_t cols) {
    SMEM(Best, part, [8]);
    const float* row = x + blockIdx.x * stride;
    Best best{__uint_as_float(0xff800000u), 0x7fffffff};
    bool bad = false;
    for (std::int64_t k = threadIdx.x; k < cols; k += kThreads) {
        bad = bad || row[k] != row[k];
        best = better(best, {row[k], static_cast<std::int32_t>(k)});
    }
    for (int step = 16; step > 0; step /= 2) {
        const Best other{__shfl_xor_sync(0xffffffffu, best.value, step),
                         __shfl_xor_sync(0xffffffffu, best.index, step)};
        best = better(best, other);
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = best;
    if (__syncthreads_or(bad ? 1 : 0) != 0) best.index = -1;
    if (threadIdx.x != 0) return;
    if (best.index >= 0)
        for (int w = 1; w < 8; ++w) best = better(best, part[w]);
    index[blockIdx.x] = best.index;
}

unsigned blocks(std::int64_t n, std::int64_t per_block) {
    return static_cast<unsigned>((n + per_block - 1) / per_block);
}

}  // namespace

std::int64_t quantized_bytes(std::int64_t rows, int groups) {
    return rows * groups * (kGroupElems + 4 * 4 + 4 * 4 + 8 * 4);
}

QuantizedRows quantized_rows(void* memory, std::int64_t rows, int groups) {
    QuantizedRows q;
    auto* p = static_cast<std::uint8_t*>(memory);
    const std::int64_t n = rows * groups;
    q.q = reinterpret_cast<std::int8_t*>(p);
    q.d = reinterpret_cast<float*>(p + n * kGroupElems);
    q.s = q.d + 4 * n;
    q.s16 = q.s + 4 * n;
    q.groups = groups;
    return q;
}

cudaError_t quantize_rows(MatrixView x, const QuantizedRows& q, cudaStream_t stream) {
    return simt::launch(quantize_kernel, {static_cast<unsigned>(x.rows), kThreads, 0, stream},
                        x.data, x.stride, x.cols, q);
}

cudaError_t rms_norm(MatrixView y, MatrixView x, const float* weight, float eps, bool accumulate,
                     const QuantizedRows* q, cudaStream_t stream) {
    return simt::launch(rms_norm_kernel, {static_cast<unsigned>(x.rows), kThreads, 0, stream},
                        y.data, y.stride, x.data, x.stride, weight, x.cols, eps, accumulate,
                        q != nullptr ? *q : QuantizedRows{});
}

cudaError_t head_norm(MatrixView x, const float* weight, int head_dim, float eps,
                      cudaStream_t stream) {
    const std::int64_t heads = x.cols / head_dim, n = heads * x.rows;
    return simt::launch(head_norm_kernel, {blocks(n, 8), kThreads, 0, stream}, x.data, x.stride,
                        weight, head_dim, heads, n, eps);
}

cudaError_t gated(MatrixView gate, MatrixView up, GatedActivation act, const QuantizedRows* q,
                  cudaStream_t stream) {
    const std::int64_t words =
        q != nullptr ? std::int64_t{q->groups} * 32 : (gate.cols + 127) / 128 * 32;
    const dim3 grid(blocks(words, kThreads), static_cast<unsigned>(gate.rows));
    return simt::launch(gated_kernel, {grid, kThreads, 0, stream}, gate.data, gate.stride, up.data,
                        up.stride, gate.cols, act, q != nullptr ? *q : QuantizedRows{});
}

cudaError_t gather_rows(MatrixView y, MatrixView x, const std::int32_t* rows, cudaStream_t stream) {
    const dim3 grid(blocks(y.cols, kThreads), static_cast<unsigned>(y.rows));
    return simt::launch(gather_kernel, {grid, kThreads, 0, stream}, y.data, y.stride, x.data,
                        x.stride, y.cols, rows);
}

cudaError_t softcap(MatrixView x, float cap, cudaStream_t stream) {
    const dim3 grid(blocks(x.cols, kThreads), static_cast<unsigned>(x.rows));
    return simt::launch(softcap_kernel, {grid, kThreads, 0, stream}, x.data, x.stride, x.cols, cap);
}

cudaError_t argmax(std::int32_t* index, MatrixView x, cudaStream_t stream) {
    return simt::launch(argmax_kernel, {static_cast<unsigned>(x.rows), kThreads, 0, stream}, index,
                        x.data, x.stride, x.cols);
}

}  // namespace hearth::cuda
