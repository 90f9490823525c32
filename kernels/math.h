#pragma once
// Functions in double precision whose bits depend on no library: rope tables are part of what a
// cache record means, and libm changes between versions.

namespace hearth {

/// base^exponent for base > 0 and a result in the normal range; error below 1 ulp + 2^-60.
double own_pow(double base, double exponent);

struct SinCos {
    double sin = 0;
    double cos = 0;
};
/// |x| <= 2^26 radians; absolute error below 2^-52.
SinCos own_sincos(double x);

}  // namespace hearth
