// Row and element ops and attention tiles, rung scalar.
#include <cstdint>

#include "kernels/cpu/rung.h"
#include "kernels/quant.h"

namespace hearth::cpu {
namespace {
// clang-format off
#include "kernels/cpu/rungs/simd_scalar.h"
#include "kernels/cpu/rungs/scale.h"
#include "kernels/cpu/rungs/vmath.h"
#include "kernels/cpu/rungs/rows.h"
#include "kernels/cpu/rungs/attention.h"
// clang-format on
}  // namespace

void fill_rows_scalar(Kernels& k) { fill_rows(k); }

}  // namespace hearth::cpu
