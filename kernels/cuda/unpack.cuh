#pragma once
// Weights of one tile and group in the registers of a warp: load (128-bit, read once), then the
// int8 fragments and f32 scales of each block of 32. The integers and scales are those of
// kernels/quant.h.

#include "kernels/cuda/simt.h"
#include "kernels/cuda/weight_layout.h"

namespace hearth::cuda {

__device__ inline std::uint32_t word(const uint4& v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}
__device__ inline std::uint32_t word(const uint2& v, int i) { return i == 0 ? v.x : v.y; }
__device__ inline int byte_of(std::uint32_t w, int i) {
    return static_cast<int>((w >> (8 * i)) & 255u);
}
__device__ inline int signed_byte_of(std::uint32_t w, int i) {
    return static_cast<int>(static_cast<std::int8_t>((w >> (8 * i)) & 255u));
}
__device__ inline float half_of(std::uint32_t w, int i) {
    __half_raw h;
    h.x = static_cast<unsigned short>(w >> (16 * i));
    return __half2float(__half(h));
}

/// The sixteen values of a table as bytes, and a look-up of four nibbles at once.
template <Table kTable>
__device__ inline std::uint32_t look_up(std::uint32_t nibbles) {
    constexpr bool kIq4 = kTable == Table::iq4;
    // kIq4Values and kMxfp4Values of kernels/quant.h, four bytes a word
    constexpr std::uint32_t t0 = kIq4 ? 0xbfad9881u : 0x03020100u;
    constexpr std::uint32_t t1 = kIq4 ? 0xf6eaddcfu : 0x0c080604u;
    constexpr std::uint32_t t2 = kIq4 ? 0x26190d01u : 0xfdfeff00u;
    constexpr std::uint32_t t3 = kIq4 ? 0x71594535u : 0xf4f8fafcu;
    // bytes 0x0n -> selectors of four bits
    const std::uint32_t s = (nibbles & 0xfu) | (nibbles >> 4 & 0xf0u) | (nibbles >> 8 & 0xf00u) |
                            (nibbles >> 12 & 0xf000u);
    const std::uint32_t low = __byte_perm(t0, t1, s & 0x7777u);
    const std::uint32_t high = __byte_perm(t2, t3, s & 0x7777u);
    return __byte_perm(low, high, 0x3210u | (s & 0x8888u) >> 1);
}

template <DType kType>
struct WeightGroup {
    static constexpr LayoutTraits kLayout = layout_of(kType);
    static constexpr bool kEight = kLayout.base == Base::eight;
    static constexpr bool kMin = has_min(kLayout.scales);
    static constexpr bool kPer16 = per_16(kLayout.scales);
    /// Scales of a block per row: 1, or 2 where they cover 16 elements.
    static constexpr int kScales = kPer16 ? 2 : 1;

    uint4 base[2][kEight ? 2 : 1];  ///< rows g and g + 8; two-bit planes use x and y
    uint2 high[2];
    uint4 scale[2];
    uint2 extra[2];

    __device__ void load(const DeviceWeight& w, std::int64_t tile, int group, int lane) {
        const std::int64_t tg = tile * w.groups + group;
        const std::int64_t unit = tg / scale_groups(kLayout.scales);
        for (int r = 0; r < 2; ++r) {
            const std::int64_t at = (tg * 2 + r) * 32 + lane;
            if constexpr (kEight) {
                const auto* p = static_cast<const uint4*>(w.base) + (tg * 2 + r) * 64 + lane;
                base[r][0] = ptx::load_stream(p);
                base[r][1] = ptx::load_stream(p + 32);
            } else if constexpr (kLayout.base == Base::nibble) {
                base[r][0] = ptx::load_stream(static_cast<const uint4*>(w.base) + at);
            } else {
                const uint2 v = ptx::load_stream(static_cast<const uint2*>(w.base) + at);
                base[r][0] = uint4{v.x, v.y, 0, 0};
            }
            if constexpr (kLayout.high == High::one)
                high[r] = uint2{static_cast<const std::uint32_t*>(w.high)[at], 0};
            if constexpr (kLayout.high == High::two)
                high[r] = ptx::load_stream(static_cast<const uint2*>(w.high) + at);
            load_scales(w, unit * kTileRows + lane / 4 + 8 * r, r);
        }
    }

    /// a: registers of mma_s8 for block b.
    __device__ void fragment(int b, std::uint32_t (&a)[4]) const {
        for (int r = 0; r < 2; ++r) {
            std::uint32_t first, second;
            if constexpr (kEight) {
                first = word(base[r][b / 2], b % 2 * 2);
                second = word(base[r][b / 2], b % 2 * 2 + 1);
            } else if constexpr (kLayout.base == Base::nibble) {
                const std::uint32_t v = word(base[r][0], b);
                first = v & 0x0f0f0f0fu;
                second = v >> 4 & 0x0f0f0f0fu;
            } else {
                const std::uint32_t v = word(base[r][0], b / 2) >> (4 * (b % 2));
                first = v & 0x03030303u;
                second = v >> 2 & 0x03030303u;
            }
            constexpr int kShift = kLayout.base == Base::two ? 2 : 4;
            if constexpr (kLayout.high == High::one) {
                first |= (high[r].x >> (2 * b) & 0x01010101u) << kShift;
                second |= (high[r].x >> (2 * b + 1) & 0x01010101u) << kShift;
            }
            if constexpr (kLayout.high == High::two) {
                const std::uint32_t h = word(high[r], b / 2) >> (4 * (b % 2));
                first |= (h & 0x03030303u) << kShift;
                second |= (h >> 2 & 0x03030303u) << kShift;
            }
            if constexpr (kLayout.table != Table::none) {
                first = look_up<kLayout.table>(first);
                second = look_up<kLayout.table>(second);
            }
            if constexpr (kLayout.offset != 0) {
                // code + (128 - offset) carries into no other byte; the xor makes it signed
                constexpr std::uint32_t kBias = 0x01010101u * (128u - kLayout.offset);
                first = (first + kBias) ^ 0x80808080u;
                second = (second + kBias) ^ 0x80808080u;
            }
            a[r] = first;
            a[2 + r] = second;
        }
    }

    /// Scale and addend of block b for row half r; i: half of the block where scales cover 16.
    __device__ void scales(int group, int b, int r, int i, float& d, float& m) const {
        const int sub = group % 2 * 4 + b;  // block within the 256 elements of a K-quant
        m = 0.0f;
        if constexpr (kLayout.scales == Scales::half || kLayout.scales == Scales::half_min) {
            d = half_of(word(scale[r], b / 2), b % 2);
            if constexpr (kMin) m = half_of(word(extra[r], b / 2), b % 2);
        } else if constexpr (kLayout.scales == Scales::bf16) {
            d = __uint_as_float(word(scale[r], b / 2) >> (16 * (b % 2)) << 16);
        } else if constexpr (kLayout.scales == Scales::k32_min) {
            const uint4& h = scale[r];
            const bool upper = group % 2 != 0;
            const std::uint32_t sc =
                upper ? (h.w & 0x0f0f0f0fu) | (h.y >> 2 & 0x30303030u) : h.y & 0x3f3f3f3fu;
            const std::uint32_t mn =
                upper ? (h.w >> 4 & 0x0f0f0f0fu) | (h.z >> 2 & 0x30303030u) : h.z & 0x3f3f3f3fu;
            d = __fmul_rn(half_of(h.x, 0), static_cast<float>(byte_of(sc, b)));
            m = -__fmul_rn(half_of(h.x, 1), static_cast<float>(byte_of(mn, b)));
        } else if constexpr (kLayout.scales == Scales::s8_32) {
            const int sc = signed_byte_of(word(scale[r], sub / 4), sub % 4);
            d = __fmul_rn(half_of(extra[r].x, 0), static_cast<float>(sc));
        } else {
            const int at = 2 * sub + i;
            const std::uint32_t w = word(scale[r], at / 4);
            if constexpr (kLayout.scales == Scales::s8_16) {
                d = __fmul_rn(half_of(extra[r].x, 0),
                              static_cast<float>(signed_byte_of(w, at % 4)));
            } else {
                const int both = byte_of(w, at % 4);
                d = __fmul_rn(half_of(extra[r].x, 0), static_cast<float>(both & 15));
                m = -__fmul_rn(half_of(extra[r].x, 1), static_cast<float>(both >> 4));
            }
        }
    }

  private:
    __device__ void load_scales(const DeviceWeight& w, std::int64_t at, int r) {
        if constexpr (scale_bytes(kLayout.scales) == 16) {
            scale[r] = static_cast<const uint4*>(w.scale)[at];
        } else {
            const uint2 v = static_cast<const uint2*>(w.scale)[at];
            scale[r] = uint4{v.x, v.y, 0, 0};
        }
        if constexpr (extra_bytes(kLayout.scales) == 8)
            extra[r] = static_cast<const uint2*>(w.extra)[at];
        if constexpr (extra_bytes(kLayout.scales) == 4)
            extra[r] = uint2{static_cast<const std::uint32_t*>(w.extra)[at], 0};
        if constexpr (extra_bytes(kLayout.scales) == 2)
            extra[r] = uint2{static_cast<const std::uint16_t*>(w.extra)[at], 0};
    }
};

}  // namespace hearth::cuda
