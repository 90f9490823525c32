// embed: y[t,k] = dequantize(table[token[t]])[k] * scale
//
// source    plain; the values of kernels/quant.h
// shapes    tokens (T)   table (V, D)   y (T, D) f32
// traffic   T rows of the table + 4 T D
// bound     launch
// mapping   a block of 256 threads per 256 elements of a row; each finds its code in the planes
// oracle    tests/reference/dequantize.h
#include "kernels/cuda/ops.h"
#include "kernels/cuda/unpack.cuh"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256;

__device__ inline std::uint32_t load_word(const void* p, std::int64_t at) {
    return static_cast<const std::uint32_t*>(p)[at];
}

/// The stored integer of element k of a row, offset and table applied.
__device__ int code_of(const DeviceWeight& w, const LayoutTraits& l, std::int64_t tile, int r,
                       int k) {
    const int group = k / 128, b = k % 128 / 32, second = k % 32 / 16, t = k % 16 / 4, i = k % 4;
    const std::int64_t half = (tile * w.groups + group) * 2 + r / 8;
    const std::int64_t at = half * 32 + r % 8 * 4 + t;
    if (l.base == Base::eight) {
        const std::int64_t lane = half * 64 + b / 2 * 32 + r % 8 * 4 + t;
        return signed_byte_of(load_word(w.base, lane * 4 + b % 2 * 2 + second), i);
    }
    int code;
    if (l.base == Base::nibble)
        code = byte_of(load_word(w.base, at * 4 + b), i) >> (4 * second) & 15;
    else
        code = byte_of(load_word(w.base, at * 2 + b / 2), i) >> (4 * (b % 2) + 2 * second) & 3;
    const int shift = l.base == Base::two ? 2 : 4;
    if (l.high == High::one)
        code |= (byte_of(load_word(w.high, at), i) >> (2 * b + second) & 1) << shift;
    if (l.high == High::two)
        code |= (byte_of(load_word(w.high, at * 2 + b / 2), i) >> (4 * (b % 2) + 2 * second) & 3)
                << shift;
    if (l.table == Table::iq4) return signed_byte_of(look_up<Table::iq4>(code), 0);
    if (l.table == Table::mxfp4) return signed_byte_of(look_up<Table::mxfp4>(code), 0);
    return code - l.offset;
}

__device__ float half_at(const void* p, std::int64_t at) {
    return half_of(static_cast<const std::uint16_t*>(p)[at], 0);
}

__device__ float quantized_value(const DeviceWeight& w, std::int64_t row, int k) {
    const LayoutTraits l = layout_of(w.dtype);
    const std::int64_t tile = row / kTileRows;
    const int r = static_cast<int>(row % kTileRows);
    const float q = static_cast<float>(code_of(w, l, tile, r, k));
    const std::int64_t record =
        (tile * w.groups + k / 128) / scale_groups(l.scales) * kTileRows + r;
    const int b = k % 128 / 32, sub = k % 256 / 32, at16 = k % 256 / 16;
    if (l.scales == Scales::half) return __fmul_rn(half_at(w.scale, record * 4 + b), q);
    if (l.scales == Scales::half_min)
        return __fadd_rn(__fmul_rn(half_at(w.scale, record * 4 + b), q),
                         half_at(w.extra, record * 4 + b));
    if (l.scales == Scales::bf16) {
        const std::uint32_t d = static_cast<const std::uint16_t*>(w.scale)[record * 4 + b];
        return __fmul_rn(__uint_as_float(d << 16), q);
    }
    const auto* bytes = static_cast<const std::uint8_t*>(w.scale) + record * scale_bytes(l.scales);
    if (l.scales == Scales::s8_32 || l.scales == Scales::s8_16) {
        const int sc = static_cast<std::int8_t>(bytes[l.scales == Scales::s8_32 ? sub : at16]);
        return __fmul_rn(__fmul_rn(half_at(w.extra, record), static_cast<float>(sc)), q);
    }
    float d, dmin;
    int sc, mn;
    if (l.scales == Scales::k16_min) {
        d = half_at(w.extra, 2 * record);
        dmin = half_at(w.extra, 2 * record + 1);
        sc = bytes[at16] & 15;
        mn = bytes[at16] >> 4;
    } else {
        d = half_at(bytes, 0);
        dmin = half_at(bytes, 1);
        const std::uint8_t* p = bytes + 4;
        const int j = sub % 4;
        sc = sub < 4 ? p[j] & 63 : (p[8 + j] & 15) | (p[j] >> 6) << 4;
        mn = sub < 4 ? p[4 + j] & 63 : p[8 + j] >> 4 | (p[4 + j] >> 6) << 4;
    }
    return __fsub_rn(__fmul_rn(__fmul_rn(d, static_cast<float>(sc)), q),
                     __fmul_rn(dmin, static_cast<float>(mn)));
}

__global__ void __launch_bounds__(kThreads)
    embed_kernel(float* y, std::int64_t stride, const std::int32_t* tokens, DeviceWeight w,
                 float scale) {
    const std::int64_t t = blockIdx.y;
    const std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (k >= w.cols) return;
    const std::int64_t row = tokens[t];
    float value;
    if (w.dtype == DType::f32) {
        value = static_cast<const float*>(w.base)[row * w.row_elems + k];
    } else if (w.dtype == DType::f16) {
        value = half_at(w.base, row * w.row_elems + k);
    } else if (w.dtype == DType::bf16) {
        const std::uint32_t bits = static_cast<const std::uint16_t*>(w.base)[row * w.row_elems + k];
        value = __uint_as_float(bits << 16);
    } else {
        value = quantized_value(w, row, static_cast<int>(k));
    }
    y[t * stride + k] = __fmul_rn(value, scale);
}

}  // namespace

cudaError_t embed(MatrixView y, const std::int32_t* tokens, const DeviceWeight& table, float scale,
                  cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>((table.cols + kThreads - 1) / kThreads),
                    static_cast<unsigned>(y.rows));
    return simt::launch(embed_kernel, {grid, kThreads, 0, stream}, y.data, y.stride, tokens, table,
                        scale);
}

}  // namespace hearth::cuda
