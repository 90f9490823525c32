// Speed of the matmul of one weight, straight from row-major blocks, all threads.
//   matmul_bench --benchmark_filter=Q4_K
// Weights are 64 MB per format so that one column streams from memory; GB/s is of weight bytes,
// GOPS counts 2 per multiply-add.
#include <map>

#include <benchmark/benchmark.h>

#include "tests/kernels/support.h"

using namespace hearth;

namespace {

const std::vector<std::uint8_t>& weights(DType t, std::int64_t rows, std::int64_t cols) {
    static std::map<std::pair<DType, std::int64_t>, std::vector<std::uint8_t>> cache;
    auto& w = cache[{t, cols}];
    if (w.empty()) {
        test::Rng rng(1);
        const auto one = test::random_weights(t, 64, cols, rng);
        const auto bytes = static_cast<std::size_t>(rows * row_bytes(t, cols));
        while (w.size() < bytes) w.insert(w.end(), one.begin(), one.end());
        w.resize(bytes);
    }
    return w;
}

void matmul(benchmark::State& state, DType t, CpuIsa isa, int threads, std::int64_t cols,
            std::int64_t n) {
    const std::int64_t rows =
        n > 8 ? 2048 : (std::int64_t{256} << 20) / row_bytes(t, cols) / 32 * 32;
    const auto& w = weights(t, rows, cols);
    const auto b = test::backend(isa, threads);
    test::Rng rng(2);
    auto x = test::random_floats(static_cast<std::size_t>(n * cols), rng);
    std::vector<float> y(static_cast<std::size_t>(n * rows));
    for (auto _ : state) {
        b->begin({});
        b->matmul(test::view(y, n), test::view(x, n), {w.data(), t, rows, cols});
        b->run();
    }
    using benchmark::Counter;
    const double bytes = static_cast<double>(rows * row_bytes(t, cols));
    state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
    state.counters["GOPS"] =
        Counter(2e-9 * static_cast<double>(rows * cols * n), Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
    for (const CpuIsa isa : supported_cpu_isas())
        for (const int threads : {1, 2})
            for (const std::int64_t cols : {768, 1536, 8960 / 256 * 256})
                for (const std::int64_t n : {1, 2, 5, 8, 512})
                    for (const DType t : test::all_formats()) {
                        const std::string name = std::string(cpu_isa_name(isa)) + "/t" +
                                                 std::to_string(threads) + "/k" +
                                                 std::to_string(cols) + "/n" + std::to_string(n) +
                                                 "/" + std::string(dtype_info(t).name);
                        benchmark::RegisterBenchmark(name.c_str(), matmul, t, isa, threads, cols, n)
                            ->UseRealTime()
                            ->Unit(benchmark::kMillisecond);
                    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
