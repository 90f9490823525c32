#include "tests/reference/dequantize.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace hearth::reference {

namespace {

using Byte = unsigned char;

double half(const Byte* p) {
    const int bits = p[0] | p[1] << 8;
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double single(const Byte* p) {
    float f = 0;
    std::memcpy(&f, p, 4);
    return f;
}

double brain(const Byte* p) {
    const Byte wide[4] = {0, 0, p[0], p[1]};
    return single(wide);
}

int low(int b) { return b & 15; }
int high(int b) { return b >> 4; }
int bit(int b, int i) { return b >> i & 1; }

const int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int kFp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Element i of a 32-element nibble block: low nibbles first.
int nibble(const Byte* qs, int i) { return i < 16 ? low(qs[i]) : high(qs[i - 16]); }
/// Bit i of the little-endian 32-bit word.
int word_bit(const Byte* p, int i) { return bit(p[i / 8], i % 8); }

/// Scale and min j of the 12 bytes of Q4_K and Q5_K.
int scale6(const Byte* s, int j) {
    return j < 4 ? s[j] & 63 : low(s[j + 4]) | (s[j - 4] >> 6) << 4;
}
int min6(const Byte* s, int j) { return j < 4 ? s[j + 4] & 63 : high(s[j + 4]) | (s[j] >> 6) << 4; }

double q2_k(const Byte* b, int i) {
    const int sub = b[i / 16];
    const int q = b[16 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    return half(b + 80) * low(sub) * q - half(b + 82) * high(sub);
}

double q3_k(const Byte* b, int i) {
    const Byte* s = b + 96;
    const int j = i / 16;
    const int low4 = j < 8 ? low(s[j]) : high(s[j - 8]);
    const int scale = low4 | (s[8 + j % 4] >> (j / 4 * 2) & 3) << 4;
    const int q = b[32 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    const int third = bit(b[i % 32], i / 32);
    return half(b + 108) * (scale - 32) * (q - (third ? 0 : 4));
}

double q4_k(const Byte* b, int i) {
    const int packed = b[16 + i / 64 * 32 + i % 32];
    const int q = i % 64 < 32 ? low(packed) : high(packed);
    return half(b) * scale6(b + 4, i / 32) * q - half(b + 2) * min6(b + 4, i / 32);
}

double q5_k(const Byte* b, int i) {
    const int packed = b[48 + i / 64 * 32 + i % 32];
    const int q = (i % 64 < 32 ? low(packed) : high(packed)) | bit(b[16 + i % 32], i / 32) << 4;
    return half(b) * scale6(b + 4, i / 32) * q - half(b + 2) * min6(b + 4, i / 32);
}

double q6_k(const Byte* b, int i) {
    const int part = i / 128, group = i % 128 / 32, l = i % 32;
    const int packed = b[part * 64 + l + group % 2 * 32];
    const int upper = b[128 + part * 32 + l] >> (2 * group) & 3;
    const int q = (group < 2 ? low(packed) : high(packed)) | upper << 4;
    const int scale = static_cast<signed char>(b[192 + part * 8 + group * 2 + l / 16]);
    return half(b + 208) * scale * (q - 32);
}

double iq4_xs(const Byte* b, int i) {
    const int sub = i / 32;
    const int upper = (b[2] | b[3] << 8) >> (2 * sub) & 3;
    const int lower = sub % 2 ? high(b[4 + sub / 2]) : low(b[4 + sub / 2]);
    return half(b) * ((lower | upper << 4) - 32) * kIq4[nibble(b + 8 + sub * 16, i % 32)];
}

double element(DType dtype, const Byte* b, int i) {
    switch (dtype) {
        case DType::f32:
            return single(b);
        case DType::f16:
            return half(b);
        case DType::bf16:
            return brain(b);
        case DType::q4_0:
            return half(b) * (nibble(b + 2, i) - 8);
        case DType::q4_1:
            return half(b) * nibble(b + 4, i) + half(b + 2);
        case DType::q5_0:
            return half(b) * ((nibble(b + 6, i) | word_bit(b + 2, i) << 4) - 16);
        case DType::q5_1:
            return half(b) * (nibble(b + 8, i) | word_bit(b + 4, i) << 4) + half(b + 2);
        case DType::q8_0:
            return half(b) * static_cast<signed char>(b[2 + i]);
        case DType::q2_k:
            return q2_k(b, i);
        case DType::q3_k:
            return q3_k(b, i);
        case DType::q4_k:
            return q4_k(b, i);
        case DType::q5_k:
            return q5_k(b, i);
        case DType::q6_k:
            return q6_k(b, i);
        case DType::iq4_nl:
            return half(b) * kIq4[nibble(b + 2, i)];
        case DType::iq4_xs:
            return iq4_xs(b, i);
        case DType::mxfp4:
            return std::ldexp(kFp4[nibble(b + 1, i)], b[0] - 128);
    }
    std::abort();
}

}  // namespace

std::vector<double> dequantize_row(const TensorView& t, std::int64_t row) {
    const DTypeInfo info = dtype_info(t.dtype);
    const Byte* p = static_cast<const Byte*>(t.data) + row * row_bytes(t.dtype, t.cols);
    std::vector<double> out(static_cast<std::size_t>(t.cols));
    for (int i = 0; i < t.cols; ++i) {
        out[static_cast<std::size_t>(i)] =
            element(t.dtype, p + i / info.block_elems * info.block_bytes, i % info.block_elems);
    }
    return out;
}

Matrix dequantize(const TensorView& t) {
    Matrix m(static_cast<int>(t.rows), static_cast<int>(t.cols));
    for (int r = 0; r < m.rows; ++r) {
        const std::vector<double> row = dequantize_row(t, r);
        for (int c = 0; c < m.cols; ++c) m.at(r, c) = row[static_cast<std::size_t>(c)];
    }
    return m;
}

double round_to_half(double x) {
    if (x == 0) return x;
    int exponent = 0;
    (void)std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
    const int step = exponent - 11 < -24 ? -24 : exponent - 11;
    return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}

}  // namespace hearth::reference
