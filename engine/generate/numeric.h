#pragma once
// Functions that decide a token: their bits may not depend on a library's version or on the
// compiler's choice of fused multiply-add, so they are own code of plain IEEE additions and
// multiplications.

#include <bit>
#include <cstdint>

namespace hearth {

/// e^x within 2 ulp; 0 below -745, infinity above 709.78; NaN stays NaN.
/// Cody & Waite 1980: x = n ln 2 + r, a Taylor polynomial on |r| <= ln 2 / 2.
inline double own_exp(double x) {
    if (!(x > -745.0)) return x == x ? 0.0 : x;
    if (x > 709.78) return std::bit_cast<double>(std::uint64_t{0x7ff} << 52);
    constexpr double kRound = 0x1.8p52;  // adding and subtracting rounds to an integer
    const double n = (x * 0x1.71547652b82fep0 + kRound) - kRound;
    const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r * r + r;
    p = p + 1.0;
    // 2^n in two factors: n reaches 1024 and -1075.
    const int whole = static_cast<int>(n);
    const int half = whole / 2;
    const auto power = [](int e) {
        return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
    };
    return p * power(half) * power(whole - half);
}

}  // namespace hearth
