#pragma once
// Block layouts of the weight formats and their scalar meaning. Every other decoder (vector
// unpackers, other backends) must give the integers and scales that this file gives.
// Source: specs/gguf-and-quants.md, section 3; checked against the `gguf` package's decoders.
//
// In 32-element 4-bit blocks byte j holds element j in its low nibble and element j + 16 in its
// high nibble. d, m, dmin are IEEE half. Every struct is the block as it lies in the file.

#include <bit>
#include <cstdint>

#include "kernels/dtype.h"

namespace hearth {

struct BlockQ4_0 {
    std::uint16_t d;
    std::uint8_t qs[16];
};  // d * (q - 8)
struct BlockQ4_1 {
    std::uint16_t d, m;
    std::uint8_t qs[16];
};  // d * q + m
struct BlockQ5_0 {
    std::uint16_t d;
    std::uint8_t qh[4];  ///< bit j is the fifth bit of element j
    std::uint8_t qs[16];
};  // d * (q - 16)
struct BlockQ5_1 {
    std::uint16_t d, m;
    std::uint8_t qh[4];
    std::uint8_t qs[16];
};  // d * q + m
struct BlockQ8_0 {
    std::uint16_t d;
    std::int8_t qs[32];
};  // d * q
struct BlockQ2_K {
    std::uint8_t scales[16];  ///< low nibble scale, high nibble min, one per 16 elements
    std::uint8_t qs[64];      ///< per 128 elements 32 bytes; shifts 0, 2, 4, 6 are groups of 32
    std::uint16_t d, dmin;
};  // d * sc * q - dmin * mn
struct BlockQ3_K {
    std::uint8_t hmask[32];   ///< bit 4 * half + shift / 2 of byte l: third bit of element l
    std::uint8_t qs[64];      ///< as Q2_K
    std::uint8_t scales[12];  ///< sixteen 6-bit scales
    std::uint16_t d;
};  // d * (sc - 32) * (q - 4)
struct BlockQ4_K {
    std::uint16_t d, dmin;
    std::uint8_t scales[12];  ///< eight 6-bit scales, eight 6-bit mins
    std::uint8_t qs[128];     ///< per 64 elements 32 bytes: low nibbles, then high nibbles
};                            // d * sc * q - dmin * mn
struct BlockQ5_K {
    std::uint16_t d, dmin;
    std::uint8_t scales[12];
    std::uint8_t qh[32];  ///< bit i of byte l: fifth bit of element l of sub-block i
    std::uint8_t qs[128];
};  // d * sc * q - dmin * mn
struct BlockQ6_K {
    std::uint8_t ql[128];
    std::uint8_t qh[64];
    std::int8_t scales[16];
    std::uint16_t d;
};  // d * sc * (q - 32)
struct BlockIQ4_NL {
    std::uint16_t d;
    std::uint8_t qs[16];
};  // d * kIq4Values[q]
struct BlockIQ4_XS {
    std::uint16_t d;
    std::uint16_t scales_h;  ///< bits 2i, 2i + 1: upper bits of scale i
    std::uint8_t scales_l[4];
    std::uint8_t qs[128];
};  // d * (sc - 32) * kIq4Values[q]
struct BlockMXFP4 {
    std::uint8_t e;  ///< E8M0
    std::uint8_t qs[16];
};  // 2^(e - 128) * kMxfp4Values[q]

/// Non-linear 4-bit values of IQ4_NL and IQ4_XS.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
/// Doubled e2m1 values of MXFP4.
inline constexpr std::int8_t kMxfp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

/// IEEE half to float, exact; subnormals, infinities and NaN included.
inline float half_to_float(std::uint16_t h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
    const std::uint32_t body = h & 0x7fffu;
    if (body >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (body & 0x3ffu) << 13);
    if (body >= 0x0400u) return std::bit_cast<float>(sign | ((body << 13) + (112u << 23)));
    const float magnitude = static_cast<float>(body) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

/// Float to half, round to nearest even; the same as the F16C instruction for finite values.
inline std::uint16_t float_to_half(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t body = bits & 0x7fffffffu;
    if (body > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (body >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65520 and up
    if (body < 0x38800000u) {  // below 2^-14: adding 0.5 rounds at 2^-24, the half's last place
        const float shifted = std::bit_cast<float>(body) + 0.5f;
        const std::uint32_t steps = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u;
        return static_cast<std::uint16_t>(sign | steps);
    }
    const std::uint32_t odd = (body >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((body - (112u << 23) + 0xfffu + odd) >> 13));
}

inline float bf16_to_float(std::uint16_t b) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
}

/// Float to bf16, round to nearest even; finite values.
inline std::uint16_t float_to_bf16(float f) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(f);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Scale of an MXFP4 block: 2^(e - 128), subnormal for e < 2.
inline float mxfp4_scale(std::uint8_t e) {
    const std::uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<std::uint32_t>(e - 1) << 23;
    return std::bit_cast<float>(bits);
}

/// out[i] = value of element i of a row of `cols` elements; `cols` a multiple of the block.
void dequantize_row(DType dtype, const void* row, float* out, std::int64_t cols);

}  // namespace hearth
