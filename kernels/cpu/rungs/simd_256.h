// Vectors of the 256-bit rungs (AVX2, FMA, F16C): 16 lanes are two registers. Included inside an
// anonymous namespace. The meaning of every operation is the one that simd_avx512.h documents.

struct W {
    __m256i a, b;
};
struct F {
    __m256 a, b;
};
struct M {
    __m256 a, b;
};
using NI = __m256i;
using NF = __m256;
constexpr int kLanes = 8;
constexpr int kVecs = 2;

inline W w_load(const void* p) {
    const auto* q = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
inline void w_store(void* p, W x) {
    auto* q = static_cast<__m256i*>(p);
    _mm256_storeu_si256(q, x.a);
    _mm256_storeu_si256(q + 1, x.b);
}
inline W w_set1(std::uint32_t v) {
    const __m256i x = _mm256_set1_epi32(static_cast<int>(v));
    return {x, x};
}
inline W w_and(W x, W y) { return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)}; }
inline W w_or(W x, W y) { return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)}; }
inline W w_xor(W x, W y) { return {_mm256_xor_si256(x.a, y.a), _mm256_xor_si256(x.b, y.b)}; }
inline W w_add(W x, W y) { return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)}; }
template <int n>
inline W w_srl(W x) {
    return {_mm256_srli_epi32(x.a, n), _mm256_srli_epi32(x.b, n)};
}
template <int n>
inline W w_sll(W x) {
    return {_mm256_slli_epi32(x.a, n), _mm256_slli_epi32(x.b, n)};
}
template <int n>
inline W w_sra(W x) {
    return {_mm256_srai_epi32(x.a, n), _mm256_srai_epi32(x.b, n)};
}
inline W w_lut(const std::uint8_t* table, W x) {
    const __m256i t =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(t, x.a), _mm256_shuffle_epi8(t, x.b)};
}
template <int n>
inline W w_spread(W x) {
    const __m256i i = _mm256_broadcastsi128_si256(_mm_setr_epi8(n, n, n, n, n + 4, n + 4, n + 4,
                                                                n + 4, n + 8, n + 8, n + 8, n + 8,
                                                                n + 12, n + 12, n + 12, n + 12));
    return {_mm256_shuffle_epi8(x.a, i), _mm256_shuffle_epi8(x.b, i)};
}
inline W w_test(W x, W bits, W yes, W no) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i a = _mm256_cmpeq_epi8(_mm256_and_si256(x.a, bits.a), zero);
    const __m256i b = _mm256_cmpeq_epi8(_mm256_and_si256(x.b, bits.b), zero);
    return {_mm256_blendv_epi8(yes.a, no.a, a), _mm256_blendv_epi8(yes.b, no.b, b)};
}
inline W w_from_f(F x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
inline F f_from_w(W x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
inline F f_from_i(W x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
/// Low 16 bits of each of 8 lanes.
inline __m128i narrow16(__m256i x) {
    const __m256i i = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 5,
                                       8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i s = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(x, i), 0x08);
    return _mm256_castsi256_si128(s);
}
inline F f_from_half(W x) {
    return {_mm256_cvtph_ps(narrow16(x.a)), _mm256_cvtph_ps(narrow16(x.b))};
}

inline void load_t4_8rows(const std::uint8_t* p, std::int64_t stride, __m256i out[4]) {
    const auto rows = [&](int r) {
        const auto at = [&](int i) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * stride));
        };
        return _mm256_inserti128_si256(_mm256_castsi128_si256(at(r)), at(r + 4), 1);
    };
    const __m256i a = rows(0), b = rows(1), c = rows(2), d = rows(3);
    const __m256i ab0 = _mm256_unpacklo_epi32(a, b), ab1 = _mm256_unpackhi_epi32(a, b);
    const __m256i cd0 = _mm256_unpacklo_epi32(c, d), cd1 = _mm256_unpackhi_epi32(c, d);
    out[0] = _mm256_unpacklo_epi64(ab0, cd0);
    out[1] = _mm256_unpackhi_epi64(ab0, cd0);
    out[2] = _mm256_unpacklo_epi64(ab1, cd1);
    out[3] = _mm256_unpackhi_epi64(ab1, cd1);
}
inline void load_t4(const std::uint8_t* p, std::int64_t stride, W out[4]) {
    __m256i low[4], high[4];
    load_t4_8rows(p, stride, low);
    load_t4_8rows(p + 8 * stride, stride, high);
    for (int i = 0; i < 4; ++i) out[i] = {low[i], high[i]};
}

inline F f_load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void f_store(float* p, F x) {
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
inline W lane_index() {
    return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
            _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15)};
}
inline W lanes_below(int n) {
    const __m256i limit = _mm256_set1_epi32(n);
    const W i = lane_index();
    return {_mm256_cmpgt_epi32(limit, i.a), _mm256_cmpgt_epi32(limit, i.b)};
}
inline F f_load_n(const float* p, int n) {
    const W m = lanes_below(n);
    return {_mm256_maskload_ps(p, m.a), _mm256_maskload_ps(p + 8, m.b)};
}
inline void f_store_n(float* p, F x, int n) {
    const W m = lanes_below(n);
    _mm256_maskstore_ps(p, m.a, x.a);
    _mm256_maskstore_ps(p + 8, m.b, x.b);
}
inline F f_set1(float v) {
    const __m256 x = _mm256_set1_ps(v);
    return {x, x};
}
inline F f_zero() { return f_set1(0.0f); }
inline F f_add(F x, F y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F f_sub(F x, F y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
inline F f_mul(F x, F y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F f_div(F x, F y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
inline F f_fma(F x, F y, F z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
inline F f_max(F x, F y) { return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)}; }
inline F f_min(F x, F y) { return {_mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b)}; }
inline F f_rint(F x) { return {_mm256_round_ps(x.a, 8), _mm256_round_ps(x.b, 8)}; }
inline W w_rint(F x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
inline M f_lt(F x, F y) {
    return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
}
inline F f_select(M m, F yes, F no) {
    return {_mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b)};
}
inline W w_max_u(W x, W y) { return {_mm256_max_epu32(x.a, y.a), _mm256_max_epu32(x.b, y.b)}; }
inline M m_range(int lo, int hi) {
    const W below = lanes_below(lo), inside = lanes_below(hi);
    return {_mm256_castsi256_ps(_mm256_andnot_si256(below.a, inside.a)),
            _mm256_castsi256_ps(_mm256_andnot_si256(below.b, inside.b))};
}
inline W w_load_u16(const void* p) {
    const auto* q = static_cast<const __m128i*>(p);
    return {_mm256_cvtepu16_epi32(_mm_loadu_si128(q)),
            _mm256_cvtepu16_epi32(_mm_loadu_si128(q + 1))};
}
inline F f_load_half(const void* p) {
    const auto* q = static_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
inline void w_store_u16(void* p, W x) {
    auto* q = static_cast<__m128i*>(p);
    _mm_storeu_si128(q, narrow16(x.a));
    _mm_storeu_si128(q + 1, narrow16(x.b));
}
inline void f_store_half(void* p, F x) {
    auto* q = static_cast<__m128i*>(p);
    _mm_storeu_si128(q, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    _mm_storeu_si128(q + 1, _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
inline void w_store_u8(void* p, W x) {
    const __m128i i = _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i low = _mm_shuffle_epi8(narrow16(x.a), i);
    const __m128i high = _mm_shuffle_epi8(narrow16(x.b), i);
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm_unpacklo_epi64(low, high));
}
/// Horizontal maxima (unsigned) and sums of four vectors at once.
inline __m128i interleave4(W (*op)(W, W), const W in[4]) {
    const auto halves = [&](__m256i x, __m256i y) { return op({x, x}, {y, y}).a; };
    __m256i v[4];
    for (int i = 0; i < 4; ++i) v[i] = halves(in[i].a, in[i].b);
    const __m256i ab = halves(_mm256_unpacklo_epi32(v[0], v[1]), _mm256_unpackhi_epi32(v[0], v[1]));
    const __m256i cd = halves(_mm256_unpacklo_epi32(v[2], v[3]), _mm256_unpackhi_epi32(v[2], v[3]));
    const __m256i all = halves(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
    return _mm256_castsi256_si128(halves(all, _mm256_permute2x128_si256(all, all, 1)));
}
inline void w_max4(const W in[4], std::uint32_t out[4]) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), interleave4(w_max_u, in));
}
inline void w_sum4(const W in[4], std::int32_t out[4]) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), interleave4(w_add, in));
}

inline NI n_load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline NI n_set1(std::int32_t v) { return _mm256_set1_epi32(v); }
inline NI n_bcast(const void* p) { return _mm256_set1_epi32(*static_cast<const std::int32_t*>(p)); }
inline NF n_cvt(NI x) { return _mm256_cvtepi32_ps(x); }
inline NF n_loadf(const float* p) { return _mm256_loadu_ps(p); }
inline void n_storef(float* p, NF x) { _mm256_storeu_ps(p, x); }
inline NF n_set1f(float v) { return _mm256_set1_ps(v); }
inline NF n_mul(NF x, NF y) { return _mm256_mul_ps(x, y); }
inline NF n_fma(NF x, NF y, NF z) { return _mm256_fmadd_ps(x, y, z); }
inline float f_reduce_max(F x) {
    __m256 m = _mm256_max_ps(x.a, x.b);
    m = _mm256_max_ps(m, _mm256_permute2f128_ps(m, m, 1));
    m = _mm256_max_ps(m, _mm256_shuffle_ps(m, m, 0x4e));
    m = _mm256_max_ps(m, _mm256_shuffle_ps(m, m, 0xb1));
    return _mm256_cvtss_f32(m);
}
constexpr int kRowBlock = 2;
constexpr int kSoftmaxRows = 1;
