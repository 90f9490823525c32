// Unpackers of F32, F16 and BF16: 16 rows into an f32 panel [k][16]. `first` and `n` in elements.

inline float tail_element(const std::uint8_t* p, DType dtype) {
    std::uint32_t bits = 0;
    if (dtype == DType::f32) {
        __builtin_memcpy(&bits, p, 4);
        return __builtin_bit_cast(float, bits);
    }
    __builtin_memcpy(&bits, p, 2);
    if (dtype == DType::bf16) return __builtin_bit_cast(float, bits << 16);
    float lanes[16];
    f_store(lanes, f_from_half(w_set1(bits)));
    return lanes[0];
}

template <DType dtype>
inline void unpack_float(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                         const PanelOut& out) {
    constexpr int kBytes = dtype == DType::f32 ? 4 : 2;
    constexpr int kStep = 16 / kBytes;
    const std::uint8_t* p = rows + first * kBytes;
    Ahead<256> ahead(out);
    int k = 0;
    for (; k + kStep <= n; k += kStep) {
        W t[4];
        load_t4(p + static_cast<std::int64_t>(k) * kBytes, stride, t, ahead);
        for (int i = 0; i < 4; ++i) {
            float* to = out.scale + 16 * (k + i * (kStep / 4));
            if constexpr (dtype == DType::f32) {
                f_store(to, f_from_w(t[i]));
            } else if constexpr (dtype == DType::f16) {
                f_store(to, f_from_half(t[i]));
                f_store(to + 16, f_from_half(w_srl<16>(t[i])));
            } else {
                f_store(to, f_from_w(w_sll<16>(t[i])));
                f_store(to + 16, f_from_w(w_and(t[i], w_set1(0xffff0000u))));
            }
        }
    }
    for (; k < n; ++k)
        for (int r = 0; r < 16; ++r)
            out.scale[16 * k + r] =
                tail_element(p + r * stride + static_cast<std::int64_t>(k) * kBytes, dtype);
}
