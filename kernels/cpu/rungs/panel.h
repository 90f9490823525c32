// Panel kernels: 32 rows x n columns over unpacked weights.
// Included inside an anonymous namespace after simd_*.h (and dot_*.h).
//
// Per output, blocks ascending:  acc = fma(float(isum), d_w * d_a, acc), then where the format has
// a minimum  acc = fma(addend_w, s_a, acc)  with s_a = d_a * float(sum of q). isum is exact.
// Formats with a scale per 16 elements do this per half block.

template <PanelKind kind>
struct KindTraits {
    static constexpr bool kPer16 = kind == PanelKind::off32x16 || kind == PanelKind::min16;
    static constexpr bool kMin = kind == PanelKind::min32 || kind == PanelKind::min16;
    static constexpr bool kOff128 = kind == PanelKind::off128;
};

template <PanelKind kind>
inline NI start_sum(const ActBlock& x, int half) {
    if constexpr (kind == PanelKind::off8) return n_set1(x.n8);
    if constexpr (kind == PanelKind::off128) return n_set1(kSignedDot ? 0 : x.n128);
    if constexpr (kind == PanelKind::off32x16) return n_set1(x.n32[half]);
    return n_set1(0);
}

/// kVecs vectors of rows (at q[v], scale[v], addend[v]), kCols columns.
template <PanelKind kind, int kCols>
inline void panel_cols(const std::uint8_t* const* q, const float* const* scale,
                       const float* const* addend, int n, const ActBlock* x, std::int64_t xs,
                       float* acc, int acc_vec) {
    using Traits = KindTraits<kind>;
    constexpr int kHalves = Traits::kPer16 ? 2 : 1;
    constexpr int kLines = 8 / kHalves;
    NF sum[kVecs][kCols];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v)
#pragma GCC unroll 8
        for (int c = 0; c < kCols; ++c) sum[v][c] = n_loadf(acc + c * kPanelRows + v * acc_vec);
    for (int b = 0; b < n; ++b, ++x) {
        // The same block of the columns of the next run: 6 KB ahead in the second-level cache.
        if constexpr (kCols > 2) {
#pragma GCC unroll 8
            for (int c = 0; c < kCols; ++c) __builtin_prefetch(x + (kCols + c) * xs);
        }
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) {
            NI isum[kVecs][kCols];
#pragma GCC unroll 8
            for (int c = 0; c < kCols; ++c)
#pragma GCC unroll 8
                for (int v = 0; v < kVecs; ++v) isum[v][c] = start_sum<kind>(x[c * xs], h);
#pragma GCC unroll 8
            for (int j = h * kLines; j < (h + 1) * kLines; ++j) {
                NI w[kVecs];
#pragma GCC unroll 8
                for (int v = 0; v < kVecs; ++v) w[v] = n_load(q[v] + 512 * b + 64 * j);
#pragma GCC unroll 8
                for (int c = 0; c < kCols; ++c) {
                    const NI a = n_bcast(x[c * xs].q + 4 * j);
#pragma GCC unroll 8
                    for (int v = 0; v < kVecs; ++v)
                        isum[v][c] = n_dot<Traits::kOff128>(isum[v][c], w[v], a);
                }
            }
            const int at = kGroupRows * (kHalves * b + h);
#pragma GCC unroll 8
            for (int v = 0; v < kVecs; ++v) {
                const NF dw = n_loadf(scale[v] + at);
#pragma GCC unroll 8
                for (int c = 0; c < kCols; ++c)
                    sum[v][c] =
                        n_fma(n_cvt(isum[v][c]), n_mul(dw, n_set1f(x[c * xs].d)), sum[v][c]);
                if constexpr (Traits::kMin) {
                    const NF m = n_loadf(addend[v] + at);
#pragma GCC unroll 8
                    for (int c = 0; c < kCols; ++c) {
                        const ActBlock& xb = x[c * xs];
                        sum[v][c] = n_fma(m, n_set1f(kHalves == 2 ? xb.s16[h] : xb.s32), sum[v][c]);
                    }
                }
            }
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v)
#pragma GCC unroll 8
        for (int c = 0; c < kCols; ++c) n_storef(acc + c * kPanelRows + v * acc_vec, sum[v][c]);
}

/// f32 panel [k][16]; one chain per output, k ascending.
template <int kCols>
inline void panel_float_cols(const float* const* w, int n, const float* x, std::int64_t xs,
                             float* acc, int acc_vec) {
    NF sum[kVecs][kCols];
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v)
#pragma GCC unroll 8
        for (int c = 0; c < kCols; ++c) sum[v][c] = n_loadf(acc + c * kPanelRows + v * acc_vec);
    for (int k = 0; k < n; ++k) {
        NF wv[kVecs];
#pragma GCC unroll 8
        for (int v = 0; v < kVecs; ++v) wv[v] = n_loadf(w[v] + kGroupRows * k);
#pragma GCC unroll 8
        for (int c = 0; c < kCols; ++c) {
            const NF a = n_set1f(x[c * xs + k]);
#pragma GCC unroll 8
            for (int v = 0; v < kVecs; ++v) sum[v][c] = n_fma(wv[v], a, sum[v][c]);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < kVecs; ++v)
#pragma GCC unroll 8
        for (int c = 0; c < kCols; ++c) n_storef(acc + c * kPanelRows + v * acc_vec, sum[v][c]);
}

/// Calls f(vectors' rows) for each set of kVecs native vectors of the panel's 32 rows.
template <typename Call>
inline void each_vector_set(Call call) {
    constexpr int kSetRows = kVecs * kLanes;
    for (int row = 0; row < kPanelRows; row += kSetRows) call(row);
}

/// Splits n columns into runs of at most kMaxCols of nearly equal width.
template <typename Call>
inline void each_column_run(int n_cols, Call call) {
    const int runs = (n_cols + kMaxCols - 1) / kMaxCols;
    int first = 0;
    for (int i = 0; i < runs; ++i) {
        const int width = n_cols / runs + (i < n_cols % runs ? 1 : 0);
        call(first, width);
        first += width;
    }
}

template <PanelKind kind, int kCols>
inline void panel_run(int width, const std::uint8_t* const* q, const float* const* scale,
                      const float* const* addend, int n, const ActBlock* x, std::int64_t xs,
                      float* acc) {
    if constexpr (kCols > 0) {
        if (width == kCols)
            panel_cols<kind, kCols>(q, scale, addend, n, x, xs, acc, kLanes);
        else
            panel_run<kind, kCols - 1>(width, q, scale, addend, n, x, xs, acc);
    }
}

template <PanelKind kind>
inline void panel_kernel(const PanelIn& in, const ActBlock* x, std::int64_t xs, int n_cols,
                         float* acc) {
    each_column_run(n_cols, [&](int first, int width) {
        each_vector_set([&](int row) {
            const std::uint8_t* q[kVecs];
            const float* scale[kVecs];
            const float* addend[kVecs];
            for (int v = 0; v < kVecs; ++v) {
                const int r = row + v * kLanes, g = r / kGroupRows, sub = r % kGroupRows;
                q[v] = in.q[g] + 4 * sub;
                scale[v] = in.scale[g] + sub;
                addend[v] = in.addend[g] + sub;
            }
            panel_run<kind, kMaxCols>(width, q, scale, addend, in.n, x + first * xs, xs,
                                      acc + first * kPanelRows + row);
        });
    });
}

template <int kCols>
inline void panel_float_run(int width, const float* const* w, int n, const float* x,
                            std::int64_t xs, float* acc) {
    if constexpr (kCols > 0) {
        if (width == kCols)
            panel_float_cols<kCols>(w, n, x, xs, acc, kLanes);
        else
            panel_float_run<kCols - 1>(width, w, n, x, xs, acc);
    }
}

inline void panel_floats(const PanelIn& in, const float* x, std::int64_t xs, int n_cols,
                         float* acc) {
    each_column_run(n_cols, [&](int first, int width) {
        each_vector_set([&](int row) {
            const float* w[kVecs];
            for (int v = 0; v < kVecs; ++v) {
                const int r = row + v * kLanes;
                w[v] = in.scale[r / kGroupRows] + r % kGroupRows;
            }
            panel_float_run<kMaxCols>(width, w, in.n, x + first * xs, xs,
                                      acc + first * kPanelRows + row);
        });
    });
}

/// int8 multiply-adds from registers, 12 chains.
inline double int8_loop(std::int64_t iterations) {
    NI acc[12];
    for (int i = 0; i < 12; ++i) acc[i] = n_set1(i);
    const NI w = n_set1(0x01020304);
    NI a = n_set1(0x04030201);
    for (std::int64_t it = 0; it < iterations; ++it) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; ++i) acc[i] = n_dot<false>(acc[i], w, a);
    }
    alignas(64) std::int32_t sink[16];
    for (int i = 0; i < 12; ++i) {
        __builtin_memcpy(sink, &acc[i], sizeof(NI));
        __asm__ volatile("" : : "r"(sink) : "memory");
    }
    return 2.0 * 4 * kLanes * 12 * static_cast<double>(iterations);
}

inline void fill_matmul(Kernels& k) {
    k.quantize = quantize;
    const auto set = [&](DType t, Kernels::Unpack f) { k.unpack[static_cast<int>(t)] = f; };
    set(DType::f32, unpack_float<DType::f32>);
    set(DType::f16, unpack_float<DType::f16>);
    set(DType::bf16, unpack_float<DType::bf16>);
    set(DType::q4_0, unpack_q4_0);
    set(DType::q4_1, unpack_q4_1);
    set(DType::q5_0, unpack_q5_0);
    set(DType::q5_1, unpack_q5_1);
    set(DType::q8_0, unpack_q8_0);
    set(DType::q2_k, unpack_q2_k);
    set(DType::q3_k, unpack_q3_k);
    set(DType::q4_k, unpack_q4_k);
    set(DType::q5_k, unpack_q5_k);
    set(DType::q6_k, unpack_q6_k);
    set(DType::iq4_nl, unpack_iq4_nl);
    set(DType::iq4_xs, unpack_iq4_xs);
    set(DType::mxfp4, unpack_mxfp4);
    const auto panel = [&](PanelKind p, Kernels::Panel f) { k.panel[static_cast<int>(p)] = f; };
    panel(PanelKind::off8, panel_kernel<PanelKind::off8>);
    panel(PanelKind::off128, panel_kernel<PanelKind::off128>);
    panel(PanelKind::min32, panel_kernel<PanelKind::min32>);
    panel(PanelKind::off32x16, panel_kernel<PanelKind::off32x16>);
    panel(PanelKind::min16, panel_kernel<PanelKind::min16>);
    k.panel_floats = panel_floats;
    k.int8_loop = int8_loop;
}
