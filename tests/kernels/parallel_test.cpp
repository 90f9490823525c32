// The thread pool: every worker runs, barriers order, and more threads than processors finish.
#include "kernels/cpu/parallel.h"

#include <atomic>
#include <chrono>
#include <deque>

#include <catch2/catch.hpp>

#include "kernels/cpu/unit_share.h"
#include "tests/kernels/support.h"

using namespace hearth;

TEST_CASE("barriers order phases on any count of threads", "[kernel][threads]") {
    const int n = GENERATE(1, 2, 3, 8);
    cpu::ThreadPool pool(n);
    std::vector<int> done(static_cast<std::size_t>(n) * 16);
    bool ordered = true;
    for (int step = 0; step < 20; ++step) {
        std::fill(done.begin(), done.end(), 0);
        pool.run([&](int worker) {
            for (int phase = 1; phase <= 25; ++phase) {
                done[static_cast<std::size_t>(worker) * 16] = phase;
                pool.barrier();
                for (int other = 0; other < n; ++other)
                    if (done[static_cast<std::size_t>(other) * 16] != phase) ordered = false;
                pool.barrier();
            }
        });
    }
    CHECK(ordered);
}

TEST_CASE("every unit is taken once, whoever takes it", "[kernel][threads]") {
    constexpr int kWorkers = 3, kUnits = 1000;
    cpu::ThreadPool pool(kWorkers);
    std::vector<cpu::UnitShare> shares(kWorkers);
    std::deque<std::atomic<int>> taken(kUnits);
    const int slow = GENERATE(-1, 0, 2);  // a worker that does nothing: the others do its share
    for (std::uint32_t op = 1; op <= 200; ++op) {
        for (auto& n : taken) n = 0;
        const std::int64_t units = op % 7 == 0 ? op % 3 : kUnits - op;
        const auto all = [&](int w) {
            return cpu::Range{units * w / kWorkers, units * (w + 1) / kWorkers};
        };
        pool.run([&](int worker) {
            for (int i = 0; i < kWorkers && worker != slow; ++i) {
                const int w = (worker + i) % kWorkers;
                auto& share = shares[static_cast<std::size_t>(w)];
                for (;;) {
                    const auto got =
                        i == 0 ? share.take_front(op, all(w), 2) : share.take_back(op, all(w), 3);
                    if (got.empty()) break;
                    for (auto u = got.first; u < got.last; ++u)
                        ++taken[static_cast<std::size_t>(u)];
                }
            }
        });
        int wrong = 0;
        for (int u = 0; u < kUnits; ++u) wrong += taken[static_cast<std::size_t>(u)] != (u < units);
        REQUIRE(wrong == 0);
    }
}

TEST_CASE("more threads than processors do not collapse", "[kernel][threads]") {
    const int n = 2 * cpu::ThreadPool(1).size() + 7;
    cpu::ThreadPool pool(n);
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < 20; ++step)
        pool.run([&](int) {
            for (int i = 0; i < 100; ++i) pool.barrier();
        });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    CHECK(took.count() < 20.0);  // 2000 barriers; a spinning one would need a time slice each
}

TEST_CASE("thread counts and rungs are reported", "[kernel]") {
    CHECK(default_cpu_threads() >= 1);
    CHECK(supported_cpu_isas().front() == CpuIsa::scalar);
    const auto b = make_cpu_backend({});
    REQUIRE(b != nullptr);
    CHECK(b->info().name == "cpu");
    CHECK(b->info().n_threads == default_cpu_threads());
    for (const CpuIsa isa : {CpuIsa::avx2, CpuIsa::avxvnni, CpuIsa::vnni256, CpuIsa::avx512}) {
        const auto isas = supported_cpu_isas();
        const bool has = std::find(isas.begin(), isas.end(), isa) != isas.end();
        CHECK((test::backend(isa, 1) != nullptr) == has);
    }
}
