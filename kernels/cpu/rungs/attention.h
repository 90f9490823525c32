// One tile of attention: 64 keys (4 pages of 16) for some rows, a row being one (token, query
// head) of a kv head. Included inside an anonymous namespace after rows.h.
// Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022 (tiling).

inline void load_kv(const void* in, float* out, std::int64_t n, DType dtype) {
    const auto* p = static_cast<const std::uint8_t*>(in);
    for (std::int64_t i = 0; i < n; i += 16) {
        if (dtype == DType::f16)
            f_store(out + i, f_load_half(p + 2 * i));
        else if (dtype == DType::bf16)
            f_store(out + i, f_from_w(w_sll<16>(w_load_u16(p + 2 * i))));
        else
            f_store(out + i, f_from_w(w_load(p + 4 * i)));
    }
}

template <int kRows>
inline void score_rows(const float* q, std::int64_t q_stride, const float* k, int head_dim,
                       float* s) {
    F acc[kRows][4];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) acc[r][p] = f_zero();
    const std::int64_t page = 16 * static_cast<std::int64_t>(head_dim);
    for (int d = 0; d < head_dim; ++d) {
        F keys[4];
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) keys[p] = f_load(k + p * page + 16 * d);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
            const F qd = f_set1(q[r * q_stride + d]);
#pragma GCC unroll 4
            for (int p = 0; p < 4; ++p) acc[r][p] = f_fma(qd, keys[p], acc[r][p]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) f_store(s + 64 * r + 16 * p, acc[r][p]);
}
inline void tile_scores(const float* q, std::int64_t q_stride, int n_rows, const float* k,
                        int head_dim, float* s) {
    int r = 0;
    for (; r + kRowBlock <= n_rows; r += kRowBlock)
        score_rows<kRowBlock>(q + r * q_stride, q_stride, k, head_dim, s + 64 * r);
    if constexpr (kRowBlock > 2)
        for (; r + 2 <= n_rows; r += 2)
            score_rows<2>(q + r * q_stride, q_stride, k, head_dim, s + 64 * r);
    for (; r < n_rows; ++r) score_rows<1>(q + r * q_stride, q_stride, k, head_dim, s + 64 * r);
}

inline float exp1(float x) {
    alignas(64) float v[16];
    f_store(v, v_exp(f_set1(x)));
    return v[0];
}

inline float tile_softmax(float* s, int lo, int hi, float cap, float* m, float* l) {
    if (hi <= lo) {
        for (int v = 0; v < 4; ++v) f_store(s + 16 * v, f_zero());
        return 1.0f;
    }
    const F none = f_set1(-__builtin_inff());
    F x[4];
    F top = none;
    for (int v = 0; v < 4; ++v) {
        x[v] = f_load(s + 16 * v);
        if (cap != 0.0f) x[v] = capped(x[v], f_set1(cap));
        x[v] = f_select(m_range(lo - 16 * v, hi - 16 * v), x[v], none);
        top = f_max(top, x[v]);
    }
    const float tile_max = f_reduce_max(top);
    const float m_new = *m > tile_max ? *m : tile_max;
    const float factor = exp1(*m - m_new);
    F sum = f_mul(f_load(l), f_set1(factor));
    for (int v = 0; v < 4; ++v) {
        const M visible = m_range(lo - 16 * v, hi - 16 * v);
        const F p = f_select(visible, v_exp(f_sub(x[v], f_set1(m_new))), f_zero());
        f_store(s + 16 * v, p);
        sum = f_add(sum, p);
    }
    f_store(l, sum);
    *m = m_new;
    return factor;
}

template <int kRows, int kDims>
inline void value_rows(const float* p, const float* factor, const float* v, int head_dim, int lo,
                       int hi, float* o) {
    F acc[kRows][kDims];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int d = 0; d < kDims; ++d)
            acc[r][d] = f_mul(f_load(o + r * head_dim + 16 * d), f_set1(factor[r]));
    for (int key = lo; key < hi; ++key) {
        F values[kDims];
#pragma GCC unroll 4
        for (int d = 0; d < kDims; ++d)
            values[d] = f_load(v + static_cast<std::int64_t>(key) * head_dim + 16 * d);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
            const F pr = f_set1(p[64 * r + key]);
#pragma GCC unroll 4
            for (int d = 0; d < kDims; ++d) acc[r][d] = f_fma(pr, values[d], acc[r][d]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int d = 0; d < kDims; ++d) f_store(o + r * head_dim + 16 * d, acc[r][d]);
}
template <int kDims>
inline void value_dims(const float* p, const float* factor, int n_rows, const float* v,
                       int head_dim, int lo, int hi, float* o) {
    int r = 0;
    for (; r + kRowBlock <= n_rows; r += kRowBlock)
        value_rows<kRowBlock, kDims>(p + 64 * r, factor + r, v, head_dim, lo, hi, o + r * head_dim);
    for (; r < n_rows; ++r)
        value_rows<1, kDims>(p + 64 * r, factor + r, v, head_dim, lo, hi, o + r * head_dim);
}
inline void tile_values(const float* p, const float* factor, int n_rows, const float* v,
                        int head_dim, int lo, int hi, float* o) {
    int d = 0;
    for (; d + 64 <= head_dim; d += 64)
        value_dims<4>(p, factor, n_rows, v + d, head_dim, lo, hi, o + d);
    for (; d < head_dim; d += 16) value_dims<1>(p, factor, n_rows, v + d, head_dim, lo, hi, o + d);
}

inline void merge(float* m, float* l, float* o, float m1, float l1, const float* o1, int head_dim) {
    const float m_new = *m > m1 ? *m : m1;
    const float a = exp1(*m - m_new), b = exp1(m1 - m_new);
    *m = m_new;
    *l = __builtin_fmaf(l1, b, *l * a);
    for (int d = 0; d < head_dim; d += 16) {
        const F sum = f_fma(f_load(o1 + d), f_set1(b), f_mul(f_load(o + d), f_set1(a)));
        f_store(o + d, sum);
    }
}

/// The added zero makes a sum of -0 a +0: its sign could depend on masked keys.
inline void finish(const float* o, float l, float* y, int head_dim) {
    for (int d = 0; d < head_dim; d += 16) {
        const F q = l > 0.0f ? f_div(f_load(o + d), f_set1(l)) : f_zero();
        f_store(y + d, f_add(q, f_zero()));
    }
}

inline void fill_rows(Kernels& k) {
    k.rms_norm = rms_norm;
    k.gated = gated;
    k.softcap = softcap;
    k.rope = rope;
    k.store_kv = store_kv;
    k.load_kv = load_kv;
    k.tile_scores = tile_scores;
    k.tile_softmax = tile_softmax;
    k.tile_values = tile_values;
    k.merge = merge;
    k.finish = finish;
    k.sum16 = sum16;
    k.exp_array = exp_array;
    k.tanh_array = tanh_array;
}
