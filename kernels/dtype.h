#pragma once
// Element types of weights, activations and KV pages: names, GGUF type ids, block geometry.
// Knows bytes; knows no model and no file.

#include <cstdint>
#include <optional>
#include <string_view>

namespace hearth {

/// X(enumerator, name, GGUF type id, elements per block, bytes per block).
/// The one list of weight formats; block layouts are in kernels/quant.h.
#define HEARTH_WEIGHT_FORMATS(X)      \
    X(f32, "F32", 0, 1, 4)            \
    X(f16, "F16", 1, 1, 2)            \
    X(q4_0, "Q4_0", 2, 32, 18)        \
    X(q4_1, "Q4_1", 3, 32, 20)        \
    X(q5_0, "Q5_0", 6, 32, 22)        \
    X(q5_1, "Q5_1", 7, 32, 24)        \
    X(q8_0, "Q8_0", 8, 32, 34)        \
    X(q2_k, "Q2_K", 10, 256, 84)      \
    X(q3_k, "Q3_K", 11, 256, 110)     \
    X(q4_k, "Q4_K", 12, 256, 144)     \
    X(q5_k, "Q5_K", 13, 256, 176)     \
    X(q6_k, "Q6_K", 14, 256, 210)     \
    X(iq4_nl, "IQ4_NL", 20, 32, 18)   \
    X(iq4_xs, "IQ4_XS", 23, 256, 136) \
    X(bf16, "BF16", 30, 1, 2)         \
    X(mxfp4, "MXFP4", 39, 32, 17)

enum class DType : std::uint8_t {
#define X(id, name, gguf, elems, bytes) id,
    HEARTH_WEIGHT_FORMATS(X)
#undef X
};

inline constexpr int kNumDTypes = 0
#define X(id, name, gguf, elems, bytes) +1
    HEARTH_WEIGHT_FORMATS(X)
#undef X
    ;

struct DTypeInfo {
    std::string_view name;  ///< the field's spelling, "Q4_K"
    std::uint32_t gguf_id;  ///< type id in a GGUF tensor record
    int block_elems;        ///< elements per block; a row holds whole blocks
    int block_bytes;        ///< bytes per block
};

/// Not inside the function: a constant array there is copied to the stack at every call.
inline constexpr DTypeInfo kDTypes[] = {
#define X(id, name, gguf, elems, bytes) {name, gguf, elems, bytes},
    HEARTH_WEIGHT_FORMATS(X)
#undef X
};
constexpr const DTypeInfo& dtype_info(DType t) { return kDTypes[static_cast<int>(t)]; }

/// Bytes of one row of `cols` elements; `cols` must be a multiple of the block.
constexpr std::int64_t row_bytes(DType t, std::int64_t cols) {
    const DTypeInfo& i = dtype_info(t);
    return cols / i.block_elems * i.block_bytes;
}

constexpr std::optional<DType> dtype_from_gguf(std::uint32_t id) {
    for (int i = 0; i < kNumDTypes; ++i) {
        const auto t = static_cast<DType>(i);
        if (dtype_info(t).gguf_id == id) return t;
    }
    return std::nullopt;
}

/// Quantized formats go through int8 activations (numeric contract); the others through f32 chains.
constexpr bool is_quantized(DType t) { return dtype_info(t).block_elems > 1; }

}  // namespace hearth
