#include "engine/generate/scheduler.h"

#include <numeric>

#include <catch2/catch.hpp>

namespace hearth {
namespace {

struct Toy {
    std::uint64_t id;
    int pending, cached = 0, finished_at = -1;
};

/// Runs prompts to their end; the step in which each ended.
void run(Scheduler& scheduler, std::vector<Toy>& toys, int chunk) {
    for (int step = 0; step < 10000; ++step) {
        std::vector<Scheduler::Waiting> waiting;
        std::vector<Toy*> active;
        for (Toy& t : toys) {
            if (t.pending == 0) continue;
            waiting.push_back({t.id, t.pending, t.cached});
            active.push_back(&t);
        }
        if (waiting.empty()) return;
        const auto counts = scheduler.plan(waiting, chunk);
        REQUIRE(counts.size() == waiting.size());
        int prompt_rows = 0, rows = 0;
        for (std::size_t i = 0; i < active.size(); ++i) {
            REQUIRE(counts[i] >= 0);
            REQUIRE(counts[i] <= active[i]->pending);
            if (active[i]->pending > 1) prompt_rows += counts[i];
            rows += counts[i];
            active[i]->pending -= counts[i];
            active[i]->cached += counts[i];
            if (active[i]->pending == 0) active[i]->finished_at = step;
        }
        REQUIRE(prompt_rows <= chunk);
        REQUIRE(rows > 0);
    }
    FAIL("it never ends");
}

}  // namespace

TEST_CASE("a short prompt does not wait for a long one", "[generate][scheduler]") {
    Scheduler s;
    std::vector<Toy> toys = {{1, 8000}, {2, 10}};
    run(s, toys, 512);
    CHECK(toys[1].finished_at <= 1);
    CHECK(toys[0].finished_at == 15);  // ceil(8010 / 512): no room is left unused
}

TEST_CASE("prompts take turns, each about as often as the others", "[generate][scheduler]") {
    Scheduler s;
    std::vector<Toy> toys = {{1, 1024}, {2, 1024}, {3, 1024}};
    run(s, toys, 64);
    for (const Toy& t : toys) {
        CHECK(t.finished_at >= 45);
        CHECK(t.finished_at <= 47);
    }
}

TEST_CASE("every sequence that generates is in every step", "[generate][scheduler]") {
    Scheduler s;
    for (int step = 0; step < 20; ++step) {
        const std::vector<Scheduler::Waiting> waiting = {
            {1, 1, 100 + step}, {2, 5000 - 64 * step, 64 * step}, {3, 1, 7 + step}};
        const auto counts = s.plan(waiting, 64);
        CHECK(counts == std::vector<int>{1, 64, 1});
    }
}

TEST_CASE("a part of a prompt ends with a page", "[generate][scheduler]") {
    Scheduler s;
    CHECK(s.plan(std::vector<Scheduler::Waiting>{{1, 1000, 5}}, 64) == std::vector<int>{59});
    CHECK(s.plan(std::vector<Scheduler::Waiting>{{1, 1000, 64}}, 7) == std::vector<int>{7});
    CHECK(s.plan(std::vector<Scheduler::Waiting>{{1, 20, 64}}, 64) == std::vector<int>{20});
    CHECK(s.plan(std::vector<Scheduler::Waiting>{{1, 1000, 0}}, 1) == std::vector<int>{1});
}

TEST_CASE("chunks follow the measured speed", "[generate][scheduler]") {
    SECTION("fixed stays fixed") {
        ChunkSize c(7, 1 << 30);
        c.measured(512, 1);
        CHECK(c.next(false) == 7);
        CHECK(c.next(true) == 7);
        CHECK(c.largest() == 7);
    }
    SECTION("a fast model takes the largest, a slow one what a second holds") {
        ChunkSize fast(0, 98 << 20);
        CHECK(fast.next(false) == 512);
        ChunkSize slow(0, 0);
        for (int i = 0; i < 20; ++i) slow.measured(64, 64 * 10.0);
        CHECK(slow.next(false) == 96);
        CHECK(slow.next(true) == ChunkSize::kSmallest);
        slow.measured(1, 1e6);  // says nothing
        CHECK(slow.next(false) == 96);
    }
}

}  // namespace hearth
