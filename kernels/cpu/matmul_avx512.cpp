// matmul, rung avx512: the shared sources compiled with this rung's vectors and flags.
#include <immintrin.h>

#include "kernels/cpu/rung.h"

namespace hearth::cpu {
namespace {
// clang-format off
#include "kernels/cpu/rungs/simd_avx512.h"

#include "kernels/cpu/rungs/unpack.h"
#include "kernels/cpu/rungs/unpack_k.h"
#include "kernels/cpu/rungs/unpack_float.h"
#include "kernels/cpu/rungs/quantize.h"
#include "kernels/cpu/rungs/panel.h"
// clang-format on
}  // namespace

void fill_matmul_avx512(Kernels& k) { fill_matmul(k); }

}  // namespace hearth::cpu
