#pragma once
// How a quantized weight lies on the card: planes in the order in which the lanes of a warp want
// their matrix fragments, each read with aligned 64- or 128-bit loads. Same bits per weight as the
// file, except Q3_K, IQ4_XS and MXFP4 (scales widened to bytes or bf16).
//
// A tile is 16 rows, a group 128 elements of K (four blocks of 32). In a group, lane 4 * g + t
// holds of rows g and g + 8 the elements 4t..4t+3 ("first") and 16+4t..16+4t+3 ("second") of every
// block: the registers of mma.m16n8k32. Rows and groups are padded with zeros.
//
//   base    [tile][group][row half][lane]   nibble 16 bytes: word b = block b, first in the low
//           nibbles, second in the high ones; two 8 bytes: word b/2, bits 4(b%2) first, +2 second;
//           eight 2 x 16 bytes [tile][group][row half][b/2][lane]: words b%2: first, second
//   high    [tile][group][row half][lane]   one 4 bytes: bit 2b first, 2b+1 second; two as above
//   scale, extra  [tile][group, or 256 elements][row]  see Scales

#include <cstdint>

#include "kernels/dtype.h"
#include "kernels/tensor.h"

namespace hearth::cuda {

inline constexpr int kTileRows = 16;
inline constexpr int kGroupElems = 128;
inline constexpr int kMostSlices = 8;

enum class Base : std::uint8_t { nibble, two, eight };
enum class High : std::uint8_t { none, one, two };
enum class Table : std::uint8_t { none, iq4, mxfp4 };
enum class Scales : std::uint8_t {
    half,      ///< scale: 4 halves d per group
    half_min,  ///< scale: 4 halves d, extra: 4 halves m per group
    bf16,      ///< scale: 4 bf16 per group
    k32_min,   ///< scale: d, dmin and the 12 bytes of Q4_K per 256
    s8_32,     ///< scale: 8 int8 per 256, extra: half d
    s8_16,     ///< scale: 16 int8 per 256, extra: half d
    k16_min,   ///< scale: the 16 bytes of Q2_K per 256, extra: halves d, dmin
};

struct LayoutTraits {
    Base base;
    High high;
    int offset;  ///< weight = code - offset
    Table table;
    Scales scales;
};

/// Layout of a quantized format.
constexpr LayoutTraits layout_of(DType t) {
    switch (t) {
        case DType::q4_0:
            return {Base::nibble, High::none, 8, Table::none, Scales::half};
        case DType::q4_1:
            return {Base::nibble, High::none, 0, Table::none, Scales::half_min};
        case DType::q5_0:
            return {Base::nibble, High::one, 16, Table::none, Scales::half};
        case DType::q5_1:
            return {Base::nibble, High::one, 0, Table::none, Scales::half_min};
        case DType::q2_k:
            return {Base::two, High::none, 0, Table::none, Scales::k16_min};
        case DType::q3_k:
            return {Base::two, High::one, 4, Table::none, Scales::s8_16};
        case DType::q4_k:
            return {Base::nibble, High::none, 0, Table::none, Scales::k32_min};
        case DType::q5_k:
            return {Base::nibble, High::one, 0, Table::none, Scales::k32_min};
        case DType::q6_k:
            return {Base::nibble, High::two, 32, Table::none, Scales::s8_16};
        case DType::iq4_nl:
            return {Base::nibble, High::none, 0, Table::iq4, Scales::half};
        case DType::iq4_xs:
            return {Base::nibble, High::none, 0, Table::iq4, Scales::s8_32};
        case DType::mxfp4:
            return {Base::nibble, High::none, 0, Table::mxfp4, Scales::bf16};
        default:  // q8_0; the unquantized formats have no planes
            return {Base::eight, High::none, 0, Table::none, Scales::half};
    }
}

constexpr int base_bytes(Base b) { return b == Base::nibble ? 16 : b == Base::two ? 8 : 32; }
constexpr int high_bytes(High h) { return h == High::none ? 0 : h == High::one ? 4 : 8; }
/// Groups that one scale record covers.
constexpr int scale_groups(Scales s) {
    return s == Scales::half || s == Scales::half_min || s == Scales::bf16 ? 1 : 2;
}
constexpr int scale_bytes(Scales s) {
    return s == Scales::k32_min || s == Scales::s8_16 || s == Scales::k16_min ? 16 : 8;
}
constexpr int extra_bytes(Scales s) {
    switch (s) {
        case Scales::half_min:
            return 8;
        case Scales::s8_32:
        case Scales::s8_16:
            return 2;
        case Scales::k16_min:
            return 4;
        default:
            return 0;
    }
}
constexpr bool has_min(Scales s) {
    return s == Scales::half_min || s == Scales::k32_min || s == Scales::k16_min;
}
constexpr bool per_16(Scales s) { return s == Scales::s8_16 || s == Scales::k16_min; }

/// A weight on the card. Unquantized: base is [rows][row_elems] of its type, rows padded to 8
/// elements.
struct DeviceWeight {
    const void* base = nullptr;
    const void* high = nullptr;
    const void* scale = nullptr;
    const void* extra = nullptr;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t row_elems = 0;  ///< unquantized: elements from one row to the next
    int tiles = 0;
    int groups = 0;  ///< of 128 elements, K rounded up (to 256 where scales cover 256)
    int slices = 1;  ///< parts of K; a function of the shape only (numeric contract)
    DType dtype = DType::f32;
};

/// Parts of K of a weight: enough (tile, slice) pairs to fill a large card, at most kMostSlices.
int slices_of(DType dtype, std::int64_t rows, std::int64_t cols);

/// Bytes of each plane; 256-byte aligned in memory, one after the other.
struct PlaneBytes {
    std::int64_t base = 0, high = 0, scale = 0, extra = 0;
    std::int64_t total() const;
    std::int64_t offset_high() const;
    std::int64_t offset_scale() const;
    std::int64_t offset_extra() const;
};
PlaneBytes plane_bytes(const TensorView& w);
/// Shape and plane addresses of `w` at `memory`.
DeviceWeight device_weight(const TensorView& w, void* memory);

/// Where the planes of one tile (or, unquantized, rows) go on the host.
struct TileOut {
    std::uint8_t *base, *high, *scale, *extra;
};
/// Tile `tile` of a quantized weight -> its part of each plane, every byte written.
void repack_tile(const TensorView& w, std::int64_t tile, const TileOut& out);

}  // namespace hearth::cuda
