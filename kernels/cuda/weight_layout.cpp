// Repacking of weights for the card, tile by tile. Plain C++: its tests need no device.
#include "kernels/cuda/weight_layout.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/quant.h"

namespace hearth::cuda {
namespace {

constexpr std::int64_t kAlign = 256;

std::int64_t aligned(std::int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

int groups_of(DType t, std::int64_t cols) {
    const std::int64_t unit = std::int64_t{kGroupElems} * scale_groups(layout_of(t).scales);
    return static_cast<int>((cols + unit - 1) / unit * (unit / kGroupElems));
}

std::uint32_t load_u32(const std::uint8_t* p) {
    std::uint32_t v;
    std::memcpy(&v, p, 4);
    return v;
}
void store_u32(std::uint8_t* p, std::uint32_t v) { std::memcpy(p, &v, 4); }
void store_u16(std::uint8_t* p, std::uint16_t v) { std::memcpy(p, &v, 2); }

/// 32 nibbles of a simple block.
void nibbles(const std::uint8_t* qs, std::uint8_t* code) {
    for (int j = 0; j < 16; ++j) {
        code[j] = qs[j] & 15;
        code[j + 16] = qs[j] >> 4;
    }
}
void fifth_bits(const std::uint8_t* qh, std::uint8_t* code) {
    const std::uint32_t bits = load_u32(qh);
    for (int j = 0; j < 32; ++j)
        code[j] = static_cast<std::uint8_t>(code[j] | ((bits >> j) & 1u) << 4);
}

/// What a row's decoder fills: codes of all elements, scale records.
struct RowOut {
    std::uint8_t* code;
    std::uint8_t* scale;  ///< record of this row in the first unit
    std::uint8_t* extra;
    std::int64_t scale_step, extra_step;  ///< bytes from unit to unit

    std::uint8_t* half_at(std::int64_t block) const {
        return scale + block / 4 * scale_step + block % 4 * 2;
    }
    std::uint8_t* min_at(std::int64_t block) const {
        return extra + block / 4 * extra_step + block % 4 * 2;
    }
    std::uint8_t* scale_at(std::int64_t unit) const { return scale + unit * scale_step; }
    std::uint8_t* extra_at(std::int64_t unit) const { return extra + unit * extra_step; }
};

void unpack(const BlockQ4_0& b, std::int64_t i, const RowOut& out) {
    nibbles(b.qs, out.code + 32 * i);
    store_u16(out.half_at(i), b.d);
}
void unpack(const BlockQ4_1& b, std::int64_t i, const RowOut& out) {
    nibbles(b.qs, out.code + 32 * i);
    store_u16(out.half_at(i), b.d);
    store_u16(out.min_at(i), b.m);
}
void unpack(const BlockQ5_0& b, std::int64_t i, const RowOut& out) {
    nibbles(b.qs, out.code + 32 * i);
    fifth_bits(b.qh, out.code + 32 * i);
    store_u16(out.half_at(i), b.d);
}
void unpack(const BlockQ5_1& b, std::int64_t i, const RowOut& out) {
    nibbles(b.qs, out.code + 32 * i);
    fifth_bits(b.qh, out.code + 32 * i);
    store_u16(out.half_at(i), b.d);
    store_u16(out.min_at(i), b.m);
}
void unpack(const BlockQ8_0& b, std::int64_t i, const RowOut& out) {
    std::memcpy(out.code + 32 * i, b.qs, 32);
    store_u16(out.half_at(i), b.d);
}
void unpack(const BlockIQ4_NL& b, std::int64_t i, const RowOut& out) {
    nibbles(b.qs, out.code + 32 * i);
    store_u16(out.half_at(i), b.d);
}
void unpack(const BlockMXFP4& b, std::int64_t i, const RowOut& out) {
    nibbles(b.qs, out.code + 32 * i);
    store_u16(out.half_at(i), float_to_bf16(mxfp4_scale(b.e)));
}
void unpack(const BlockQ2_K& b, std::int64_t i, const RowOut& out) {
    std::uint8_t* code = out.code + 256 * i;
    for (int k = 0; k < 256; ++k)
        code[k] = (b.qs[32 * (k / 128) + k % 32] >> (2 * (k % 128 / 32))) & 3;
    std::memcpy(out.scale_at(i), b.scales, 16);
    store_u16(out.extra_at(i), b.d);
    store_u16(out.extra_at(i) + 2, b.dmin);
}
void unpack(const BlockQ3_K& b, std::int64_t i, const RowOut& out) {
    std::uint8_t* code = out.code + 256 * i;
    for (int k = 0; k < 256; ++k) {
        const int half = k / 128, group = k % 128 / 32, l = k % 32;
        const int low = (b.qs[32 * half + l] >> (2 * group)) & 3;
        code[k] = static_cast<std::uint8_t>(low | ((b.hmask[l] >> (4 * half + group)) & 1) << 2);
    }
    for (int j = 0; j < 16; ++j) {
        const int low = j < 8 ? b.scales[j] & 15 : b.scales[j - 8] >> 4;
        const int sc = low | ((b.scales[8 + j % 4] >> (2 * (j / 4))) & 3) << 4;
        out.scale_at(i)[j] = static_cast<std::uint8_t>(sc - 32);
    }
    store_u16(out.extra_at(i), b.d);
}
/// Codes of Q4_K and Q5_K without their fifth bit; the 16 header bytes as they are.
template <typename Block>
void unpack_k(const Block& b, std::int64_t i, const RowOut& out) {
    std::uint8_t* code = out.code + 256 * i;
    for (int k = 0; k < 256; ++k)
        code[k] = (b.qs[32 * (k / 64) + k % 32] >> (4 * (k / 32 % 2))) & 15;
    store_u16(out.scale_at(i), b.d);
    store_u16(out.scale_at(i) + 2, b.dmin);
    std::memcpy(out.scale_at(i) + 4, b.scales, 12);
}
void unpack(const BlockQ4_K& b, std::int64_t i, const RowOut& out) { unpack_k(b, i, out); }
void unpack(const BlockQ5_K& b, std::int64_t i, const RowOut& out) {
    unpack_k(b, i, out);
    std::uint8_t* code = out.code + 256 * i;
    for (int k = 0; k < 256; ++k)
        code[k] = static_cast<std::uint8_t>(code[k] | ((b.qh[k % 32] >> (k / 32)) & 1) << 4);
}
void unpack(const BlockQ6_K& b, std::int64_t i, const RowOut& out) {
    std::uint8_t* code = out.code + 256 * i;
    for (int k = 0; k < 256; ++k) {
        const int half = k / 128, group = k % 128 / 32, l = k % 32;
        const int byte = b.ql[64 * half + 32 * (group % 2) + l];
        const int low = group < 2 ? byte & 15 : byte >> 4;
        code[k] = static_cast<std::uint8_t>(low | ((b.qh[32 * half + l] >> (2 * group)) & 3) << 4);
    }
    std::memcpy(out.scale_at(i), b.scales, 16);
    store_u16(out.extra_at(i), b.d);
}
void unpack(const BlockIQ4_XS& b, std::int64_t i, const RowOut& out) {
    for (int sub = 0; sub < 8; ++sub) {
        nibbles(b.qs + 16 * sub, out.code + 256 * i + 32 * sub);
        const int low = (b.scales_l[sub / 2] >> (4 * (sub % 2))) & 15;
        const int sc = (low | ((b.scales_h >> (2 * sub)) & 3) << 4) - 32;
        out.scale_at(i)[sub] = static_cast<std::uint8_t>(sc);
    }
    store_u16(out.extra_at(i), b.d);
}

template <typename Block, int kElems>
void unpack_row(const std::uint8_t* row, std::int64_t cols, const RowOut& out) {
    for (std::int64_t i = 0; i < cols / kElems; ++i) {
        Block block;
        std::memcpy(&block, row + i * static_cast<std::int64_t>(sizeof(Block)), sizeof(Block));
        unpack(block, i, out);
    }
}

void unpack_any(DType t, const std::uint8_t* row, std::int64_t cols, const RowOut& out) {
    switch (t) {
        case DType::q4_0:
            return unpack_row<BlockQ4_0, 32>(row, cols, out);
        case DType::q4_1:
            return unpack_row<BlockQ4_1, 32>(row, cols, out);
        case DType::q5_0:
            return unpack_row<BlockQ5_0, 32>(row, cols, out);
        case DType::q5_1:
            return unpack_row<BlockQ5_1, 32>(row, cols, out);
        case DType::q8_0:
            return unpack_row<BlockQ8_0, 32>(row, cols, out);
        case DType::q2_k:
            return unpack_row<BlockQ2_K, 256>(row, cols, out);
        case DType::q3_k:
            return unpack_row<BlockQ3_K, 256>(row, cols, out);
        case DType::q4_k:
            return unpack_row<BlockQ4_K, 256>(row, cols, out);
        case DType::q5_k:
            return unpack_row<BlockQ5_K, 256>(row, cols, out);
        case DType::q6_k:
            return unpack_row<BlockQ6_K, 256>(row, cols, out);
        case DType::iq4_nl:
            return unpack_row<BlockIQ4_NL, 32>(row, cols, out);
        case DType::iq4_xs:
            return unpack_row<BlockIQ4_XS, 256>(row, cols, out);
        case DType::mxfp4:
            return unpack_row<BlockMXFP4, 32>(row, cols, out);
        default:
            return;
    }
}

/// The words of lane (row, t) of one group: four codes each, first and second of four blocks.
void pack_lane(const LayoutTraits& l, const std::uint8_t* code, const TileOut& out,
               std::int64_t at) {
    std::uint32_t base[8] = {}, high[2] = {};
    const int low_bits = l.base == Base::two ? 2 : 4;
    const std::uint32_t low_mask = l.base == Base::two ? 0x03030303u : 0x0f0f0f0fu;
    for (int b = 0; b < 4; ++b) {
        const std::uint32_t first = load_u32(code + 32 * b), second = load_u32(code + 32 * b + 16);
        if (l.base == Base::eight) {
            base[2 * b] = first;
            base[2 * b + 1] = second;
            continue;
        }
        const std::uint32_t f = first & low_mask, s = second & low_mask;
        if (l.base == Base::nibble)
            base[b] = f | s << 4;
        else
            base[b / 2] |= (f | s << 2) << (4 * (b % 2));
        const std::uint32_t hf = first >> low_bits, hs = second >> low_bits;
        if (l.high == High::one)
            high[0] |= ((hf & 0x01010101u) | (hs & 0x01010101u) << 1) << (2 * b);
        else if (l.high == High::two)
            high[b / 2] |= ((hf & 0x03030303u) | (hs & 0x03030303u) << 2) << (4 * (b % 2));
    }
    if (l.base == Base::eight) {
        // [row half][b / 2][lane]: 32 lanes between the two halves of a lane's blocks
        const std::int64_t pair = at / 32 * 64 + at % 32;
        std::memcpy(out.base + pair * 16, base, 16);
        std::memcpy(out.base + (pair + 32) * 16, base + 4, 16);
    } else {
        const int bytes = base_bytes(l.base);
        std::memcpy(out.base + at * bytes, base, static_cast<std::size_t>(bytes));
    }
    if (l.high == High::one) store_u32(out.high + at * 4, high[0]);
    if (l.high == High::two) std::memcpy(out.high + at * 8, high, 8);
}

}  // namespace

int slices_of(DType dtype, std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t kWarps = 2048;  // 16 on each of 128 multiprocessors
    const std::int64_t tiles = (rows + kTileRows - 1) / kTileRows;
    const std::int64_t units =
        is_quantized(dtype) ? groups_of(dtype, cols) / scale_groups(layout_of(dtype).scales) : 1;
    int slices = 1;
    while (slices < kMostSlices && tiles * slices < kWarps && 2 * slices <= units) slices *= 2;
    return slices;
}

std::int64_t PlaneBytes::offset_high() const { return aligned(base); }
std::int64_t PlaneBytes::offset_scale() const { return offset_high() + aligned(high); }
std::int64_t PlaneBytes::offset_extra() const { return offset_scale() + aligned(scale); }
std::int64_t PlaneBytes::total() const { return offset_extra() + aligned(extra); }

PlaneBytes plane_bytes(const TensorView& w) {
    if (!is_quantized(w.dtype)) return {w.rows * row_bytes(w.dtype, (w.cols + 7) / 8 * 8), 0, 0, 0};
    const LayoutTraits l = layout_of(w.dtype);
    const std::int64_t tiles = (w.rows + kTileRows - 1) / kTileRows;
    const std::int64_t groups = tiles * groups_of(w.dtype, w.cols);
    const std::int64_t records = groups / scale_groups(l.scales) * kTileRows;
    return {groups * 64 * base_bytes(l.base), groups * 64 * high_bytes(l.high),
            records * scale_bytes(l.scales), records * extra_bytes(l.scales)};
}

DeviceWeight device_weight(const TensorView& w, void* memory) {
    auto* p = static_cast<std::uint8_t*>(memory);
    const PlaneBytes bytes = plane_bytes(w);
    DeviceWeight d;
    d.base = p;
    d.rows = w.rows;
    d.cols = w.cols;
    d.dtype = w.dtype;
    d.slices = slices_of(w.dtype, w.rows, w.cols);
    d.tiles = static_cast<int>((w.rows + kTileRows - 1) / kTileRows);
    if (!is_quantized(w.dtype)) {
        d.row_elems = (w.cols + 7) / 8 * 8;
        return d;
    }
    d.high = p + bytes.offset_high();
    d.scale = p + bytes.offset_scale();
    d.extra = p + bytes.offset_extra();
    d.groups = groups_of(w.dtype, w.cols);
    return d;
}

void repack_tile(const TensorView& w, std::int64_t tile, const TileOut& out) {
    const LayoutTraits l = layout_of(w.dtype);
    const int groups = groups_of(w.dtype, w.cols);
    const int units = groups / scale_groups(l.scales);
    const std::int64_t stride = row_bytes(w.dtype, w.cols);
    const int scale = scale_bytes(l.scales), extra = extra_bytes(l.scales);
    std::memset(out.scale, 0, static_cast<std::size_t>(units * kTileRows * scale));
    if (extra > 0) std::memset(out.extra, 0, static_cast<std::size_t>(units * kTileRows * extra));
    std::vector<std::uint8_t> code(static_cast<std::size_t>(groups) * kGroupElems);
    for (int r = 0; r < kTileRows; ++r) {
        const std::int64_t row = tile * kTileRows + r;
        std::fill(code.begin(), code.end(), std::uint8_t{0});
        if (row < w.rows) {
            const RowOut to{code.data(), out.scale + r * scale, out.extra + r * extra,
                            std::int64_t{kTileRows} * scale, std::int64_t{kTileRows} * extra};
            unpack_any(w.dtype, static_cast<const std::uint8_t*>(w.data) + row * stride, w.cols,
                       to);
        }
        for (int g = 0; g < groups; ++g) {
            for (int t = 0; t < 4; ++t) {
                const std::int64_t at = (std::int64_t{g} * 2 + r / 8) * 32 + r % 8 * 4 + t;
                pack_lane(l, code.data() + g * kGroupElems + 4 * t, out, at);
            }
        }
    }
}

}  // namespace hearth::cuda
