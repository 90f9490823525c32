#pragma once
// Device functions of one fixed graph of operations: exp, tanh, sums over a block. Never the
// approximate instructions: results must not depend on the architecture.

#include <cstdint>

#include "kernels/cuda/simt.h"

namespace hearth::cuda {

/// Largest integer part handled below, so that the two factors stay normal.
__device__ inline float scale_by_power(float x, int n) {
    const int half = n / 2;
    x = __fmul_rn(x, __int_as_float((half + 127) << 23));
    return __fmul_rn(x, __int_as_float((n - half + 127) << 23));
}

/// exp: Cody-Waite reduction, degree 6 (Moshier, Cephes expf). 0 below -104, infinity above 89.
__device__ inline float own_exp(float x) {
    x = fminf(fmaxf(x, -104.0f), 89.0f);
    const float n = rintf(__fmul_rn(x, 1.44269504f));
    float r = __fmaf_rn(n, -0.693359375f, x);
    r = __fmaf_rn(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = __fmaf_rn(p, r, 1.3981999507e-3f);
    p = __fmaf_rn(p, r, 8.3334519073e-3f);
    p = __fmaf_rn(p, r, 4.1665795894e-2f);
    p = __fmaf_rn(p, r, 1.6666665459e-1f);
    p = __fmaf_rn(p, r, 5.0000001201e-1f);
    p = __fmaf_rn(p, __fmul_rn(r, r), r);
    return scale_by_power(__fadd_rn(p, 1.0f), static_cast<int>(n));
}

/// tanh: odd polynomial below 0.625, else 1 - 2 / (exp(2|x|) + 1).
__device__ inline float own_tanh(float x) {
    const float a = fabsf(x);
    if (a < 0.625f) {
        const float z = __fmul_rn(x, x);
        float p = -5.70498872745e-3f;
        p = __fmaf_rn(p, z, 2.06390887954e-2f);
        p = __fmaf_rn(p, z, -5.37397155531e-2f);
        p = __fmaf_rn(p, z, 1.33314422036e-1f);
        p = __fmaf_rn(p, z, -3.33332819422e-1f);
        return __fmaf_rn(__fmul_rn(x, z), p, x);
    }
    const float e = __fadd_rn(own_exp(__fadd_rn(a, a)), 1.0f);
    const float large = __fsub_rn(1.0f, __fdiv_rn(2.0f, e));
    return x < 0.0f ? -large : x != x ? x : large;
}

/// Sum over the lanes of a warp, the same in every lane.
__device__ inline float warp_sum(float v) {
    for (int step = 16; step > 0; step /= 2)
        v = __fadd_rn(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}

/// Sum over the 256 threads of a block, the same in every thread; `part` holds 8 floats.
__device__ inline float block_sum_256(float v, float* part) {
    v = warp_sum(v);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    float sum = part[0];
    for (int i = 1; i < 8; ++i) sum = __fadd_rn(sum, part[i]);
    return sum;
}

}  // namespace hearth::cuda
