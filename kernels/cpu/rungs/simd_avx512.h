// Vectors of the AVX-512 rung. Included inside an anonymous namespace, so that nothing here is
// visible to the linker. W: 16 lanes of 32 bits; F: 16 lanes of f32; M: a mask of 16 lanes.
// N.. are the widest native vectors, which the panel kernels use; here the same.

using W = __m512i;
using F = __m512;
using M = __mmask16;
using NI = __m512i;
using NF = __m512;
constexpr int kLanes = 16;   // of a native vector
constexpr int kVecs = 2;     // native vectors of rows per panel kernel
constexpr int kMaxCols = 6;  // columns held in registers
constexpr bool kSignedDot = false;

inline W w_load(const void* p) { return _mm512_loadu_si512(p); }
inline void w_store(void* p, W a) { _mm512_storeu_si512(p, a); }
inline W w_set1(std::uint32_t v) { return _mm512_set1_epi32(static_cast<int>(v)); }
inline W w_and(W a, W b) { return _mm512_and_si512(a, b); }
inline W w_or(W a, W b) { return _mm512_or_si512(a, b); }
inline W w_xor(W a, W b) { return _mm512_xor_si512(a, b); }
inline W w_add(W a, W b) { return _mm512_add_epi32(a, b); }
template <int n>
inline W w_srl(W a) {
    return _mm512_srli_epi32(a, n);
}
template <int n>
inline W w_sll(W a) {
    return _mm512_slli_epi32(a, n);
}
template <int n>
inline W w_sra(W a) {
    return _mm512_srai_epi32(a, n);
}
/// Per byte: table[a], a < 16.
inline W w_lut(const std::uint8_t* table, W a) {
    const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), a);
}
/// Byte `n` of each lane, four times.
template <int n>
inline W w_spread(W a) {
    const __m128i one = _mm_setr_epi8(n, n, n, n, n + 4, n + 4, n + 4, n + 4, n + 8, n + 8, n + 8,
                                      n + 8, n + 12, n + 12, n + 12, n + 12);
    return _mm512_shuffle_epi8(a, _mm512_broadcast_i32x4(one));
}
/// Per byte: a & bits ? yes : no.
inline W w_test(W a, W bits, W yes, W no) {
    return _mm512_mask_mov_epi8(no, _mm512_test_epi8_mask(a, bits), yes);
}
inline W w_from_f(F a) { return _mm512_castps_si512(a); }
inline F f_from_w(W a) { return _mm512_castsi512_ps(a); }
/// Signed lanes to f32.
inline F f_from_i(W a) { return _mm512_cvtepi32_ps(a); }
/// Half in the low 16 bits of each lane to f32.
inline F f_from_half(W a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }

/// Hides how a value was made: the compiler would keep the addresses of all 16 rows in registers,
/// of which there are not enough.
template <typename T>
inline T opaque(T value) {
    __asm__("" : "+r"(value));
    return value;
}
/// 16 bytes of row `i` of each quarter of 16 rows, the quarters beginning at `p`.
inline __m512i gather_rows(const std::uint8_t* const p[4], std::int64_t offset) {
    const auto at = [&](int quarter) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p[quarter] + offset));
    };
    __m512i v = _mm512_castsi128_si512(at(0));
    v = _mm512_inserti32x4(v, at(1), 1);
    v = _mm512_inserti32x4(v, at(2), 2);
    return _mm512_inserti32x4(v, at(3), 3);
}
/// 16 bytes of each of 16 rows; out[i]: dword i of every row.
inline void load_t4(const std::uint8_t* p, std::int64_t stride, W out[4]) {
    const std::uint8_t* quarter[4] = {p, opaque(p + 4 * stride), opaque(p + 8 * stride),
                                      opaque(p + 12 * stride)};
    const __m512i a = gather_rows(quarter, 0), b = gather_rows(quarter, stride);
    const __m512i c = gather_rows(quarter, 2 * stride), d = gather_rows(quarter, 3 * stride);
    const __m512i ab0 = _mm512_unpacklo_epi32(a, b), ab1 = _mm512_unpackhi_epi32(a, b);
    const __m512i cd0 = _mm512_unpacklo_epi32(c, d), cd1 = _mm512_unpackhi_epi32(c, d);
    out[0] = _mm512_unpacklo_epi64(ab0, cd0);
    out[1] = _mm512_unpackhi_epi64(ab0, cd0);
    out[2] = _mm512_unpacklo_epi64(ab1, cd1);
    out[3] = _mm512_unpackhi_epi64(ab1, cd1);
}

inline F f_load(const float* p) { return _mm512_loadu_ps(p); }
inline void f_store(float* p, F a) { _mm512_storeu_ps(p, a); }
/// The first n lanes (the others 0), 0 <= n <= 16.
inline F f_load_n(const float* p, int n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1u), p);
}
inline void f_store_n(float* p, F a, int n) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1u), a);
}
inline F f_set1(float v) { return _mm512_set1_ps(v); }
inline F f_zero() { return _mm512_setzero_ps(); }
inline F f_add(F a, F b) { return _mm512_add_ps(a, b); }
inline F f_sub(F a, F b) { return _mm512_sub_ps(a, b); }
inline F f_mul(F a, F b) { return _mm512_mul_ps(a, b); }
inline F f_div(F a, F b) { return _mm512_div_ps(a, b); }
inline F f_fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
/// a > b ? a : b, so the second one where either is NaN. f_min likewise.
inline F f_max(F a, F b) { return _mm512_max_ps(a, b); }
inline F f_min(F a, F b) { return _mm512_min_ps(a, b); }
/// Round half to even.
inline F f_rint(F a) { return _mm512_roundscale_ps(a, 8); }
/// Nearest integer, half to even; values within the range of int32.
inline W w_rint(F a) { return _mm512_cvtps_epi32(a); }
/// a * 2^n, n integral.
inline F f_scale(F a, F n) { return _mm512_scalef_ps(a, n); }
inline M f_lt(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
inline F f_select(M m, F yes, F no) { return _mm512_mask_blend_ps(m, no, yes); }
inline W w_max_u(W a, W b) { return _mm512_max_epu32(a, b); }
/// Lanes lo <= i < hi.
inline M m_range(int lo, int hi) {
    const W i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return static_cast<M>(_mm512_cmpge_epi32_mask(i, _mm512_set1_epi32(lo)) &
                          _mm512_cmplt_epi32_mask(i, _mm512_set1_epi32(hi)));
}
/// 16 consecutive 16-bit elements, zero-extended.
inline W w_load_u16(const void* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
inline F f_load_half(const void* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
/// Low 16 bits of each lane.
inline void w_store_u16(void* p, W a) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a));
}
/// Round to nearest even, finite values.
inline void f_store_half(void* p, F a) {
    _mm256_storeu_si256(static_cast<__m256i*>(p),
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/// Low byte of each lane.
inline void w_store_u8(void* p, W a) {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}

inline NI n_load(const void* p) { return _mm512_loadu_si512(p); }
inline NI n_set1(std::int32_t v) { return _mm512_set1_epi32(v); }
inline NI n_bcast(const void* p) { return _mm512_set1_epi32(*static_cast<const std::int32_t*>(p)); }
template <bool offset128>
inline NI n_dot(NI acc, NI w, NI a) {
    return _mm512_dpbusd_epi32(acc, w, a);
}
inline NF n_cvt(NI a) { return _mm512_cvtepi32_ps(a); }
inline NF n_loadf(const float* p) { return _mm512_loadu_ps(p); }
inline void n_storef(float* p, NF a) { _mm512_storeu_ps(p, a); }
inline NF n_set1f(float v) { return _mm512_set1_ps(v); }
inline NF n_mul(NF a, NF b) { return _mm512_mul_ps(a, b); }
inline NF n_fma(NF a, NF b, NF c) { return _mm512_fmadd_ps(a, b, c); }

/// Horizontal maxima (unsigned) and sums of four vectors at once.
inline __m128i interleave4(__m512i (*op)(__m512i, __m512i), const W in[4]) {
    const __m512i ab = op(_mm512_unpacklo_epi32(in[0], in[1]), _mm512_unpackhi_epi32(in[0], in[1]));
    const __m512i cd = op(_mm512_unpacklo_epi32(in[2], in[3]), _mm512_unpackhi_epi32(in[2], in[3]));
    __m512i all = op(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    all = op(all, _mm512_shuffle_i64x2(all, all, 0x4e));
    all = op(all, _mm512_shuffle_i64x2(all, all, 0xb1));
    return _mm512_castsi512_si128(all);
}
inline void w_max4(const W in[4], std::uint32_t out[4]) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), interleave4(w_max_u, in));
}
inline void w_sum4(const W in[4], std::int32_t out[4]) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), interleave4(w_add, in));
}
inline float f_reduce_max(F a) { return _mm512_reduce_max_ps(a); }
constexpr int kRowBlock = 6;     // rows of an attention tile in registers
constexpr int kSoftmaxRows = 4;  // rows whose softmax is computed side by side
