// acc += u8 x s8 over the 4 bytes of each lane, AVX2. vpmaddubsw adds two products in 16 bits,
// which holds while the unsigned side is at most 128: weights stored as w + 128 go through
// |w| and sign(a, w) instead, and then need no offset.

constexpr int kMaxCols = 2;
constexpr bool kSignedDot = true;

template <bool offset128>
inline NI n_dot(NI acc, NI w, NI a) {
    if constexpr (offset128) {
        const __m256i s = _mm256_xor_si256(w, _mm256_set1_epi8(-128));
        a = _mm256_sign_epi8(a, s);
        w = _mm256_abs_epi8(s);
    }
    const __m256i pairs = _mm256_maddubs_epi16(w, a);
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
