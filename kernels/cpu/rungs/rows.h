// Ops on rows and elements: norm, rope, gate, softcap, KV store. Included inside an anonymous
// namespace after simd_*.h and vmath.h.

/// Fixed tree over 16 virtual lanes.
inline float sum16(const float* v) {
    float a[8], b[4];
    for (int i = 0; i < 8; ++i) a[i] = v[i] + v[i + 8];
    for (int i = 0; i < 4; ++i) b[i] = a[i] + a[i + 4];
    return (b[0] + b[2]) + (b[1] + b[3]);
}

/// Calls f(first, count) for runs of 16 elements, the last one shorter.
template <typename Call>
inline void each_run(std::int64_t n, Call call) {
    for (std::int64_t i = 0; i < n; i += 16) call(i, n - i < 16 ? static_cast<int>(n - i) : 16);
}

inline void rms_norm(const float* x, const float* w, float* y, std::int64_t n, float eps,
                     bool accumulate) {
    F sum = f_zero();
    each_run(n, [&](std::int64_t i, int count) {
        const F v = f_load_n(x + i, count);
        sum = f_fma(v, v, sum);
    });
    alignas(64) float lanes[16];
    f_store(lanes, sum);
    const float mean = sum16(lanes) / static_cast<float>(n);
    const F r = f_set1(1.0f / __builtin_sqrtf(mean + eps));
    each_run(n, [&](std::int64_t i, int count) {
        const F scaled = f_mul(f_load_n(x + i, count), r), weight = f_load_n(w + i, count);
        const F value =
            accumulate ? f_fma(scaled, weight, f_load_n(y + i, count)) : f_mul(scaled, weight);
        f_store_n(y + i, value, count);
    });
}

/// silu(x) = x / (1 + e^-x); gelu_tanh(x) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3).
inline F activation(F x, GatedActivation act) {
    F u = x;
    if (act == GatedActivation::gelu_tanh) {
        const F cube = f_fma(f_mul(f_mul(x, x), x), f_set1(0.044715f), x);
        u = f_mul(cube, f_set1(2.0f * 0.7978845608f));
    }
    const F e = v_exp(f_from_w(w_xor(w_from_f(u), w_set1(0x80000000u))));
    return f_div(x, f_add(f_set1(1.0f), e));
}
inline void gated(float* gate, const float* up, std::int64_t n, GatedActivation act) {
    each_run(n, [&](std::int64_t i, int count) {
        const F g = activation(f_load_n(gate + i, count), act);
        f_store_n(gate + i, f_mul(g, f_load_n(up + i, count)), count);
    });
}

inline F capped(F x, F cap) { return f_mul(cap, v_tanh(f_div(x, cap))); }
inline void softcap(float* x, std::int64_t n, float cap) {
    each_run(n, [&](std::int64_t i, int count) {
        f_store_n(x + i, capped(f_load_n(x + i, count), f_set1(cap)), count);
    });
}

inline void rope(float* x, const float* cos, const float* sin, int n_dims, bool half_split) {
    const int pairs = n_dims / 2;
    if (!half_split) {
        for (int i = 0; i < pairs; ++i) {
            const float a = x[2 * i], b = x[2 * i + 1];
            x[2 * i] = __builtin_fmaf(a, cos[i], -(b * sin[i]));
            x[2 * i + 1] = __builtin_fmaf(a, sin[i], b * cos[i]);
        }
        return;
    }
    each_run(pairs, [&](std::int64_t i, int count) {
        const F a = f_load_n(x + i, count), b = f_load_n(x + pairs + i, count);
        const F c = f_load_n(cos + i, count), s = f_load_n(sin + i, count);
        const F minus = f_from_w(w_xor(w_from_f(f_mul(b, s)), w_set1(0x80000000u)));
        f_store_n(x + i, f_fma(a, c, minus), count);
        f_store_n(x + pairs + i, f_fma(a, s, f_mul(b, c)), count);
    });
}

inline F saturated(F x, float limit) { return f_min(f_max(x, f_set1(-limit)), f_set1(limit)); }
inline W to_bf16(F x) {
    const W bits = w_from_f(x);
    const W odd = w_and(w_srl<16>(bits), w_set1(1));
    return w_srl<16>(w_add(w_add(bits, w_set1(0x7fff)), odd));
}
/// `n` elements to out[0], out[stride], ...; a stored value is never infinite or NaN, so that a
/// masked key times a probability of zero is zero.
template <typename Element, typename Convert>
inline void store_elements(const float* x, std::int64_t n, void* out, std::int64_t stride,
                           Convert convert) {
    auto* to = static_cast<Element*>(out);
    each_run(n, [&](std::int64_t i, int count) {
        alignas(64) Element v[16];
        convert(v, f_load_n(x + i, count));
        if (stride == 1)
            __builtin_memcpy(to + i, v, sizeof(Element) * static_cast<unsigned>(count));
        else
            for (int j = 0; j < count; ++j) to[(i + j) * stride] = v[j];
    });
}
inline void store_kv(const float* x, std::int64_t n, void* out, std::int64_t stride, DType dtype) {
    if (dtype == DType::f16) {
        store_elements<std::uint16_t>(
            x, n, out, stride, [](void* to, F v) { f_store_half(to, saturated(v, 65504.0f)); });
    } else if (dtype == DType::bf16) {
        const float limit = __builtin_bit_cast(float, 0x7f7f0000u);
        store_elements<std::uint16_t>(x, n, out, stride, [limit](void* to, F v) {
            w_store_u16(to, to_bf16(saturated(v, limit)));
        });
    } else {
        store_elements<float>(x, n, out, stride, [](float* to, F v) {
            f_store(to, saturated(v, 3.4028234663852886e38f));
        });
    }
}
