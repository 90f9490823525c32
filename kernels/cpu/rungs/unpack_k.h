// Unpackers of the 256-element formats; see unpack.h. `first` and `n` are multiples of 8.

template <int j>
inline void store_scale_min(const PanelOut& out, int b, F d, F minus_dmin, W scales, W mins) {
    f_store(out.scale + 16 * (b + j), f_mul(d, byte_to_f<j % 4>(scales)));
    f_store(out.addend + 16 * (b + j), f_mul(minus_dmin, byte_to_f<j % 4>(mins)));
}
/// d, dmin and the twelve bytes of 6-bit scales and mins of Q4_K and Q5_K.
inline void unpack_k_head(const W head[4], int b, const PanelOut& out) {
    const F d = f_from_half(head[0]), m = f_neg(f_from_half(w_srl<16>(head[0])));
    const W six = w_set1(0x3f3f3f3fu), top = w_set1(0x30303030u);
    const W sc0 = w_and(head[1], six), mn0 = w_and(head[2], six);
    const W sc1 = w_or(low_nibbles(head[3]), w_and(w_srl<2>(head[1]), top));
    const W mn1 = w_or(high_nibbles(head[3]), w_and(w_srl<2>(head[2]), top));
    store_scale_min<0>(out, b, d, m, sc0, mn0);
    store_scale_min<1>(out, b, d, m, sc0, mn0);
    store_scale_min<2>(out, b, d, m, sc0, mn0);
    store_scale_min<3>(out, b, d, m, sc0, mn0);
    store_scale_min<4>(out, b, d, m, sc1, mn1);
    store_scale_min<5>(out, b, d, m, sc1, mn1);
    store_scale_min<6>(out, b, d, m, sc1, mn1);
    store_scale_min<7>(out, b, d, m, sc1, mn1);
}

inline void unpack_q4_k(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 144 / 9> ahead(out);
    for (int b = 0; b < n; b += 8) {
        const std::uint8_t* p = rows + (first + b) / 8 * 144;
        W head[4];
        load_t4(p, stride, head, ahead);
        unpack_k_head(head, b, out);
        for (int i = 0; i < 8; ++i) {  // 16 bytes: 16 elements of each of two sub-blocks
            W t[4];
            load_t4(p + 16 + 16 * i, stride, t, ahead);
            std::uint8_t* q = out.q + 512 * (b + i / 2 * 2) + 256 * (i % 2);
            for (int j = 0; j < 4; ++j) {
                put(q, j, low_nibbles(t[j]));
                put(q + 512, j, high_nibbles(t[j]));
            }
        }
    }
}

/// Bit `bit` of every byte, at bit 4.
template <int bit>
inline W bit_at_4(W x) {
    W shifted;
    if constexpr (bit < 4)
        shifted = w_sll<4 - bit>(x);
    else
        shifted = w_srl<bit - 4>(x);
    return w_and(shifted, w_set1(0x10101010u));
}
template <int pair>
inline void unpack_q5_k_pair(const std::uint8_t* p, std::int64_t stride, const W high[8],
                             std::uint8_t* q, Ahead<16 * 176 / 11>& ahead) {
    for (int h = 0; h < 2; ++h) {
        W t[4];
        load_t4(p + 48 + 32 * pair + 16 * h, stride, t, ahead);
        for (int j = 0; j < 4; ++j) {
            const W hb = high[4 * h + j];
            put(q + 1024 * pair, 4 * h + j, w_or(low_nibbles(t[j]), bit_at_4<2 * pair>(hb)));
            put(q + 1024 * pair + 512, 4 * h + j,
                w_or(high_nibbles(t[j]), bit_at_4<2 * pair + 1>(hb)));
        }
    }
}
inline void unpack_q5_k(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 176 / 11> ahead(out);
    for (int b = 0; b < n; b += 8) {
        const std::uint8_t* p = rows + (first + b) / 8 * 176;
        W head[4], high[8];
        load_t4(p, stride, head, ahead);
        unpack_k_head(head, b, out);
        load_t4(p + 16, stride, high, ahead);
        load_t4(p + 32, stride, high + 4, ahead);
        std::uint8_t* q = out.q + 512 * b;
        unpack_q5_k_pair<0>(p, stride, high, q, ahead);
        unpack_q5_k_pair<1>(p, stride, high, q, ahead);
        unpack_q5_k_pair<2>(p, stride, high, q, ahead);
        unpack_q5_k_pair<3>(p, stride, high, q, ahead);
    }
}

/// scale[4 * i + j] = d * signed byte j.
inline void store_signed_scales(const PanelOut& out, int index, F d, W bytes) {
    f_store(out.scale + 16 * index, f_mul(d, signed_byte_to_f<0>(bytes)));
    f_store(out.scale + 16 * (index + 1), f_mul(d, signed_byte_to_f<1>(bytes)));
    f_store(out.scale + 16 * (index + 2), f_mul(d, signed_byte_to_f<2>(bytes)));
    f_store(out.scale + 16 * (index + 3), f_mul(d, signed_byte_to_f<3>(bytes)));
}

inline void unpack_q6_k_half(const std::uint8_t* p, std::int64_t stride, int half, std::uint8_t* q,
                             Ahead<16 * 210 / 13>& ahead) {
    const W two = w_set1(0x30303030u);
    for (int h = 0; h < 2; ++h) {  // elements 16 h .. of each group of 32
        W high[4], a[4], b[4];
        load_t4(p + 128 + 32 * half + 16 * h, stride, high, ahead);
        load_t4(p + 64 * half + 16 * h, stride, a, ahead);
        load_t4(p + 64 * half + 32 + 16 * h, stride, b, ahead);
        for (int j = 0; j < 4; ++j) {
            const int line = 4 * h + j;
            put(q, line, w_or(low_nibbles(a[j]), w_and(w_sll<4>(high[j]), two)));
            put(q + 512, line, w_or(low_nibbles(b[j]), w_and(w_sll<2>(high[j]), two)));
            put(q + 1024, line, w_or(high_nibbles(a[j]), w_and(high[j], two)));
            put(q + 1536, line, w_or(high_nibbles(b[j]), w_and(w_srl<2>(high[j]), two)));
        }
    }
}
inline void unpack_q6_k(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 210 / 13> ahead(out);
    for (int b = 0; b < n; b += 8) {
        const std::uint8_t* p = rows + (first + b) / 8 * 210;
        const F d = f_from_half(w_srl<16>(gather_dwords(p + 206, stride)));
        W scales[4];
        load_t4(p + 192, stride, scales, ahead);
        for (int i = 0; i < 4; ++i) store_signed_scales(out, 2 * b + 4 * i, d, scales[i]);
        unpack_q6_k_half(p, stride, 0, out.q + 512 * b, ahead);
        unpack_q6_k_half(p, stride, 1, out.q + 512 * b + 2048, ahead);
    }
}

template <int j>
inline void store_q2_scale(const PanelOut& out, int index, F d, F minus_dmin, W sc, W mn) {
    f_store(out.scale + 16 * (index + j), f_mul(d, byte_to_f<j>(sc)));
    f_store(out.addend + 16 * (index + j), f_mul(minus_dmin, byte_to_f<j>(mn)));
}
inline void unpack_q2_k(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 84 / 5> ahead(out);
    const W two = w_set1(0x03030303u);
    for (int b = 0; b < n; b += 8) {
        const std::uint8_t* p = rows + (first + b) / 8 * 84;
        const W dm = gather_dwords(p + 80, stride);
        const F d = f_from_half(dm), m = f_neg(f_from_half(w_srl<16>(dm)));
        W scales[4];
        load_t4(p, stride, scales, ahead);
        for (int i = 0; i < 4; ++i) {
            const W sc = low_nibbles(scales[i]), mn = high_nibbles(scales[i]);
            store_q2_scale<0>(out, 2 * b + 4 * i, d, m, sc, mn);
            store_q2_scale<1>(out, 2 * b + 4 * i, d, m, sc, mn);
            store_q2_scale<2>(out, 2 * b + 4 * i, d, m, sc, mn);
            store_q2_scale<3>(out, 2 * b + 4 * i, d, m, sc, mn);
        }
        for (int i = 0; i < 4; ++i) {  // 16 bytes: 16 elements of each of four groups of 32
            W t[4];
            load_t4(p + 16 + 16 * i, stride, t, ahead);
            std::uint8_t* q = out.q + 512 * b + 2048 * (i / 2) + 256 * (i % 2);
            for (int j = 0; j < 4; ++j) {
                put(q, j, w_and(t[j], two));
                put(q + 512, j, w_and(w_srl<2>(t[j]), two));
                put(q + 1024, j, w_and(w_srl<4>(t[j]), two));
                put(q + 1536, j, w_and(w_srl<6>(t[j]), two));
            }
        }
    }
}

/// q - 4 + 32: low bits + 28, or + 32 with the mask bit.
template <int shift, int half>
inline W q3_bytes(W low, W mask) {
    const W q = w_and(w_srl<shift>(low), w_set1(0x03030303u));
    const W bit = w_set1(0x01010101u << (4 * half + shift / 2));
    return w_or(q, w_test(mask, bit, w_set1(0x20202020u), w_set1(0x1c1c1c1cu)));
}
template <int half>
inline void unpack_q3_k_half(const std::uint8_t* p, std::int64_t stride, const W mask[8],
                             std::uint8_t* q, Ahead<16 * 110 / 7>& ahead) {
    for (int h = 0; h < 2; ++h) {
        W t[4];
        load_t4(p + 32 + 32 * half + 16 * h, stride, t, ahead);
        for (int j = 0; j < 4; ++j) {
            const W m = mask[4 * h + j];
            put(q, 4 * h + j, q3_bytes<0, half>(t[j], m));
            put(q + 512, 4 * h + j, q3_bytes<2, half>(t[j], m));
            put(q + 1024, 4 * h + j, q3_bytes<4, half>(t[j], m));
            put(q + 1536, 4 * h + j, q3_bytes<6, half>(t[j], m));
        }
    }
}
/// Six-bit scales less 32, as signed bytes: (low | high << 4) - 32 = that with the top two bits
/// of the byte set where bit 5 is clear.
inline W q3_scales(W low, W high) {
    const W six = w_or(low, w_sll<4>(w_and(high, w_set1(0x03030303u))));
    const W five = w_and(six, w_set1(0x1f1f1f1fu));
    return w_test(six, w_set1(0x20202020u), five, w_or(five, w_set1(0xe0e0e0e0u)));
}
inline void unpack_q3_k(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 110 / 7> ahead(out);
    for (int b = 0; b < n; b += 8) {
        const std::uint8_t* p = rows + (first + b) / 8 * 110;
        const F d = f_from_half(w_srl<16>(gather_dwords(p + 106, stride)));
        W s[4], mask[8];
        load_t4(p + 92, stride, s, ahead);  // s[1..3]: the twelve scale bytes
        store_signed_scales(out, 2 * b, d, q3_scales(low_nibbles(s[1]), s[3]));
        store_signed_scales(out, 2 * b + 4, d, q3_scales(low_nibbles(s[2]), w_srl<2>(s[3])));
        store_signed_scales(out, 2 * b + 8, d, q3_scales(high_nibbles(s[1]), w_srl<4>(s[3])));
        store_signed_scales(out, 2 * b + 12, d, q3_scales(high_nibbles(s[2]), w_srl<6>(s[3])));
        load_t4(p, stride, mask, ahead);
        load_t4(p + 16, stride, mask + 4, ahead);
        unpack_q3_k_half<0>(p, stride, mask, out.q + 512 * b, ahead);
        unpack_q3_k_half<1>(p, stride, mask, out.q + 512 * b + 2048, ahead);
    }
}

template <int j>
inline void unpack_iq4_xs_block(const std::uint8_t* p, std::int64_t stride, F d, W low, W high,
                                const PanelOut& out, int b, Ahead<16 * 136 / 8>& ahead) {
    const W four = w_and(w_srl<4 * j>(low), w_set1(15));
    const W two = w_sll<4>(w_and(w_srl<16 + 2 * j>(high), w_set1(3)));
    const F sc = f_sub(f_from_i(w_or(four, two)), f_set1(32.0f));
    f_store(out.scale + 16 * (b + j), f_mul(d, sc));
    W t[4];
    load_t4(p + 8 + 16 * j, stride, t, ahead);
    for (int i = 0; i < 4; ++i) {
        put(out.q + 512 * (b + j), i, w_lut(kIq4Bytes, low_nibbles(t[i])));
        put(out.q + 512 * (b + j), i + 4, w_lut(kIq4Bytes, high_nibbles(t[i])));
    }
}
inline void unpack_iq4_xs(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                          const PanelOut& out) {
    Ahead<16 * 136 / 8> ahead(out);
    for (int b = 0; b < n; b += 8) {
        const std::uint8_t* p = rows + (first + b) / 8 * 136;
        const W head = gather_dwords(p, stride), low = gather_dwords(p + 4, stride);
        const F d = f_from_half(head);
        unpack_iq4_xs_block<0>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<1>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<2>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<3>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<4>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<5>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<6>(p, stride, d, low, head, out, b, ahead);
        unpack_iq4_xs_block<7>(p, stride, d, low, head, out, b, ahead);
    }
}
