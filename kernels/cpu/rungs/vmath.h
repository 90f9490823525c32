// exp and tanh of 16 lanes: one graph of fused multiply-adds on every rung, never libm (its
// results change between versions, and cache records outlive updates).
// exp: Cody-Waite reduction, degree 6 (Moshier, Cephes expf); error below 1.0 ulp for normal
// results. tanh: odd polynomial below 0.625, else 1 - 2 / (exp(2|x|) + 1); error below 2 ulp.

inline F v_exp(F x) {
    // Below -104 the result is 0, above 89 infinity; NaN becomes exp(-104) = 0.
    x = f_min(f_max(x, f_set1(-104.0f)), f_set1(89.0f));
    const F n = f_rint(f_mul(x, f_set1(1.44269504f)));
    F r = f_fma(n, f_set1(-0.693359375f), x);
    r = f_fma(n, f_set1(2.12194440e-4f), r);
    F p = f_set1(1.9875691500e-4f);
    p = f_fma(p, r, f_set1(1.3981999507e-3f));
    p = f_fma(p, r, f_set1(8.3334519073e-3f));
    p = f_fma(p, r, f_set1(4.1665795894e-2f));
    p = f_fma(p, r, f_set1(1.6666665459e-1f));
    p = f_fma(p, r, f_set1(5.0000001201e-1f));
    p = f_fma(p, f_mul(r, r), r);
    p = f_add(p, f_set1(1.0f));
    return f_scale(p, n);
}

inline F v_tanh(F x) {
    const W sign = w_and(w_from_f(x), w_set1(0x80000000u));
    const F a = f_from_w(w_and(w_from_f(x), w_set1(0x7fffffffu)));
    const F z = f_mul(x, x);
    F p = f_set1(-5.70498872745e-3f);
    p = f_fma(p, z, f_set1(2.06390887954e-2f));
    p = f_fma(p, z, f_set1(-5.37397155531e-2f));
    p = f_fma(p, z, f_set1(1.33314422036e-1f));
    p = f_fma(p, z, f_set1(-3.33332819422e-1f));
    const F small = f_fma(f_mul(x, z), p, x);
    const F e = f_add(v_exp(f_add(a, a)), f_set1(1.0f));
    const F large = f_sub(f_set1(1.0f), f_div(f_set1(2.0f), e));
    const F signed_large = f_from_w(w_or(w_from_f(large), sign));
    return f_select(f_lt(a, f_set1(0.625f)), small, signed_large);
}

inline void exp_array(const float* x, float* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += 16) {
        const int count = n - i < 16 ? static_cast<int>(n - i) : 16;
        f_store_n(y + i, v_exp(f_load_n(x + i, count)), count);
    }
}
inline void tanh_array(const float* x, float* y, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += 16) {
        const int count = n - i < 16 ? static_cast<int>(n - i) : 16;
        f_store_n(y + i, v_tanh(f_load_n(x + i, count)), count);
    }
}
