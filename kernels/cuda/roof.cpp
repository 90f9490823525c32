// The best times of the roof's kernels, as bandwidth and operations.
#include "kernels/cuda/roof.h"

#include <algorithm>
#include <chrono>

#include "kernels/card_roof.h"
#include "kernels/cuda/memory.h"
#include "kernels/device.h"

namespace hearth {
namespace {

/// Twice the largest L2 there is.
constexpr std::int64_t kReadBytes = std::int64_t{256} << 20;
constexpr int kRepeats = 3;
/// A launch that takes less says more about launching.
constexpr int kFirstRounds = 64, kMostRounds = 1 << 14;
constexpr double kLongEnough_s = 2e-3;

/// The shortest of some, in seconds: the first ones load the kernels and wake the clocks. 0:
/// failed.
template <typename Launch>
double best_of(const cuda::Stream& stream, const Launch& launch) {
    double best = 0;
    for (int i = 0; i < kRepeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        if (launch() != cudaSuccess || cudaStreamSynchronize(stream.get) != cudaSuccess) return 0;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        if (best == 0 || took.count() < best) best = took.count();
    }
    return best;
}

}  // namespace

CardRoof measure_card_roof(int device) {
    CardRoof roof;
    const CardStatus status = card_status(device);
    if (!status.is_usable || cudaSetDevice(device) != cudaSuccess) return roof;
    const cuda::RoofSizes sizes = cuda::roof_sizes(status.n_multiprocessors);
    const std::int64_t bytes = std::min(kReadBytes, status.free_bytes / 2 / 16 * 16);
    const cuda::Stream stream;
    cuda::DeviceBuffer words, sums;
    if (bytes <= 0 || words.reserve(static_cast<std::size_t>(bytes)) != cudaSuccess ||
        sums.reserve(static_cast<std::size_t>(sizes.sum_bytes)) != cudaSuccess) {
        cudaGetLastError();
        return roof;
    }
    const double read_s = best_of(stream, [&] {
        return cuda::roof_read(words.as<void>(), bytes, sums.as<void>(), sizes.blocks, stream.get);
    });
    int rounds = kFirstRounds;
    const auto multiply = [&] {
        return best_of(stream, [&] {
            return cuda::roof_multiply(rounds, sums.as<void>(), sizes.blocks, stream.get);
        });
    };
    double multiply_s = multiply();
    while (multiply_s > 0 && multiply_s < kLongEnough_s && rounds < kMostRounds) {
        rounds *= 4;
        multiply_s = multiply();
    }
    if (read_s > 0) roof.read_gb_s = static_cast<double>(bytes) * 1e-9 / read_s;
    if (multiply_s > 0)
        roof.int8_gops = static_cast<double>(sizes.ops_per_round * rounds) * 1e-9 / multiply_s;
    return roof;
}

}  // namespace hearth
