#pragma once
// Activations to int8 per 32, four consecutive elements per thread, eight threads per block of 32.
// d = amax / 127, q = rint(x * (127 / amax)), half to even; a block below 2^-100 is zero; one with
// an infinity or NaN has d = NaN, so that the fault is seen. All 32 lanes of a warp take part.

#include "kernels/cuda/ops.h"
#include "kernels/cuda/simt.h"

namespace hearth::cuda {

/// v: elements 4 * at .. 4 * at + 3 of row `row`, zero past its end.
__device__ inline void quantize_four(const float (&v)[4], std::int64_t row, int at,
                                     const QuantizedRows& out) {
    std::uint32_t top = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) top = max(top, __float_as_uint(v[i]) & 0x7fffffffu);
#pragma unroll
    for (int step = 1; step < 8; step *= 2) top = max(top, __shfl_xor_sync(0xffffffffu, top, step));
    const float amax = __uint_as_float(top);
    const bool faulty = top >= 0x7f800000u, empty = top < 0x0d800000u;
    const float d = faulty ? __uint_as_float(0x7fc00000u) : empty ? 0.0f : __fdiv_rn(amax, 127.0f);
    const float inverse = faulty || empty ? 0.0f : __fdiv_rn(127.0f, amax);
    int sum = 0;
    std::uint32_t packed = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int q = faulty || empty ? 0 : __float2int_rn(__fmul_rn(v[i], inverse));
        sum += q;
        packed |= (static_cast<std::uint32_t>(q) & 255u) << (8 * i);
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);  // of this half of the block
    const int whole = sum + __shfl_xor_sync(0xffffffffu, sum, 4);
    const int group = at / 32, b = at / 8 % 4, second = at / 4 % 2, t = at % 4;
    const std::int64_t g = row * out.groups + group;
    const std::int64_t word = (g * 2 + b / 2) * 16 + t * 4 + b % 2 * 2 + second;
    reinterpret_cast<std::uint32_t*>(out.q)[word] = packed;
    if (t != 0) return;
    const std::int64_t block = g * 4 + b;
    out.s16[2 * block + second] = __fmul_rn(d, static_cast<float>(sum));
    if (second != 0) return;
    out.d[block] = d;
    out.s[block] = __fmul_rn(d, static_cast<float>(whole));
}

}  // namespace hearth::cuda
