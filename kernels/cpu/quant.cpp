// dequantize_row: out[k] = value of weight k, in f32, written from the format table.
//
// source    specs/gguf-and-quants.md, section 3
// shapes    row of cols elements in blocks; out (cols) f32
// bound     not hot: embedding rows and tests
// oracle    tests/golden/quant (made by the gguf package)
#include "kernels/quant.h"

#include <cstring>

namespace hearth {
namespace {

/// The eight 6-bit scales and mins of Q4_K and Q5_K.
struct KScales {
    std::uint8_t scale[8], min[8];
};

KScales unpack_k_scales(const std::uint8_t* p) {
    KScales s;
    for (int j = 0; j < 8; ++j) {
        if (j < 4) {
            s.scale[j] = p[j] & 63;
            s.min[j] = p[j + 4] & 63;
        } else {
            s.scale[j] = static_cast<std::uint8_t>((p[j + 4] & 15) | (p[j - 4] >> 6) << 4);
            s.min[j] = static_cast<std::uint8_t>((p[j + 4] >> 4) | (p[j] >> 6) << 4);
        }
    }
    return s;
}

std::uint32_t load_u32(const std::uint8_t* p) {
    std::uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}

int fifth_bit(std::uint32_t qh, int element) { return static_cast<int>((qh >> element) & 1u) << 4; }

void decode(const BlockQ4_0& b, float* out) {
    const float d = half_to_float(b.d);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>((b.qs[j] & 15) - 8);
        out[j + 16] = d * static_cast<float>((b.qs[j] >> 4) - 8);
    }
}

void decode(const BlockQ4_1& b, float* out) {
    const float d = half_to_float(b.d), m = half_to_float(b.m);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(b.qs[j] & 15) + m;
        out[j + 16] = d * static_cast<float>(b.qs[j] >> 4) + m;
    }
}

void decode(const BlockQ5_0& b, float* out) {
    const float d = half_to_float(b.d);
    const std::uint32_t qh = load_u32(b.qh);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(((b.qs[j] & 15) | fifth_bit(qh, j)) - 16);
        out[j + 16] = d * static_cast<float>(((b.qs[j] >> 4) | fifth_bit(qh, j + 16)) - 16);
    }
}

void decode(const BlockQ5_1& b, float* out) {
    const float d = half_to_float(b.d), m = half_to_float(b.m);
    const std::uint32_t qh = load_u32(b.qh);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>((b.qs[j] & 15) | fifth_bit(qh, j)) + m;
        out[j + 16] = d * static_cast<float>((b.qs[j] >> 4) | fifth_bit(qh, j + 16)) + m;
    }
}

void decode(const BlockQ8_0& b, float* out) {
    const float d = half_to_float(b.d);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(b.qs[j]);
}

void decode(const BlockQ2_K& b, float* out) {
    const float d = half_to_float(b.d), dmin = half_to_float(b.dmin);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, group = i % 128 / 32, l = i % 32;
        const int q = (b.qs[32 * half + l] >> (2 * group)) & 3;
        const int sc = b.scales[i / 16];
        out[i] = d * static_cast<float>(sc & 15) * static_cast<float>(q) -
                 dmin * static_cast<float>(sc >> 4);
    }
}

void decode(const BlockQ3_K& b, float* out) {
    const float d = half_to_float(b.d);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, group = i % 128 / 32, l = i % 32, j = i / 16;
        const int low = (b.qs[32 * half + l] >> (2 * group)) & 3;
        const int q = low - ((b.hmask[l] >> (4 * half + group)) & 1 ? 0 : 4);
        const int sc_low = j < 8 ? b.scales[j] & 15 : b.scales[j - 8] >> 4;
        const int sc = sc_low | ((b.scales[8 + j % 4] >> (2 * (j / 4))) & 3) << 4;
        out[i] = d * static_cast<float>(sc - 32) * static_cast<float>(q);
    }
}

void decode(const BlockQ4_K& b, float* out) {
    const float d = half_to_float(b.d), dmin = half_to_float(b.dmin);
    const KScales s = unpack_k_scales(b.scales);
    for (int i = 0; i < 256; ++i) {
        const int sub = i / 32, l = i % 32;
        const int q = (b.qs[32 * (sub / 2) + l] >> (4 * (sub % 2))) & 15;
        out[i] = d * static_cast<float>(s.scale[sub]) * static_cast<float>(q) -
                 dmin * static_cast<float>(s.min[sub]);
    }
}

void decode(const BlockQ5_K& b, float* out) {
    const float d = half_to_float(b.d), dmin = half_to_float(b.dmin);
    const KScales s = unpack_k_scales(b.scales);
    for (int i = 0; i < 256; ++i) {
        const int sub = i / 32, l = i % 32;
        const int q = ((b.qs[32 * (sub / 2) + l] >> (4 * (sub % 2))) & 15) | ((b.qh[l] >> sub) & 1)
                                                                                 << 4;
        out[i] = d * static_cast<float>(s.scale[sub]) * static_cast<float>(q) -
                 dmin * static_cast<float>(s.min[sub]);
    }
}

void decode(const BlockQ6_K& b, float* out) {
    const float d = half_to_float(b.d);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, group = i % 128 / 32, l = i % 32;
        const int byte = b.ql[64 * half + 32 * (group % 2) + l];
        const int low = group < 2 ? byte & 15 : byte >> 4;
        const int q = (low | ((b.qh[32 * half + l] >> (2 * group)) & 3) << 4) - 32;
        out[i] = d * static_cast<float>(b.scales[i / 16]) * static_cast<float>(q);
    }
}

void decode(const BlockIQ4_NL& b, float* out) {
    const float d = half_to_float(b.d);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(kIq4Values[b.qs[j] & 15]);
        out[j + 16] = d * static_cast<float>(kIq4Values[b.qs[j] >> 4]);
    }
}

void decode(const BlockIQ4_XS& b, float* out) {
    const float d = half_to_float(b.d);
    for (int i = 0; i < 256; ++i) {
        const int sub = i / 32, l = i % 32;
        const int low = (b.scales_l[sub / 2] >> (4 * (sub % 2))) & 15;
        const int sc = (low | ((b.scales_h >> (2 * sub)) & 3) << 4) - 32;
        const int q = (b.qs[16 * sub + l % 16] >> (l < 16 ? 0 : 4)) & 15;
        out[i] = d * static_cast<float>(sc) * static_cast<float>(kIq4Values[q]);
    }
}

void decode(const BlockMXFP4& b, float* out) {
    const float d = mxfp4_scale(b.e);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(kMxfp4Values[b.qs[j] & 15]);
        out[j + 16] = d * static_cast<float>(kMxfp4Values[b.qs[j] >> 4]);
    }
}

template <typename Block, int kElems>
void decode_row(const void* row, float* out, std::int64_t cols) {
    const auto* p = static_cast<const std::uint8_t*>(row);
    for (std::int64_t i = 0; i < cols / kElems; ++i) {
        Block block;  // copied: blocks in a file have no alignment
        std::memcpy(&block, p + i * static_cast<std::int64_t>(sizeof(Block)), sizeof(Block));
        decode(block, out + i * kElems);
    }
}

template <typename Convert>
void decode_halves(const void* row, float* out, std::int64_t cols, Convert convert) {
    const auto* p = static_cast<const std::uint8_t*>(row);
    for (std::int64_t i = 0; i < cols; ++i) {
        std::uint16_t h;
        std::memcpy(&h, p + 2 * i, 2);
        out[i] = convert(h);
    }
}

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22);
static_assert(sizeof(BlockQ5_1) == 24 && sizeof(BlockQ8_0) == 34 && sizeof(BlockQ2_K) == 84);
static_assert(sizeof(BlockQ3_K) == 110 && sizeof(BlockQ4_K) == 144 && sizeof(BlockQ5_K) == 176);
static_assert(sizeof(BlockQ6_K) == 210 && sizeof(BlockIQ4_NL) == 18 && sizeof(BlockIQ4_XS) == 136);
static_assert(sizeof(BlockMXFP4) == 17);

}  // namespace

void dequantize_row(DType dtype, const void* row, float* out, std::int64_t cols) {
    switch (dtype) {
        case DType::f32:
            std::memcpy(out, row, static_cast<std::size_t>(cols) * 4);
            return;
        case DType::f16:
            decode_halves(row, out, cols, half_to_float);
            return;
        case DType::bf16:
            decode_halves(row, out, cols, bf16_to_float);
            return;
        case DType::q4_0:
            return decode_row<BlockQ4_0, 32>(row, out, cols);
        case DType::q4_1:
            return decode_row<BlockQ4_1, 32>(row, out, cols);
        case DType::q5_0:
            return decode_row<BlockQ5_0, 32>(row, out, cols);
        case DType::q5_1:
            return decode_row<BlockQ5_1, 32>(row, out, cols);
        case DType::q8_0:
            return decode_row<BlockQ8_0, 32>(row, out, cols);
        case DType::q2_k:
            return decode_row<BlockQ2_K, 256>(row, out, cols);
        case DType::q3_k:
            return decode_row<BlockQ3_K, 256>(row, out, cols);
        case DType::q4_k:
            return decode_row<BlockQ4_K, 256>(row, out, cols);
        case DType::q5_k:
            return decode_row<BlockQ5_K, 256>(row, out, cols);
        case DType::q6_k:
            return decode_row<BlockQ6_K, 256>(row, out, cols);
        case DType::iq4_nl:
            return decode_row<BlockIQ4_NL, 32>(row, out, cols);
        case DType::iq4_xs:
            return decode_row<BlockIQ4_XS, 256>(row, out, cols);
        case DType::mxfp4:
            return decode_row<BlockMXFP4, 32>(row, out, cols);
    }
}

}  // namespace hearth
