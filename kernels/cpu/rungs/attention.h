// One tile of attention: 64 keys (4 pages of 16) for some rows, a row being one (token, query
// head) of a kv head. Included inside an anonymous namespace after rows.h.
// Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022 (tiling).

template <typename Load>
inline void load_all(const std::uint8_t* p, const std::uint8_t* next, float* out, std::int64_t n,
                     std::int64_t size, Load load) {
    for (std::int64_t i = 0; i < n; i += 16) {
        __builtin_prefetch(next + size * i, 0, 2);
        f_store(out + i, load(p + size * i));
    }
}
inline void load_kv(const void* in, const void* next, float* out, std::int64_t n, DType dtype) {
    const auto* p = static_cast<const std::uint8_t*>(in);
    const auto* q = static_cast<const std::uint8_t*>(next);
    if (dtype == DType::f16)
        load_all(p, q, out, n, 2, [](const std::uint8_t* x) { return f_load_half(x); });
    else if (dtype == DType::bf16)
        load_all(p, q, out, n, 2,
                 [](const std::uint8_t* x) { return f_from_w(w_sll<16>(w_load_u16(x))); });
    else
        load_all(p, q, out, n, 4, [](const std::uint8_t* x) { return f_from_w(w_load(x)); });
}

/// Keys of a tile as f32: 4 pages of [d][16], one after the other.
struct FloatKeys {
    const float* k;
    std::int64_t page;
    F at(int p, int d) const { return f_load(k + p * page + 16 * d); }
    void ahead(int) const {}
};
/// Keys of a tile where they lie, as halves. The next tile's are read ahead in step with these:
/// pages are anywhere, which is more than the hardware's prefetcher follows.
struct HalfKeys {
    const TilePages& pages;
    F at(int p, int d) const { return f_load_half(pages.keys[p] + 32 * d); }
    void ahead(int d) const {
        if (d % 2 == 0)
            for (int p = 0; p < 4; ++p) __builtin_prefetch(pages.next_keys[p] + 32 * d, 0, 2);
    }
};
struct Bf16Keys {
    const TilePages& pages;
    F at(int p, int d) const { return f_from_w(w_sll<16>(w_load_u16(pages.keys[p] + 32 * d))); }
    void ahead(int d) const { HalfKeys{pages}.ahead(d); }
};

template <int kRows, typename Keys>
inline void score_rows(const float* q, std::int64_t q_stride, const Keys& tile, int head_dim,
                       float* s) {
    F acc[kRows][4];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) acc[r][p] = f_zero();
    for (int d = 0; d < head_dim; ++d) {
        tile.ahead(d);
        F keys[4];
#pragma GCC unroll 4
        for (int p = 0; p < 4; ++p) keys[p] = tile.at(p, d);
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
/// The last rows, fewer than kRowBlock.
template <int kRows, typename Keys>
inline void score_rest(const float* q, std::int64_t q_stride, int n_rows, const Keys& tile,
                       int head_dim, float* s) {
    if constexpr (kRows > 0) {
        if (n_rows == kRows)
            score_rows<kRows>(q, q_stride, tile, head_dim, s);
        else
            score_rest<kRows - 1>(q, q_stride, n_rows, tile, head_dim, s);
    }
}
template <typename Keys>
inline void score_tile(const float* q, std::int64_t q_stride, int n_rows, const Keys& tile,
                       int head_dim, float* s) {
    int r = 0;
    for (; r + kRowBlock <= n_rows; r += kRowBlock)
        score_rows<kRowBlock>(q + r * q_stride, q_stride, tile, head_dim, s + 64 * r);
    score_rest<kRowBlock - 1>(q + r * q_stride, q_stride, n_rows - r, tile, head_dim, s + 64 * r);
}
inline void tile_scores(const float* q, std::int64_t q_stride, int n_rows, const float* k,
                        int head_dim, float* s) {
    score_tile(q, q_stride, n_rows, FloatKeys{k, 16 * static_cast<std::int64_t>(head_dim)},
               head_dim, s);
}
inline void page_scores(const float* q, std::int64_t q_stride, int n_rows, const TilePages& pages,
                        int head_dim, float* s) {
    if (pages.dtype == DType::f16)
        score_tile(q, q_stride, n_rows, HalfKeys{pages}, head_dim, s);
    else
        score_tile(q, q_stride, n_rows, Bf16Keys{pages}, head_dim, s);
}

inline float exp1(float x) {
    alignas(64) float v[16];
    f_store(v, v_exp(f_set1(x)));
    return v[0];
}

/// One row of which some keys are hidden.
inline float softmax_masked(float* s, int lo, int hi, float cap, float* m, float* l) {
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
    const float factor = *m == m_new ? 1.0f : exp1(*m - m_new);  // exp(0) is 1
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

/// kRows rows of which every key is visible: the same values without masks, side by side.
template <int kRows>
inline void softmax_full(float* s, float cap, float* m, float* l, float* factor) {
    F top[kRows];
    float m_new[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        top[r] = f_set1(-__builtin_inff());
        for (int v = 0; v < 4; ++v) {
            F x = f_load(s + 64 * r + 16 * v);
            if (cap != 0.0f) f_store(s + 64 * r + 16 * v, x = capped(x, f_set1(cap)));
            top[r] = f_max(top[r], x);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
        const float tile_max = f_reduce_max(top[r]);
        m_new[r] = m[r] > tile_max ? m[r] : tile_max;
        factor[r] = m[r] == m_new[r] ? 1.0f : exp1(m[r] - m_new[r]);  // exp(0) is 1
        m[r] = m_new[r];
    }
    F sum[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sum[r] = f_mul(f_load(l + 16 * r), f_set1(factor[r]));
    for (int v = 0; v < 4; ++v) {
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) {
            float* x = s + 64 * r + 16 * v;
            const F p = v_exp(f_sub(f_load(x), f_set1(m_new[r])));
            f_store(x, p);
            sum[r] = f_add(sum[r], p);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) f_store(l + 16 * r, sum[r]);
}

inline void tile_softmax(float* s, int n_rows, const int* lo, const int* hi, float cap, float* m,
                         float* l, float* factor) {
    const auto is_full = [&](int r) { return lo[r] <= 0 && hi[r] >= 64; };
    int r = 0;
    while (r < n_rows) {
        int full = 0;
        while (full < kSoftmaxRows && r + full < n_rows && is_full(r + full)) ++full;
        if (full == kSoftmaxRows) {
            softmax_full<kSoftmaxRows>(s + 64 * r, cap, m + r, l + 16 * r, factor + r);
            r += kSoftmaxRows;
        } else {
            factor[r] = softmax_masked(s + 64 * r, lo[r], hi[r], cap, m + r, l + 16 * r);
            ++r;
        }
    }
}

/// Values of a tile as f32, (64, head_dim).
struct FloatValues {
    const float* v;
    int head_dim;
    F at(int key, int d) const { return f_load(v + static_cast<std::int64_t>(key) * head_dim + d); }
    void ahead(int, int) const {}
};
struct HalfValues {
    const TilePages& pages;
    int head_dim;
    std::int64_t offset(int key, int d) const {
        return 2 * (static_cast<std::int64_t>(key % 16) * head_dim + d);
    }
    F at(int key, int d) const { return f_load_half(pages.values[key / 16] + offset(key, d)); }
    void ahead(int key, int d) const {
        if (d % 32 == 0) __builtin_prefetch(pages.next_values[key / 16] + offset(key, d), 0, 2);
    }
};
struct Bf16Values {
    const TilePages& pages;
    int head_dim;
    F at(int key, int d) const {
        const HalfValues as{pages, head_dim};
        return f_from_w(w_sll<16>(w_load_u16(pages.values[key / 16] + as.offset(key, d))));
    }
    void ahead(int key, int d) const { HalfValues{pages, head_dim}.ahead(key, d); }
};

/// Dims d0 .. d0 + 16 * kDims - 1 of kRows rows.
template <int kRows, int kDims, typename Values>
inline void value_rows(const float* p, const float* factor, const Values& tile, int head_dim,
                       int d0, int lo, int hi, float* o) {
    F acc[kRows][kDims];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
        for (int d = 0; d < kDims; ++d)
            acc[r][d] = f_mul(f_load(o + r * head_dim + d0 + 16 * d), f_set1(factor[r]));
    for (int key = lo; key < hi; ++key) {
        F values[kDims];
#pragma GCC unroll 4
        for (int d = 0; d < kDims; ++d) {
            tile.ahead(key, d0 + 16 * d);
            values[d] = tile.at(key, d0 + 16 * d);
        }
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
        for (int d = 0; d < kDims; ++d) f_store(o + r * head_dim + d0 + 16 * d, acc[r][d]);
}
template <int kRows, int kDims, typename Values>
inline void value_rest(const float* p, const float* factor, int n_rows, const Values& tile,
                       int head_dim, int d0, int lo, int hi, float* o) {
    if constexpr (kRows > 0) {
        if (n_rows == kRows)
            value_rows<kRows, kDims>(p, factor, tile, head_dim, d0, lo, hi, o);
        else
            value_rest<kRows - 1, kDims>(p, factor, n_rows, tile, head_dim, d0, lo, hi, o);
    }
}
template <int kDims, typename Values>
inline void value_dims(const float* p, const float* factor, int n_rows, const Values& tile,
                       int head_dim, int d0, int lo, int hi, float* o) {
    int r = 0;
    for (; r + kRowBlock <= n_rows; r += kRowBlock)
        value_rows<kRowBlock, kDims>(p + 64 * r, factor + r, tile, head_dim, d0, lo, hi,
                                     o + r * head_dim);
    value_rest<kRowBlock - 1, kDims>(p + 64 * r, factor + r, n_rows - r, tile, head_dim, d0, lo, hi,
                                     o + r * head_dim);
}
template <typename Values>
inline void value_tile(const float* p, const float* factor, int n_rows, const Values& tile,
                       int head_dim, int lo, int hi, float* o) {
    int d = 0;
    for (; d + 64 <= head_dim; d += 64)
        value_dims<4>(p, factor, n_rows, tile, head_dim, d, lo, hi, o);
    for (; d < head_dim; d += 16) value_dims<1>(p, factor, n_rows, tile, head_dim, d, lo, hi, o);
}
inline void tile_values(const float* p, const float* factor, int n_rows, const float* v,
                        int head_dim, int lo, int hi, float* o) {
    value_tile(p, factor, n_rows, FloatValues{v, head_dim}, head_dim, lo, hi, o);
}
inline void page_values(const float* p, const float* factor, int n_rows, const TilePages& pages,
                        int head_dim, int lo, int hi, float* o) {
    if (pages.dtype == DType::f16)
        value_tile(p, factor, n_rows, HalfValues{pages, head_dim}, head_dim, lo, hi, o);
    else
        value_tile(p, factor, n_rows, Bf16Values{pages, head_dim}, head_dim, lo, hi, o);
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
    k.page_scores = page_scores;
    k.tile_softmax = tile_softmax;
    k.tile_values = tile_values;
    k.page_values = page_values;
    k.merge = merge;
    k.finish = finish;
    k.sum16 = sum16;
    k.exp_array = exp_array;
    k.tanh_array = tanh_array;
}
