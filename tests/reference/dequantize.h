#pragma once
// Weights of GGUF files in double precision, written from the format's description
// (specs/gguf-and-quants.md section 3). Independent of kernels/quant.h: shares its list of types
// only.

#include <vector>

#include "kernels/tensor.h"
#include "tests/reference/ops.h"

namespace hearth::reference {

/// Row-major values of a whole tensor.
Matrix dequantize(const TensorView& tensor);
std::vector<double> dequantize_row(const TensorView& tensor, std::int64_t row);

/// To IEEE half and back, nearest even.
double round_to_half(double x);

}  // namespace hearth::reference
