// own_pow, own_sincos: double precision, Taylor series after argument reduction, written FMA only.
//
// source    textbook reductions: Cody & Waite 1980 (pi/2, ln 2 in parts); log by atanh series
// oracle    long double libm (tests/kernels/math_test.cpp)
#include "kernels/math.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace hearth {
namespace {

constexpr double kLn2High = 0x1.62e42fefa39efp-1;
constexpr double kLn2Low = 0x1.abc9e3b39803fp-56;

/// An unevaluated sum high + low, |low| below half an ulp of high.
struct Double2 {
    double high, low;
};

Double2 two_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}

/// ln(x), about 2^-68 relative to max(1, |ln x|).
Double2 log2part(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    int e = static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        ++e;
    }
    // ln m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172
    const double num = m - 1.0;  // exact
    const Double2 den = two_sum(m, 1.0);
    const double s = num / den.high;
    const double s_low = (std::fma(-s, den.high, num) - s * den.low) / den.high;
    const double z = s * s;
    double p = 0.0;
    for (int k = 27; k >= 3; k -= 2) p = std::fma(p, z, 1.0 / k);
    const double tail = 2.0 * (s * z * p + s_low);
    const double n = e;
    const double n_ln2 = n * kLn2High;
    const double n_ln2_low = std::fma(n, kLn2High, -n_ln2) + n * kLn2Low;
    const Double2 sum = two_sum(n_ln2, 2.0 * s);
    const Double2 all = two_sum(sum.high, sum.low + n_ln2_low + tail);
    return all;
}

/// e^(high + low)
double exp_parts(Double2 x) {
    const double n = std::rint(x.high * 1.4426950408889634);
    double r = std::fma(-n, kLn2High, x.high);
    r = r + std::fma(-n, kLn2Low, x.low);
    double p = 0.0;
    constexpr double kInverseFactorial[] = {1.0,
                                            1.0,
                                            1.0 / 2,
                                            1.0 / 6,
                                            1.0 / 24,
                                            1.0 / 120,
                                            1.0 / 720,
                                            1.0 / 5040,
                                            1.0 / 40320,
                                            1.0 / 362880,
                                            1.0 / 3628800,
                                            1.0 / 39916800,
                                            1.0 / 479001600.0,
                                            1.0 / 6227020800.0,
                                            1.0 / 87178291200.0};
    for (int k = 14; k >= 2; --k) p = std::fma(p, r, kInverseFactorial[k]);
    const double value = 1.0 + std::fma(p * r, r, r);
    const auto scale = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1023) << 52;
    return value * std::bit_cast<double>(scale);
}

}  // namespace

double own_pow(double base, double exponent) {
    const Double2 l = log2part(base);
    const double high = exponent * l.high;
    const double low = std::fma(exponent, l.high, -high) + exponent * l.low;
    return exp_parts({high, low});
}

SinCos own_sincos(double x) {
    // pi / 2 in three parts: n <= 2^26 leaves an error of about 2^26 * 2^-161
    constexpr double kPart1 = 0x1.921fb54442d18p+0, kPart2 = 0x1.1a62633145c07p-54,
                     kPart3 = -0x1.f1976b7ed8fbcp-110;
    const double n = std::rint(x * 0.6366197723675814);
    const double a = std::fma(-n, kPart1, x);
    const double r = std::fma(-n, kPart2, a);
    const double r_low = std::fma(-n, kPart2, a - r) + -n * kPart3;
    const double z = r * r;
    constexpr double kSin[] = {-1.0 / 6,
                               1.0 / 120,
                               -1.0 / 5040,
                               1.0 / 362880,
                               -1.0 / 39916800,
                               1.0 / 6227020800.0,
                               -1.0 / 1307674368000.0,
                               1.0 / 355687428096000.0};
    constexpr double kCos[] = {-1.0 / 2,
                               1.0 / 24,
                               -1.0 / 720,
                               1.0 / 40320,
                               -1.0 / 3628800,
                               1.0 / 479001600.0,
                               -1.0 / 87178291200.0,
                               1.0 / 20922789888000.0,
                               -1.0 / 6402373705728000.0};
    double ps = 0.0, pc = 0.0;
    for (int k = 7; k >= 0; --k) ps = std::fma(ps, z, kSin[k]);
    for (int k = 8; k >= 0; --k) pc = std::fma(pc, z, kCos[k]);
    // sin(r + e) = sin r + e cos r, cos(r + e) = cos r - e sin r
    const double c0 = std::fma(pc, z, 1.0);
    const double s = r + std::fma(r * z, ps, r_low * c0);
    const double c = std::fma(-r_low, r, c0);
    switch (static_cast<std::int64_t>(n) & 3) {
        case 0:
            return {s, c};
        case 1:
            return {c, -s};
        case 2:
            return {-s, -c};
        default:
            return {-c, s};
    }
}

}  // namespace hearth
