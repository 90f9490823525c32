// Vectors of the scalar rung: arrays and loops, portable C++. Included inside an anonymous
// namespace. The meaning of every operation is the one that simd_avx512.h documents.

struct W {
    std::uint32_t v[16];
};
struct F {
    float v[16];
};
struct M {
    bool v[16];
};
using NI = W;
using NF = F;
constexpr int kLanes = 16;
constexpr int kVecs = 1;
constexpr int kMaxCols = 1;
constexpr bool kSignedDot = false;

template <typename T, typename Op>
inline T each(Op op) {
    T r;
    for (int i = 0; i < 16; ++i) r.v[i] = op(i);
    return r;
}
template <typename Op>
inline W each_byte(Op op) {
    return each<W>([&](int i) {
        std::uint32_t r = 0;
        for (int b = 0; b < 32; b += 8) r |= (op(i, b) & 255u) << b;
        return r;
    });
}

inline W w_load(const void* p) {
    W r;
    __builtin_memcpy(r.v, p, 64);
    return r;
}
inline void w_store(void* p, W a) { __builtin_memcpy(p, a.v, 64); }
inline W w_set1(std::uint32_t v) {
    return each<W>([&](int) { return v; });
}
inline W w_and(W a, W b) {
    return each<W>([&](int i) { return a.v[i] & b.v[i]; });
}
inline W w_or(W a, W b) {
    return each<W>([&](int i) { return a.v[i] | b.v[i]; });
}
inline W w_xor(W a, W b) {
    return each<W>([&](int i) { return a.v[i] ^ b.v[i]; });
}
inline W w_add(W a, W b) {
    return each<W>([&](int i) { return a.v[i] + b.v[i]; });
}
template <int n>
inline W w_srl(W a) {
    return each<W>([&](int i) { return a.v[i] >> n; });
}
template <int n>
inline W w_sll(W a) {
    return each<W>([&](int i) { return a.v[i] << n; });
}
template <int n>
inline W w_sra(W a) {
    return each<W>(
        [&](int i) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(a.v[i]) >> n); });
}
inline W w_lut(const std::uint8_t* table, W a) {
    return each_byte([&](int i, int b) -> std::uint32_t { return table[(a.v[i] >> b) & 15u]; });
}
template <int n>
inline W w_spread(W a) {
    return each<W>([&](int i) { return ((a.v[i] >> (8 * n)) & 255u) * 0x01010101u; });
}
inline W w_test(W a, W bits, W yes, W no) {
    return each_byte([&](int i, int b) {
        return (a.v[i] & bits.v[i]) >> b & 255u ? yes.v[i] >> b : no.v[i] >> b;
    });
}
inline W w_from_f(F a) {
    W r;
    __builtin_memcpy(r.v, a.v, 64);
    return r;
}
inline F f_from_w(W a) {
    F r;
    __builtin_memcpy(r.v, a.v, 64);
    return r;
}
inline F f_from_i(W a) {
    return each<F>([&](int i) { return static_cast<float>(static_cast<std::int32_t>(a.v[i])); });
}
inline F f_from_half(W a) {
    return each<F>([&](int i) { return half_to_float(static_cast<std::uint16_t>(a.v[i])); });
}
inline void load_t4(const std::uint8_t* p, std::int64_t stride, W out[4]) {
    for (int r = 0; r < 16; ++r)
        for (int i = 0; i < 4; ++i) __builtin_memcpy(&out[i].v[r], p + r * stride + 4 * i, 4);
}

inline F f_load(const float* p) {
    F r;
    __builtin_memcpy(r.v, p, 64);
    return r;
}
inline void f_store(float* p, F a) { __builtin_memcpy(p, a.v, 64); }
inline F f_load_n(const float* p, int n) {
    return each<F>([&](int i) { return i < n ? p[i] : 0.0f; });
}
inline void f_store_n(float* p, F a, int n) {
    for (int i = 0; i < n; ++i) p[i] = a.v[i];
}
inline F f_set1(float v) {
    return each<F>([&](int) { return v; });
}
inline F f_zero() { return f_set1(0.0f); }
inline F f_add(F a, F b) {
    return each<F>([&](int i) { return a.v[i] + b.v[i]; });
}
inline F f_sub(F a, F b) {
    return each<F>([&](int i) { return a.v[i] - b.v[i]; });
}
inline F f_mul(F a, F b) {
    return each<F>([&](int i) { return a.v[i] * b.v[i]; });
}
inline F f_div(F a, F b) {
    return each<F>([&](int i) { return a.v[i] / b.v[i]; });
}
inline F f_fma(F a, F b, F c) {
    return each<F>([&](int i) { return __builtin_fmaf(a.v[i], b.v[i], c.v[i]); });
}
inline F f_max(F a, F b) {
    return each<F>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline F f_min(F a, F b) {
    return each<F>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
inline F f_rint(F a) {
    return each<F>([&](int i) { return __builtin_rintf(a.v[i]); });
}
inline W w_rint(F a) {
    return each<W>([&](int i) {
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(__builtin_rintf(a.v[i])));
    });
}
inline M f_lt(F a, F b) {
    return each<M>([&](int i) { return a.v[i] < b.v[i]; });
}
inline F f_select(M m, F yes, F no) {
    return each<F>([&](int i) { return m.v[i] ? yes.v[i] : no.v[i]; });
}
inline W w_max_u(W a, W b) {
    return each<W>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
inline M m_range(int lo, int hi) {
    return each<M>([&](int i) { return i >= lo && i < hi; });
}
inline W w_load_u16(const void* p) {
    std::uint16_t h[16];
    __builtin_memcpy(h, p, 32);
    return each<W>([&](int i) { return static_cast<std::uint32_t>(h[i]); });
}
inline F f_load_half(const void* p) { return f_from_half(w_load_u16(p)); }
inline void w_store_u16(void* p, W a) {
    std::uint16_t h[16];
    for (int i = 0; i < 16; ++i) h[i] = static_cast<std::uint16_t>(a.v[i]);
    __builtin_memcpy(p, h, 32);
}
inline void f_store_half(void* p, F a) {
    std::uint16_t h[16];
    for (int i = 0; i < 16; ++i) h[i] = float_to_half(a.v[i]);
    __builtin_memcpy(p, h, 32);
}
inline void w_store_u8(void* p, W a) {
    for (int i = 0; i < 16; ++i)
        static_cast<std::uint8_t*>(p)[i] = static_cast<std::uint8_t>(a.v[i]);
}

inline NI n_load(const void* p) { return w_load(p); }
inline NI n_set1(std::int32_t v) { return w_set1(static_cast<std::uint32_t>(v)); }
inline NI n_bcast(const void* p) {
    std::uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return w_set1(v);
}
template <bool offset128>
inline NI n_dot(NI acc, NI w, NI a) {
    return each<W>([&](int i) {
        std::int32_t sum = static_cast<std::int32_t>(acc.v[i]);
        for (int b = 0; b < 32; b += 8)
            sum += static_cast<std::int32_t>((w.v[i] >> b) & 255u) *
                   static_cast<std::int8_t>(a.v[i] >> b);
        return static_cast<std::uint32_t>(sum);
    });
}
inline NF n_cvt(NI a) { return f_from_i(a); }
inline NF n_loadf(const float* p) { return f_load(p); }
inline void n_storef(float* p, NF a) { f_store(p, a); }
inline NF n_set1f(float v) { return f_set1(v); }
inline NF n_mul(NF a, NF b) { return f_mul(a, b); }
inline NF n_fma(NF a, NF b, NF c) { return f_fma(a, b, c); }

inline void w_max4(const W in[4], std::uint32_t out[4]) {
    for (int n = 0; n < 4; ++n) {
        out[n] = 0;
        for (const std::uint32_t v : in[n].v) out[n] = v > out[n] ? v : out[n];
    }
}
inline void w_sum4(const W in[4], std::int32_t out[4]) {
    for (int n = 0; n < 4; ++n) {
        std::uint32_t sum = 0;
        for (const std::uint32_t v : in[n].v) sum += v;
        out[n] = static_cast<std::int32_t>(sum);
    }
}
inline float f_reduce_max(F a) {
    float r = a.v[0];
    for (int i = 1; i < 16; ++i) r = r > a.v[i] ? r : a.v[i];
    return r;
}
constexpr int kRowBlock = 1;
constexpr int kSoftmaxRows = 1;
