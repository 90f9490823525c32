// p * 2^n for rungs without an instruction for it: n integral, -150 <= n <= 128, p near 1. Rounds
// once: the first product is exact.

inline F f_scale(F p, F n) {
    const W bias = w_set1(127);
    const W whole = w_rint(n), half = w_sra<1>(whole);
    const W rest = w_add(whole, w_add(w_xor(half, w_set1(0xffffffffu)), w_set1(1)));
    const F a = f_from_w(w_sll<23>(w_add(half, bias)));
    const F b = f_from_w(w_sll<23>(w_add(rest, bias)));
    return f_mul(f_mul(p, a), b);
}
