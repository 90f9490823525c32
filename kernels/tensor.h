#pragma once
// Views of tensors: pointer, type, shape. They own nothing and never outlive what they point to.

#include <cstdint>

#include "kernels/dtype.h"

namespace hearth {

/// A weight: `rows` outputs of `cols` inputs each, rows contiguous in the block format of `dtype`
/// (GGUF order ne0 = cols, ne1 = rows). A vector is one row. Memory belongs to the mapped file or
/// to a backend buffer.
struct TensorView {
    const void* data = nullptr;
    DType dtype = DType::f32;
    std::int64_t rows = 0;
    std::int64_t cols = 0;

    explicit operator bool() const { return data != nullptr; }
    std::int64_t bytes() const { return rows * row_bytes(dtype, cols); }
    /// Rows [first, first + n): how a fused qkv or gate/up tensor is taken apart.
    TensorView slice_rows(std::int64_t first, std::int64_t n) const {
        const auto* p = static_cast<const std::uint8_t*>(data) + first * row_bytes(dtype, cols);
        return {p, dtype, n, cols};
    }
};

/// Activations: f32, row t at data + t * stride. Memory belongs to whoever allocated it on the
/// backend (engine/model: Activations).
struct MatrixView {
    float* data = nullptr;
    std::int64_t rows = 0;    ///< tokens
    std::int64_t cols = 0;    ///< features
    std::int64_t stride = 0;  ///< floats from one row to the next

    /// The first `n` rows.
    MatrixView top(std::int64_t n) const { return {data, n, cols, stride}; }
};

}  // namespace hearth
