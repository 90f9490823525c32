// Activations to int8 per 32. Included inside an anonymous namespace after simd_*.h.
//
// d = amax / 127, q = rint(x * (127 / amax)), half to even. Blocks below 2^-100 are zero; a block
// with an infinity or NaN gives NaN, so that it is seen.

/// Four blocks, so that the horizontal steps are shared; `count` <= 4 of them are stored.
inline void quantize_four(const float* x, int count, ActBlock* out) {
    W top[4], q[4][2];
    const W magnitude = w_set1(0x7fffffffu);
    const auto at = [&](int b) { return x + 32 * (b < count ? b : count - 1); };
    for (int b = 0; b < 4; ++b) {
        const F x0 = f_load(at(b)), x1 = f_load(at(b) + 16);
        top[b] = w_max_u(w_and(w_from_f(x0), magnitude), w_and(w_from_f(x1), magnitude));
    }
    std::uint32_t amax_bits[4];
    w_max4(top, amax_bits);
    for (int b = 0; b < count; ++b) {
        const float amax = __builtin_bit_cast(float, amax_bits[b]);
        F x0 = f_load(at(b)), x1 = f_load(at(b) + 16);
        float inverse = 127.0f / amax;
        out[b].d = amax / 127.0f;
        if (amax_bits[b] < 0x0d800000u || amax_bits[b] >= 0x7f800000u) [[unlikely]] {
            out[b].d = amax_bits[b] >= 0x7f800000u ? __builtin_nanf("") : 0.0f;
            x0 = x1 = f_zero();
            inverse = 0.0f;
        }
        q[b][0] = w_rint(f_mul(x0, f_set1(inverse)));
        q[b][1] = w_rint(f_mul(x1, f_set1(inverse)));
        w_store_u8(out[b].q, q[b][0]);
        w_store_u8(out[b].q + 16, q[b][1]);
    }
    for (int b = 0; b < count; b += 2) {
        const int other = b + 1 < count ? b + 1 : b;
        const W halves[4] = {q[b][0], q[b][1], q[other][0], q[other][1]};
        std::int32_t sums[4];
        w_sum4(halves, sums);
        for (int i = b; i <= other; ++i) {
            const std::int32_t s0 = sums[2 * (i - b)], s1 = sums[2 * (i - b) + 1];
            ActBlock& o = out[i];
            o.s32 = o.d * static_cast<float>(s0 + s1);
            o.s16[0] = o.d * static_cast<float>(s0);
            o.s16[1] = o.d * static_cast<float>(s1);
            o.n8 = -8 * (s0 + s1);
            o.n128 = -128 * (s0 + s1);
            o.n32[0] = -32 * s0;
            o.n32[1] = -32 * s1;
        }
    }
}
inline void quantize(const float* x, std::int64_t n_blocks, ActBlock* out) {
    std::int64_t b = 0;
    for (; b + 4 <= n_blocks; b += 4) quantize_four(x + 32 * b, 4, out + b);
    if (b < n_blocks) quantize_four(x + 32 * b, static_cast<int>(n_blocks - b), out + b);
}
