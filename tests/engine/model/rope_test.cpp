// Rotary tables against long double formulas, and their published corner cases.

#include "engine/model/rope.h"

#include <cmath>

#include <catch2/catch.hpp>

using namespace hearth;

namespace {

/// Largest relative difference of the table from `expected(i)`.
template <typename F>
double worst(const RopeSpec& spec, F expected) {
    double largest = 0;
    for (std::size_t i = 0; i < spec.inv_freq.size(); ++i) {
        const long double e = expected(static_cast<long double>(i));
        largest = std::max(largest, static_cast<double>(std::fabs((spec.inv_freq[i] - e) / e)));
    }
    return largest;
}

// own_pow is within 1 ulp (2^-53 .. 2^-52); scaling adds a few more roundings.
constexpr double kTolerance = 0x1p-49;
const long double kPi = std::acos(-1.0L);

RopeParams params(int n_dims, double base) {
    RopeParams p;
    p.n_dims = n_dims;
    p.base = base;
    return p;
}

}  // namespace

TEST_CASE("Plain frequencies are base^(-2i/n)", "[model][rope]") {
    const double base = GENERATE(10000.0, 100000.0, 500000.0, 1000000.0, 1e7);
    const int n = GENERATE(16, 64, 96, 128, 256);
    const RopeSpec r = make_rope(params(n, base));
    REQUIRE(r.inv_freq.size() == static_cast<std::size_t>(n / 2));
    CHECK(r.inv_freq[0] == 1.0);
    CHECK(r.magnitude == 1.0f);
    CHECK(worst(r, [&](long double i) {
              return std::pow(static_cast<long double>(base), -2 * i / n);
          }) < kTolerance);
}

TEST_CASE("The own logarithm agrees with long double", "[model][rope]") {
    for (const double x : {1e-6, 0.3, 0.5, 0.999, 1.0, 1.5, 2.0, 31.9, 8192.0, 1e6, 131072.0}) {
        const auto e = static_cast<double>(std::log(static_cast<long double>(x)));
        CHECK(std::fabs(own_log(x) - e) <= 4 * 0x1p-53 * std::max(1.0, std::fabs(e)));
    }
}

TEST_CASE("Linear scaling divides", "[model][rope]") {
    RopeParams p = params(64, 10000);
    p.scaling = RopeScaling::linear;
    p.factor = 8;
    CHECK(worst(make_rope(p), [](long double i) { return std::pow(10000.0L, -2 * i / 64) / 8; }) <
          kTolerance);
}

TEST_CASE("Llama 3 scaling keeps short waves and divides long ones", "[model][rope]") {
    RopeParams p = params(128, 500000);
    p.scaling = RopeScaling::llama3;
    p.factor = GENERATE(8.0, 32.0);
    p.original_context = 8192;
    const RopeSpec r = make_rope(p);
    int kept = 0, divided = 0, between = 0;
    CHECK(worst(r, [&](long double i) {
              const long double f = std::pow(500000.0L, -2 * i / 128);
              const long double lambda = 2 * kPi / f;
              if (lambda < 8192.0L / 4) return ++kept, f;
              if (lambda > 8192.0L / 1) return ++divided, f / p.factor;
              const long double s = (8192 / lambda - 1) / (4 - 1);
              return ++between, (1 - s) * f / p.factor + s * f;
          }) < kTolerance);
    CHECK(kept == 29);
    CHECK(between == 6);
    CHECK(divided == 29);
}

TEST_CASE("YaRN interpolates by parts", "[model][rope]") {
    // Qwen2.5 with factor 4: d 128, base 1e6, 32768 tokens. The borders by hand:
    // dim(32) = 128 ln(32768 / (64 pi)) / (2 ln 1e6) = 23.6, dim(1) = 39.6.
    RopeParams p = params(128, 1e6);
    p.scaling = RopeScaling::yarn;
    p.factor = 4;
    p.original_context = 32768;
    const RopeSpec r = make_rope(p);
    CHECK(worst(r, [&](long double i) {
              const long double f = std::pow(1e6L, -2 * i / 128);
              const long double ramp = std::min(1.0L, std::max(0.0L, (i - 23) / (40 - 23)));
              return f / 4 * ramp + f * (1 - ramp);
          }) < kTolerance);
    CHECK(r.inv_freq[23] == Approx(std::pow(1e6, -46.0 / 128)).epsilon(1e-14));
    CHECK(r.inv_freq[40] == Approx(std::pow(1e6, -80.0 / 128) / 4).epsilon(1e-14));
}

TEST_CASE("The attention factor: computed, explicit, of two multipliers", "[model][rope]") {
    RopeParams p = params(64, 10000);
    p.scaling = RopeScaling::yarn;
    p.original_context = 4096;
    p.factor = 40;
    const double computed = 0.1 * std::log(40.0) + 1;
    CHECK(make_rope(p).magnitude == Approx(computed).epsilon(1e-6));
    SECTION("an explicit one replaces it") {
        p.attention_factor = 1.25;
        CHECK(make_rope(p).magnitude == 1.25f);
    }
    SECTION("mscale over mscale_all_dim") {
        p.log_multiplier = GENERATE(1.0, 0.707);
        const double expected = computed / (0.1 * p.log_multiplier * std::log(40.0) + 1);
        CHECK(make_rope(p).magnitude == Approx(expected).epsilon(1e-6));
    }
    SECTION("no factor below 1") {
        p.factor = 0.5;
        CHECK(make_rope(p).magnitude == 1.0f);
    }
}

TEST_CASE("LongRoPE divides per dimension and grows the magnitude", "[model][rope]") {
    RopeParams p = params(96, 10000);
    p.scaling = RopeScaling::longrope;
    p.original_context = 4096;
    p.max_context = 131072;
    for (int i = 0; i < 48; ++i) p.divisors.push_back(1.0 + 0.25 * i);
    const RopeSpec r = make_rope(p);
    CHECK(worst(r, [](long double i) {
              return std::pow(10000.0L, -2 * i / 96) / (1 + 0.25L * i);
          }) < kTolerance);
    CHECK(r.magnitude == Approx(std::sqrt(1 + std::log(32.0) / std::log(4096.0))).epsilon(1e-6));
    p.max_context = 4096;
    CHECK(make_rope(p).magnitude == 1.0f);
}
