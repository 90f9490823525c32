// Unpackers: 16 rows of a weight, straight from the file's layout, into a panel whose 32-bit lane
// r holds 4 consecutive elements of row r. One source for all rungs; included inside an anonymous
// namespace after a simd_*.h. Integers and scales are those of kernels/quant.h, plus the offset
// of the panel kind. No load leaves the blocks it is asked for.

inline W nibble_mask() { return w_set1(0x0f0f0f0fu); }
inline W low_nibbles(W x) { return w_and(x, nibble_mask()); }
inline W high_nibbles(W x) { return w_and(w_srl<4>(x), nibble_mask()); }
/// Lane `i` of a panel block's 8 lines.
inline void put(std::uint8_t* block, int line, W x) { w_store(block + 64 * line, x); }

/// Read-ahead, spread evenly over the unpacking: a burst of prefetches would wait for the dozen or
/// so line buffers, and walking 16 rows together defeats the hardware's own prefetcher. One linear
/// stream through the rows that come next, `step` bytes for each load of 16 rows x 16 bytes.
template <int kStep>
struct Ahead {
    const std::uint8_t* p;
    std::int64_t step;
    /// Without rows to come the same (cached) address is touched again and again.
    explicit Ahead(const PanelOut& out)
        : p(out.ahead != nullptr ? out.ahead : out.q),
          step(out.ahead != nullptr ? kStep : 0) {}
    void advance() {
#pragma GCC unroll 8
        for (int i = 0; i < kStep; i += 64) __builtin_prefetch(p + i, 0, 2);
        p += step;
    }
};
template <int kStep>
inline void load_t4(const std::uint8_t* p, std::int64_t stride, W out[4], Ahead<kStep>& ahead) {
    ahead.advance();
    load_t4(p, stride, out);
}

/// One dword of each of 16 rows. Plain moves: they use no shuffle unit.
inline W gather_dwords(const std::uint8_t* p, std::int64_t stride) {
    alignas(64) std::uint32_t v[16];
    for (int r = 0; r < 16; ++r) __builtin_memcpy(&v[r], p + r * stride, 4);
    return w_load(v);
}

template <int j>
inline F byte_to_f(W x) {
    return f_from_i(w_and(w_srl<8 * j>(x), w_set1(255)));
}
template <int j>
inline F signed_byte_to_f(W x) {
    return f_from_i(w_sra<24>(w_sll<24 - 8 * j>(x)));
}
inline F f_neg(F x) { return f_from_w(w_xor(w_from_f(x), w_set1(0x80000000u))); }

/// Bits 4 * line .. of each lane's 32 choose between two dwords, per byte.
template <int line>
inline W fifth_bit(W qh, std::uint32_t yes, std::uint32_t no) {
    const W bits = w_set1(line % 2 == 0 ? 0x08040201u : 0x80402010u);
    return w_test(w_spread<line / 2>(qh), bits, w_set1(yes), w_set1(no));
}

/// Nibble blocks of 32: Q4_0, Q4_1, IQ4_NL, MXFP4 (qs at the block's end, 16 bytes).
template <int kBytes, typename Head, typename Quant>
inline void unpack_nibbles(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                           const PanelOut& out, Head head, Quant quant) {
    Ahead<16 * kBytes> ahead(out);
    for (int b = 0; b < n; ++b) {
        const std::uint8_t* p = rows + (first + b) * kBytes;
        head(gather_dwords(p, stride), b);
        W t[4];
        load_t4(p + kBytes - 16, stride, t, ahead);
        std::uint8_t* q = out.q + 512 * b;
        for (int i = 0; i < 4; ++i) {
            put(q, i, quant(low_nibbles(t[i])));
            put(q, i + 4, quant(high_nibbles(t[i])));
        }
    }
}

inline void store_d(const PanelOut& out, int b, W head) {
    f_store(out.scale + 16 * b, f_from_half(head));
}
inline void store_dm(const PanelOut& out, int b, W head) {
    f_store(out.scale + 16 * b, f_from_half(head));
    f_store(out.addend + 16 * b, f_from_half(w_srl<16>(head)));
}

inline void unpack_q4_0(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    unpack_nibbles<18>(
        rows, stride, first, n, out, [&](W head, int b) { store_d(out, b, head); },
        [](W q) { return q; });
}
inline void unpack_q4_1(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    unpack_nibbles<20>(
        rows, stride, first, n, out, [&](W head, int b) { store_dm(out, b, head); },
        [](W q) { return q; });
}
/// kIq4Values + 128
alignas(16) constexpr std::uint8_t kIq4Bytes[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                    129, 141, 153, 166, 181, 197, 217, 241};
/// kMxfp4Values + 128
alignas(16) constexpr std::uint8_t kMxfp4Bytes[16] = {128, 129, 130, 131, 132, 134, 136, 140,
                                                      128, 127, 126, 125, 124, 122, 120, 116};
inline void unpack_iq4_nl(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                          const PanelOut& out) {
    unpack_nibbles<18>(
        rows, stride, first, n, out, [&](W head, int b) { store_d(out, b, head); },
        [](W q) { return w_lut(kIq4Bytes, q); });
}
inline void unpack_mxfp4(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                         const PanelOut& out) {
    const auto head = [&](W h, int b) {
        const F e = f_from_i(w_and(h, w_set1(255)));  // 2^(e - 128): e - 1 is the exponent field
        const W bits = w_sll<23>(w_add(w_and(h, w_set1(255)), w_set1(0xffffffffu)));
        const F small = f_select(f_lt(e, f_set1(1.0f)), f_from_w(w_set1(0x00200000u)),
                                 f_from_w(w_set1(0x00400000u)));
        f_store(out.scale + 16 * b, f_select(f_lt(e, f_set1(2.0f)), small, f_from_w(bits)));
    };
    unpack_nibbles<17>(rows, stride, first, n, out, head,
                       [](W q) { return w_lut(kMxfp4Bytes, q); });
}

template <std::uint32_t yes, std::uint32_t no>
inline void put_five_bits(std::uint8_t* q, const W t[4], W qh) {
    put(q, 0, w_or(low_nibbles(t[0]), fifth_bit<0>(qh, yes, no)));
    put(q, 1, w_or(low_nibbles(t[1]), fifth_bit<1>(qh, yes, no)));
    put(q, 2, w_or(low_nibbles(t[2]), fifth_bit<2>(qh, yes, no)));
    put(q, 3, w_or(low_nibbles(t[3]), fifth_bit<3>(qh, yes, no)));
    put(q, 4, w_or(high_nibbles(t[0]), fifth_bit<4>(qh, yes, no)));
    put(q, 5, w_or(high_nibbles(t[1]), fifth_bit<5>(qh, yes, no)));
    put(q, 6, w_or(high_nibbles(t[2]), fifth_bit<6>(qh, yes, no)));
    put(q, 7, w_or(high_nibbles(t[3]), fifth_bit<7>(qh, yes, no)));
}
inline void unpack_q5_0(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 22> ahead(out);
    for (int b = 0; b < n; ++b) {
        const std::uint8_t* p = rows + (first + b) * 22;
        store_d(out, b, gather_dwords(p, stride));
        const W qh = gather_dwords(p + 2, stride);
        W t[4];
        load_t4(p + 6, stride, t, ahead);
        // q - 16 + 128: nibble + 112, or + 128 with the fifth bit
        put_five_bits<0x80808080u, 0x70707070u>(out.q + 512 * b, t, qh);
    }
}
inline void unpack_q5_1(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 24> ahead(out);
    for (int b = 0; b < n; ++b) {
        const std::uint8_t* p = rows + (first + b) * 24;
        store_dm(out, b, gather_dwords(p, stride));
        const W qh = gather_dwords(p + 4, stride);
        W t[4];
        load_t4(p + 8, stride, t, ahead);
        put_five_bits<0x10101010u, 0u>(out.q + 512 * b, t, qh);
    }
}
inline void unpack_q8_0(const std::uint8_t* rows, std::int64_t stride, std::int64_t first, int n,
                        const PanelOut& out) {
    Ahead<16 * 34 / 2> ahead(out);
    for (int b = 0; b < n; ++b) {
        const std::uint8_t* p = rows + (first + b) * 34;
        store_d(out, b, gather_dwords(p, stride));
        for (int h = 0; h < 2; ++h) {
            W t[4];
            load_t4(p + 2 + 16 * h, stride, t, ahead);
            for (int i = 0; i < 4; ++i)
                put(out.q + 512 * b, 4 * h + i, w_xor(t[i], w_set1(0x80808080u)));
        }
    }
}
