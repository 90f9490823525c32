// acc += u8 x s8 over the 4 bytes of each lane: VPDPBUSD in its VEX encoding, 16 registers.

constexpr int kMaxCols = 3;
constexpr bool kSignedDot = false;

template <bool offset128>
inline NI n_dot(NI acc, NI w, NI a) {
    return _mm256_dpbusd_avx_epi32(acc, w, a);
}
