// acc += u8 x s8 over the 4 bytes of each lane: VPDPBUSD in its EVEX encoding, 32 registers.

constexpr int kMaxCols = 6;
constexpr bool kSignedDot = false;

template <bool offset128>
inline NI n_dot(NI acc, NI w, NI a) {
    return _mm256_dpbusd_epi32(acc, w, a);
}
