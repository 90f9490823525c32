// matmul, rung scalar: the shared sources compiled with this rung's vectors and flags.
#include <cstdint>

#include "kernels/cpu/rung.h"
#include "kernels/quant.h"

namespace hearth::cpu {
namespace {
// clang-format off
#include "kernels/cpu/rungs/simd_scalar.h"

#include "kernels/cpu/rungs/unpack.h"
#include "kernels/cpu/rungs/unpack_k.h"
#include "kernels/cpu/rungs/unpack_float.h"
#include "kernels/cpu/rungs/quantize.h"
#include "kernels/cpu/rungs/panel.h"
// clang-format on
}  // namespace

void fill_matmul_scalar(Kernels& k) { fill_matmul(k); }

}  // namespace hearth::cpu
