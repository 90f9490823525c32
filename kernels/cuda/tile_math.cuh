#pragma once
// One group of 128 elements of K for a tile of 16 rows and 8 columns: the canonical sum. The one
// place where products are formed, shared by every matmul kernel, so that they agree to the bit.
//
// Per block of 32 (or 16) elements in ascending order: isum exact in int32 by the tensor cores,
// acc = fma(float(isum), d_w * d_a, acc), then acc = fma(m_w, s_a, acc) where the format has a
// minimum. The integer starts at the bits of 1.5 * 2^23, so that its float is a reinterpretation.

#include "kernels/cuda/unpack.cuh"

namespace hearth::cuda {

inline constexpr int kMagicBits = 0x4b400000;  ///< 12582912.0f
inline constexpr float kMagic = 12582912.0f;   ///< |isum| <= 32 * 128 * 127 < 2^22

/// int8 fragments and scales of a group, unpacked once for all columns of the warp.
template <DType kType>
struct UnpackedGroup {
    using Group = WeightGroup<kType>;
    std::uint32_t a[4][4];
    float d[4][2][Group::kScales];  ///< [block][row half][half of the block]
    float m[4][2][Group::kScales];

    __device__ void unpack(const Group& w, int group) {
#pragma unroll
        for (int b = 0; b < 4; ++b) {
            w.fragment(b, a[b]);
#pragma unroll
            for (int r = 0; r < 2; ++r)
#pragma unroll
                for (int i = 0; i < Group::kScales; ++i)
                    w.scales(group, b, r, i, d[b][r][i], m[b][r][i]);
        }
    }
};

/// Activations of one group for 8 columns: words of column g of the tile, scales of columns 2t and
/// 2t + 1.
struct ColumnGroup {
    uint4 q[2];        ///< [half]: blocks 2 * half: first, second; 2 * half + 1: first, second
    float4 d[2];       ///< [column] of the four blocks
    float4 s[2];       ///< formats with a minimum per 32
    float4 s16[2][2];  ///< [column][half of the group]: formats with a minimum per 16
};

__device__ inline float lane_of(const float4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

__device__ inline float exact_float(int magic_sum) {
    return __fsub_rn(__int_as_float(magic_sum), kMagic);
}

/// acc: rows g (0, 1) and g + 8 (2, 3), columns 2t (0, 2) and 2t + 1 (1, 3).
template <DType kType>
__device__ inline void add_group(const UnpackedGroup<kType>& w, const ColumnGroup& x,
                                 float (&acc)[4]) {
    using Group = WeightGroup<kType>;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
        const std::uint32_t first = word(x.q[b / 2], b % 2 * 2);
        const std::uint32_t second = word(x.q[b / 2], b % 2 * 2 + 1);
        if constexpr (!Group::kPer16) {
            int sum[4] = {kMagicBits, kMagicBits, kMagicBits, kMagicBits};
            const std::uint32_t xb[2] = {first, second};
            ptx::mma_s8(sum, w.a[b], xb);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float d = __fmul_rn(w.d[b][i / 2][0], lane_of(x.d[i % 2], b));
                acc[i] = __fmaf_rn(exact_float(sum[i]), d, acc[i]);
                if constexpr (Group::kMin)
                    acc[i] = __fmaf_rn(w.m[b][i / 2][0], lane_of(x.s[i % 2], b), acc[i]);
            }
        } else {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                int sum[4] = {kMagicBits, kMagicBits, kMagicBits, kMagicBits};
                const std::uint32_t ah[2] = {w.a[b][2 * half], w.a[b][2 * half + 1]};
                const std::uint32_t xh[1] = {half == 0 ? first : second};
                ptx::mma_s8_k16(sum, ah, xh);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float d = __fmul_rn(w.d[b][i / 2][half], lane_of(x.d[i % 2], b));
                    acc[i] = __fmaf_rn(exact_float(sum[i]), d, acc[i]);
                    if constexpr (Group::kMin) {
                        const float s = lane_of(x.s16[i % 2][b / 2], b % 2 * 2 + half);
                        acc[i] = __fmaf_rn(w.m[b][i / 2][half], s, acc[i]);
                    }
                }
            }
        }
    }
}

/// Groups [first, last) of slice `slice`, whole scale records.
template <DType kType>
__device__ inline void slice_groups(const DeviceWeight& w, int slice, int& first, int& last) {
    constexpr int kUnit = scale_groups(layout_of(kType).scales);
    const int units = w.groups / kUnit;
    first = units * slice / w.slices * kUnit;
    last = units * (slice + 1) / w.slices * kUnit;
}

/// y of one output; the only place where bias and old value come in.
__device__ inline float finish_output(float sum, std::int64_t row, const float* bias,
                                      bool accumulate, float old) {
    if (bias != nullptr) return __fadd_rn(sum, bias[row]);
    return accumulate ? __fadd_rn(old, sum) : sum;
}

}  // namespace hearth::cuda
