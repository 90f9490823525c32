// Row and element ops and attention tiles, rung avx2.
#include <immintrin.h>

#include "kernels/cpu/rung.h"

namespace hearth::cpu {
namespace {
// clang-format off
#include "kernels/cpu/rungs/simd_256.h"
#include "kernels/cpu/rungs/scale.h"
#include "kernels/cpu/rungs/vmath.h"
#include "kernels/cpu/rungs/rows.h"
#include "kernels/cpu/rungs/attention.h"
// clang-format on
}  // namespace

void fill_rows_avx2(Kernels& k) { fill_rows(k); }

}  // namespace hearth::cpu
