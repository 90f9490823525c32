// measure_cpu_roof: what memory and multipliers of this machine give, measured now.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/rung.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Sums 64-bit words from four places of the range, as far apart as a matmul's prefetch streams.
std::uint64_t read_all(const std::uint64_t* p, std::size_t n) {
    std::uint64_t sum[8] = {};
    for (std::size_t i = 0; i + 8 <= n; i += 8)
        for (std::size_t j = 0; j < 8; ++j) sum[j] += p[i + j];
    std::uint64_t total = 0;
    for (const std::uint64_t s : sum) total += s;
    return total;
}

double best_read_gb_s(cpu::ThreadPool& pool, std::vector<std::uint64_t>& data) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(pool.size()) * 8);
    double best = 0;
    for (int round = 0; round < 4; ++round) {
        const auto start = Clock::now();
        pool.run([&](int worker) {
            const std::size_t n = data.size() / static_cast<std::size_t>(pool.size());
            sums[static_cast<std::size_t>(worker) * 8] =
                read_all(data.data() + n * static_cast<std::size_t>(worker), n);
        });
        best = std::max(best, static_cast<double>(data.size() * 8) / seconds_since(start) * 1e-9);
    }
    return best;
}

double best_int8_gops(cpu::ThreadPool& pool, const cpu::Kernels& kernels) {
    double best = 0;
    for (int round = 0; round < 4; ++round) {
        std::vector<double> ops(static_cast<std::size_t>(pool.size()) * 8);
        const auto start = Clock::now();
        pool.run([&](int worker) {
            ops[static_cast<std::size_t>(worker) * 8] = kernels.int8_loop(2'000'000);
        });
        double total = 0;
        for (const double o : ops) total += o;
        best = std::max(best, total / seconds_since(start) * 1e-9);
    }
    return best;
}

}  // namespace

CpuRoof measure_cpu_roof(int n_threads) {
    cpu::ThreadPool pool(std::max(1, n_threads));
    // Larger than the last-level cache of a desktop; a big server's may still hold it.
    std::vector<std::uint64_t> data(std::size_t{512} << 17, 1);
    const cpu::Kernels& kernels = cpu::kernels_for(supported_cpu_isas().back());
    return {best_read_gb_s(pool, data), best_int8_gops(pool, kernels)};
}

}  // namespace hearth
