// The cards of this machine as the CUDA runtime reports them. The runtime is linked in; the
// driver's library is looked for when the first function is called, and its absence is an answer.
#include <cuda_runtime_api.h>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/device.h"

namespace hearth {
namespace {

/// cp.async and bf16 tensor cores.
constexpr int kOldestArchitecture = 80;
/// Shared memory that a block of the greediest kernel asks for: matmul's panel.
constexpr std::size_t kSharedOfBlock = std::size_t{65} << 10;

std::string version_text(int v) {
    return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
}

std::string reason_of(cudaError_t e, const CardStatus& s) {
    if (e == cudaErrorInsufficientDriver && s.driver == 0)
        return "no NVIDIA driver is installed: the CPU is used";
    if (e == cudaErrorInsufficientDriver)
        return "the NVIDIA driver is too old: it knows CUDA " + version_text(s.driver) +
               ", this build needs " + version_text(s.runtime) + "; the CPU is used";
    if (e == cudaErrorNoDevice) return "no NVIDIA card is in this machine: the CPU is used";
    return std::string("the NVIDIA driver does not answer (") + cudaGetErrorString(e) +
           "): the CPU is used";
}

}  // namespace

CardStatus card_status(int device) {
    CardStatus s;
    if (cudaDriverGetVersion(&s.driver) != cudaSuccess) s.driver = 0;
    if (cudaRuntimeGetVersion(&s.runtime) != cudaSuccess) s.runtime = 0;
    int count = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0) {
        s.text = reason_of(e == cudaSuccess ? cudaErrorNoDevice : e, s);
        cudaGetLastError();
        return s;
    }
    if (device < 0 || device >= count) {
        s.text = "there is no card " + std::to_string(device) + "; this machine has " +
                 std::to_string(count) + ", counted from 0";
        return s;
    }
    cudaDeviceProp p{};
    if (const cudaError_t bad = cudaGetDeviceProperties(&p, device); bad != cudaSuccess) {
        s.text = reason_of(bad, s);
        cudaGetLastError();
        return s;
    }
    s.name = p.name;
    s.architecture = 10 * p.major + p.minor;
    s.n_multiprocessors = p.multiProcessorCount;
    s.memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
    std::size_t free = 0, total = 0;
    const std::string at =
        ", compute capability " + std::to_string(p.major) + "." + std::to_string(p.minor);
    if (s.architecture < kOldestArchitecture) {
        s.text = s.name + at + " is older than the 8.0 that is needed: the CPU is used";
        return s;
    }
    // Some drivers report less than the card has (engine case 122): kernels would not start.
    if (p.sharedMemPerBlockOptin < kSharedOfBlock) {
        s.text = s.name + at + ": its driver offers a block " +
                 std::to_string(p.sharedMemPerBlockOptin >> 10) + " KiB of shared memory, " +
                 std::to_string(kSharedOfBlock >> 10) +
                 " are needed; another version of the driver may help. The CPU is used";
        return s;
    }
    cudaError_t memory = cudaSetDevice(device);
    if (memory == cudaSuccess) memory = cudaMemGetInfo(&free, &total);
    if (memory != cudaSuccess) {
        s.text = s.name + ": " + reason_of(memory, s);
        cudaGetLastError();
        return s;
    }
    s.free_bytes = static_cast<std::int64_t>(free);
    s.is_usable = true;
    s.text = s.name + at + ", " + std::to_string(s.memory_bytes >> 20) + " MiB";
    return s;
}

std::unique_ptr<CardBackend> make_card_backend(const CardOptions& options, std::string& why) {
    const CardStatus s = card_status(options.device);
    if (!s.is_usable) {
        why = s.text;
        return nullptr;
    }
    return std::make_unique<cuda::CudaBackend>(s, options.device);
}

}  // namespace hearth
