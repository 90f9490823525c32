#pragma once
// The one header a kernel file includes. nvcc sees plain CUDA; any other C++ compiler sees the SIMT
// emulator (tests/simt) with the same names. What that asks of a kernel: README.md, "rules".

#if defined(__CUDACC__)
#define SIMT_EMU 0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/// Static shared array: SMEM(float, part, [8][33]);
#define SMEM(T, name, ...) __shared__ T name __VA_ARGS__

namespace simt {
/// 80, 90 … of the code being compiled, for choices of speed alone; 0 for the host.
#if defined(__CUDA_ARCH__)
inline constexpr int kArchitecture = __CUDA_ARCH__ / 10;
#else
inline constexpr int kArchitecture = 0;
#endif
__device__ __forceinline__ unsigned char* dyn_smem() {
    extern __shared__ __align__(128) unsigned char simt_dyn_smem_raw[];
    return simt_dyn_smem_raw;
}
}  // namespace simt
#else
#define SIMT_EMU 1
#include "simt_emu.h"
namespace simt {
inline constexpr int kArchitecture = 0;
}
#endif

#include "kernels/cuda/launch.h"
#include "kernels/cuda/ptx.h"
