#pragma once
// Order of elements in a KV page on the card: what a lane (g = lane / 4, t = lane % 4) needs for
// two fragments of mma.m16n8k16 lies in 16 consecutive bytes, and a warp reads 512 bytes in one
// load.
//
// keys    [kv head][d / 16][g][t][2][4]: key g or g + 8, dims 4t..4t+3 of the 16 (the order of dims
//         in a dot product is free, queries use the same)
// values  [kv head][d / 16][g][t][2][4]: dim g or g + 8 of the 16, keys 2t, 2t+1, 2t+8, 2t+9

#include <cstdint>

#include "kernels/batch_view.h"
#include "kernels/cuda/simt.h"

namespace hearth::cuda {

__host__ __device__ inline std::int64_t key_offset(int head_dim, int head, int key, int dim) {
    const int lane = key % 8 * 4 + dim % 16 / 4;
    return static_cast<std::int64_t>(head) * head_dim * kPageTokens + dim / 16 * 256 + lane * 8 +
           key / 8 * 4 + dim % 4;
}
__host__ __device__ inline std::int64_t value_offset(int head_dim, int head, int key, int dim) {
    const int lane = dim % 8 * 4 + key % 8 / 2;
    return static_cast<std::int64_t>(head) * head_dim * kPageTokens + dim / 16 * 256 + lane * 8 +
           dim % 16 / 8 * 4 + key % 2 + key / 8 * 2;
}

__device__ inline std::uint16_t bits_of(float x, __half) {
    return __half_as_ushort(__float2half_rn(fminf(fmaxf(x, -65504.0f), 65504.0f)));
}
__device__ inline std::uint16_t bits_of(float x, __nv_bfloat16) {
    const float limit = __uint_as_float(0x7f7f0000u);
    return __bfloat16_as_ushort(__float2bfloat16_rn(fminf(fmaxf(x, -limit), limit)));
}
__device__ inline float value_of_bits(std::uint16_t b, __half) {
    return __half2float(__ushort_as_half(b));
}
__device__ inline float value_of_bits(std::uint16_t b, __nv_bfloat16) {
    return __bfloat162float(__ushort_as_bfloat16(b));
}

}  // namespace hearth::cuda
