// Own exp, tanh, pow, sin, cos against long double.
#include "kernels/math.h"

#include <cmath>

#include <catch2/catch.hpp>

#include "kernels/cpu/rung.h"
#include "tests/kernels/support.h"

using namespace hearth;
using namespace hearth::test;

namespace {

/// |got - exact| in units of the last place of a float near exact.
double float_ulps(float got, long double exact) {
    const float near = static_cast<float>(exact);
    const double ulp =
        std::max(std::nextafter(std::fabs(near), HUGE_VALF) - std::fabs(near), 0x1p-149f);
    return static_cast<double>(std::fabs(static_cast<long double>(got) - exact)) / ulp;
}

}  // namespace

TEST_CASE("exp and tanh have their stated error and the same bits on every rung",
          "[kernel][math]") {
    std::vector<float> x;
    for (int i = -105 * 512; i < 89 * 512; ++i) x.push_back(static_cast<float>(i) / 512.0f + 1e-5f);
    for (float f = 1e-30f; f < 1.0f; f *= 1.01f) {
        x.push_back(f);
        x.push_back(-f);
    }
    x.insert(x.end(), {0.0f, -0.0f, 1000.0f, -1000.0f, std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()});
    const auto n = static_cast<std::int64_t>(x.size());
    std::vector<float> e0, t0;
    double worst_exp = 0, worst_tanh = 0;
    for (const CpuIsa isa : supported_cpu_isas()) {
        const cpu::Kernels& k = cpu::kernels_for(isa);
        std::vector<float> e(x.size()), t(x.size());
        k.exp_array(x.data(), e.data(), n);
        k.tanh_array(x.data(), t.data(), n);
        if (e0.empty()) {
            e0 = e;
            t0 = t;
        }
        INFO(cpu_isa_name(isa));
        CHECK(same_bits(e, e0));
        CHECK(same_bits(t, t0));
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] > 88.7f) continue;
        const long double exact = std::exp(static_cast<long double>(x[i]));
        if (exact > 1.2e-38L) worst_exp = std::max(worst_exp, float_ulps(e0[i], exact));
        worst_tanh =
            std::max(worst_tanh, float_ulps(t0[i], std::tanh(static_cast<long double>(x[i]))));
    }
    CHECK(worst_exp < 1.0);
    CHECK(worst_tanh < 2.0);
    const std::size_t special = x.size() - 6;
    CHECK(e0[special] == 1.0f);
    CHECK(e0[special + 1] == 1.0f);
    CHECK(std::isinf(e0[special + 2]));
    CHECK(e0[special + 3] == 0.0f);
    CHECK(std::isinf(e0[special + 4]));
    CHECK(e0[special + 5] == 0.0f);
    CHECK(t0[special + 4] == 1.0f);
    CHECK(t0[special + 5] == -1.0f);
}

TEST_CASE("own_pow and own_sincos have their stated error", "[kernel][math]") {
    double worst = 0;
    for (const double base : {10000.0, 1000000.0, 500000.0, 10.0, 2.0, 0.3, 1.0, 1.5, 8192.0}) {
        for (int i = -300; i <= 300; ++i) {
            const double y = i / 128.0;
            const long double exact =
                std::pow(static_cast<long double>(base), static_cast<long double>(y));
            const double got = own_pow(base, y);
            const double ulp =
                std::nextafter(static_cast<double>(exact), 1e300) - static_cast<double>(exact);
            worst = std::max(worst, static_cast<double>(std::fabs(got - exact)) / ulp);
        }
    }
    CHECK(worst < 1.01);
    CHECK(own_pow(10000.0, 0.0) == 1.0);
    double worst_angle = 0;
    Rng rng(6);
    for (int i = 0; i < 200000; ++i) {
        const double range = std::ldexp(1.0, static_cast<int>(rng() % 27));
        const double x = (static_cast<double>(rng()) / 4294967296.0 * 2 - 1) * range;
        const SinCos got = own_sincos(x);
        worst_angle = std::max(
            {worst_angle,
             static_cast<double>(std::fabs(got.sin - std::sin(static_cast<long double>(x)))),
             static_cast<double>(std::fabs(got.cos - std::cos(static_cast<long double>(x))))});
    }
    CHECK(worst_angle < 0x1p-52);
    CHECK(own_sincos(0.0).cos == 1.0);
}
