// The control against machines whose times and drafters whose acceptance are known.

#include "engine/speculate/control.h"

#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "engine/speculate/speculator.h"

namespace hearth {
namespace {

/// Of one bin; proposes nothing by itself.
class Toy final : public Drafter {
  public:
    explicit Toy(double expected = 0.5, double cost = 0) : expected_(expected), cost_(cost) {}
    const char* name() const override { return "toy"; }
    int n_bins() const override { return 1; }
    double expected_acceptance(int) const override { return expected_; }
    double expected_cost() const override { return cost_; }
    Draft propose(const DraftAsk&) override { return {}; }

  private:
    double expected_, cost_;
};

Draft drafts(int n) {
    Draft d;
    d.ids.assign(static_cast<std::size_t>(n), 1);
    d.bins.assign(static_cast<std::size_t>(n), 0);
    d.drafter = 0;
    return d;
}

/// A machine: time of n rows, plain = 1.
using Cost = double (*)(int n_rows);

StepTimes measured(Cost cost) {
    StepTimes t;
    for (int i = 0; i < 10; ++i) {
        for (int n = 1; n <= StepTimes::kMostRows; ++n) t.measured(n, cost(n));
    }
    return t;
}

struct Outcome {
    double tokens = 0, time = 0;
    double rate() const { return tokens / time; }
};

/// n steps with true acceptance `a` and draft cost `c` per token.
Outcome simulate(Control& control, const StepTimes& times, Cost cost, double a, double c,
                 int n_steps, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::bernoulli_distribution right(a);
    Outcome o;
    for (int i = 0; i < n_steps; ++i) {
        const StepState s{times, 1, 1};
        int k = 0;
        double spent = 0;
        Draft d;
        if (c > 0) {
            if (control.may_ask(s)) {
                while (d.size() < 15 && (d.size() == 0 || control.go_on(d, s))) {
                    d = drafts(d.size() + 1);
                }
                spent = c * d.size();
                control.drafted(d.size(), spent);
                k = control.choose(d, s, spent);
                if (k == 0) control.wasted(s, spent);
            }
        } else {
            d = drafts(15);
            k = control.choose(d, s, 0);
        }
        o.time += spent + cost(1 + k);
        o.tokens += 1;
        if (k == 0) {
            control.plain();
            continue;
        }
        d.resize(k);
        int accepted = 0;
        while (accepted < k && right(random)) ++accepted;
        o.tokens += accepted;
        control.verified(d, accepted, std::min(accepted + 1, k), s, spent);
    }
    return o;
}

double flat(int n) { return 1 + 0.03 * (n - 1); }
double steep(int n) { return 1 + 0.5 * (n - 1); }
double bent(int n) { return n <= 6 ? 1 + 0.04 * (n - 1) : 1.2 + 0.15 * (n - 6); }

/// The best rate that a fixed k could have.
double best_rate(Cost cost, double a, double c) {
    double best = 1;
    for (int k = 1; k <= 15; ++k) {
        const double e = (1 - std::pow(a, k + 1)) / (1 - a);
        best = std::max(best, e / (k * c + cost(1 + k)));
    }
    return best;
}

}  // namespace

TEST_CASE("step times follow what is measured and bridge what is not", "[speculate][control]") {
    StepTimes t;
    CHECK_FALSE(t.knows(1));
    CHECK(t.ms(1) == Approx(1));
    CHECK(t.ms(5) > 1);
    for (int i = 0; i < 10; ++i) t.measured(1, 20);
    CHECK(t.knows(1));
    CHECK(t.ms(1) == Approx(20));
    CHECK(t.ms(5) > 20);
    CHECK(t.ms(5) < 26);
    for (int i = 0; i < 10; ++i) t.measured(5, 60);
    CHECK(t.ms(5) == Approx(60).epsilon(0.1));
    CHECK(t.ms(3) > 30);  // half-way, not measured
    CHECK(t.ms(3) < 50);
    CHECK(t.ms(9) > 80);
    SECTION("one interrupted step changes little, a lasting change is followed") {
        t.measured(1, 2000);
        CHECK(t.ms(1) < 22);
        for (int i = 0; i < 60; ++i) t.measured(1, 40);
        CHECK(t.ms(1) == Approx(40).epsilon(0.05));
    }
    SECTION("a first step with cold caches is not the measure") {
        StepTimes cold;
        cold.measured(1, 500);
        cold.measured(1, 20);
        cold.measured(1, 20);
        CHECK(cold.ms(1) == Approx(20).epsilon(0.2));
    }
}

TEST_CASE("the control comes near the best fixed length", "[speculate][control]") {
    struct Case {
        Cost cost;
        double a, c;
    };
    for (const Case& x :
         {Case{flat, 0.8, 0}, Case{flat, 0.95, 0}, Case{bent, 0.8, 0}, Case{bent, 0.9, 0.3},
          Case{flat, 0.8, 0.3}, Case{bent, 0.95, 0}, Case{steep, 0.97, 0}}) {
        const Toy toy(0.6, x.c);
        Control control(toy);
        const StepTimes times = measured(x.cost);
        simulate(control, times, x.cost, x.a, x.c, 200);  // it learns
        const double rate = simulate(control, times, x.cost, x.a, x.c, 3000, 2).rate();
        CAPTURE(x.a, x.c, rate, best_rate(x.cost, x.a, x.c));
        CHECK(rate > 0.93 * best_rate(x.cost, x.a, x.c));
    }
}

TEST_CASE("drafts that are always wrong cost at most 3 % from the first step on",
          "[speculate][control]") {
    for (const Cost cost : {flat, steep, bent}) {
        for (const double c : {0.0, 0.3}) {
            const Toy toy(0.8, c);  // it is believed at first
            Control control(toy);
            const StepTimes times = measured(cost);
            Outcome all;
            for (int part = 0; part < 10; ++part) {
                const Outcome o = simulate(control, times, cost, 0, c, 100);
                all.tokens += o.tokens;
                all.time += o.time;
            }
            CAPTURE(c, cost(5), all.rate());
            CHECK(all.rate() > 0.97);
        }
    }
}

TEST_CASE("drafts that do not pay are switched off, and on again when they do",
          "[speculate][control]") {
    const Toy toy(0.6, 0.3);
    Control control(toy);
    const StepTimes times = measured(bent);
    simulate(control, times, bent, 0.05, 0.3, 400);
    const Outcome bad = simulate(control, times, bent, 0.05, 0.3, 400);
    CHECK(bad.rate() > 0.97);
    simulate(control, times, bent, 0.9, 0.3, 1500);  // probed with growing pauses
    CHECK(simulate(control, times, bent, 0.9, 0.3, 500).rate() > 1.5);
}

TEST_CASE("acceptance is measured by bin and forgets slowly", "[speculate][control]") {
    const Toy toy(0.5);
    Acceptance a(toy);
    CHECK(a.chance(0) == Approx(0.5));
    const std::vector<std::uint8_t> bins(4, 0);
    for (int i = 0; i < 50; ++i) a.saw(bins, 4, 4);
    CHECK(a.chance(0) > 0.93);
    for (int i = 0; i < 100; ++i) a.saw(bins, 0, 1);
    CHECK(a.chance(0) < 0.15);
    // Nothing is learned about drafts behind the first wrong one.
    Acceptance b(toy);
    b.saw(bins, 1, 2);
    CHECK(b.chance(0) == Approx((4 * 0.5 + 1 * (1 - 1.0 / 48)) / (4 + 1 + (1 - 1.0 / 48))));
}

TEST_CASE("the plain step is measured again now and then", "[speculate][control]") {
    Speculator s(100, [](std::int32_t) { return false; });
    class Eager final : public Drafter {
      public:
        const char* name() const override { return "eager"; }
        int n_bins() const override { return 1; }
        double expected_acceptance(int) const override { return 0.95; }
        Draft propose(const DraftAsk& a) override { return drafts(std::min(a.most_tokens, 8)); }
    };
    s.add(std::make_unique<Eager>());
    SpeculationTurn turn;
    const std::string talk = "a";
    const std::vector<std::int32_t> history(10, 1);
    const SamplingParams sampling;
    const std::atomic<bool> stop{false};
    int n_plain = 0, n_late = 0;
    for (int i = 0; i < 600; ++i) {
        const Draft d = s.propose(turn, {talk, history, sampling, 20, {}, stop}, 1, 1);
        n_plain += d.size() == 0 ? 1 : 0;
        n_late += d.size() == 0 && i > 100 ? 1 : 0;
        s.ran(1 + d.size(), flat(1 + d.size()));
        s.verified(turn, talk, d, d.size(), d.size(), 1, 1 + d.size(), flat(1 + d.size()));
    }
    CHECK(n_plain >= 10);
    CHECK(n_late <= 12);
    const SpeculationStats stats = s.finish(turn, talk, history);
    CHECK(stats.accepted == stats.drafted);
    // Against the times themselves: nine tokens for flat(9), mostly.
    CHECK(stats.speedup > 6);
    CHECK(stats.speedup < 9);
}

}  // namespace hearth
