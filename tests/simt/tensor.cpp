// mma of the emulator: fragments of 32 lanes gathered, multiplied plainly, scattered. Layouts are
// those of the PTX ISA (mma.m16n8k16, m16n8k32).
#include "core.h"

// ---- tensor instructions ---------------------------------------------------------------
namespace ptx::detail {

static inline float half_bits(uint32_t h) {
    uint32_t u = (h & 0x7fff) << 13;
    float f;
    std::memcpy(&f, &u, 4);
    f *= 0x1p112f;
    uint32_t r;
    std::memcpy(&r, &f, 4);
    r |= ((h & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u) | (h & 0x8000) << 16;
    std::memcpy(&f, &r, 4);
    return f;
}
static inline float bf_bits(uint32_t h) {
    uint32_t u = h << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
}
template <float (*cvt)(uint32_t)>
static void mma_fp(void** args, unsigned) {
    uint32_t ab[16][16], bb[16][8];
    float A[16][16], B[16][8], D[16][8];
    ++simt::t_core->st.mma;
    for (int l = 0; l < 32; ++l) {
        auto* x = static_cast<MmaArg*>(args[l]);
        int g = l >> 2, t = l & 3;
        for (int j = 0; j < 4; ++j) {
            int r = g + 8 * (j & 1), c = 2 * t + 8 * (j >> 1);
            ab[r][c] = x->a[j] & 0xffff;
            ab[r][c + 1] = x->a[j] >> 16;
        }
        for (int j = 0; j < 2; ++j) {
            bb[2 * t + 8 * j][g] = x->b[j] & 0xffff;
            bb[2 * t + 8 * j + 1][g] = x->b[j] >> 16;
        }
        D[g][2 * t] = x->d[0];
        D[g][2 * t + 1] = x->d[1];
        D[g + 8][2 * t] = x->d[2];
        D[g + 8][2 * t + 1] = x->d[3];
    }
    for (int i = 0; i < 256; ++i) (&A[0][0])[i] = cvt((&ab[0][0])[i]);
    for (int i = 0; i < 128; ++i) (&B[0][0])[i] = cvt((&bb[0][0])[i]);
    for (int m = 0; m < 16; ++m)
        for (int k = 0; k < 16; ++k)
            for (int n = 0; n < 8; ++n) D[m][n] += A[m][k] * B[k][n];
    for (int l = 0; l < 32; ++l) {
        auto* x = static_cast<MmaArg*>(args[l]);
        int g = l >> 2, t = l & 3;
        x->d[0] = D[g][2 * t];
        x->d[1] = D[g][2 * t + 1];
        x->d[2] = D[g + 8][2 * t];
        x->d[3] = D[g + 8][2 * t + 1];
    }
}
void mma_f16(void** args, unsigned m) { mma_fp<half_bits>(args, m); }
void mma_bf16(void** args, unsigned m) { mma_fp<bf_bits>(args, m); }

void mma_s8(void** args, unsigned) {
    int8_t A[16][32], B[8][32];  // B transposed: [n][k]
    ++simt::t_core->st.mma;
    for (int l = 0; l < 32; ++l) {
        auto* x = static_cast<MmaS8Arg*>(args[l]);
        int g = l >> 2, t = l & 3;
        for (int j = 0; j < 4; ++j)
            std::memcpy(&A[g + 8 * (j & 1)][4 * t + 16 * (j >> 1)], &x->a[j], 4);
        for (int j = 0; j < 2; ++j) std::memcpy(&B[g][4 * t + 16 * j], &x->b[j], 4);
    }
    int acc[16][8];
    for (int m = 0; m < 16; ++m)
        for (int n = 0; n < 8; ++n) {
            int s = 0;
            for (int k = 0; k < 32; ++k) s += int(A[m][k]) * int(B[n][k]);
            acc[m][n] = s;
        }
    for (int l = 0; l < 32; ++l) {
        auto* x = static_cast<MmaS8Arg*>(args[l]);
        int g = l >> 2, t = l & 3;
        x->d[0] += acc[g][2 * t];
        x->d[1] += acc[g][2 * t + 1];
        x->d[2] += acc[g + 8][2 * t];
        x->d[3] += acc[g + 8][2 * t + 1];
    }
}

void mma_s8_k16(void** args, unsigned) {
    int8_t A[16][16], B[8][16];  // B transposed: [n][k]
    ++simt::t_core->st.mma;
    for (int l = 0; l < 32; ++l) {
        auto* x = static_cast<MmaS8Arg*>(args[l]);
        int g = l >> 2, t = l & 3;
        for (int j = 0; j < 2; ++j) std::memcpy(&A[g + 8 * j][4 * t], &x->a[j], 4);
        std::memcpy(&B[g][4 * t], &x->b[0], 4);
    }
    int acc[16][8];
    for (int m = 0; m < 16; ++m)
        for (int n = 0; n < 8; ++n) {
            int s = 0;
            for (int k = 0; k < 16; ++k) s += int(A[m][k]) * int(B[n][k]);
            acc[m][n] = s;
        }
    for (int l = 0; l < 32; ++l) {
        auto* x = static_cast<MmaS8Arg*>(args[l]);
        int g = l >> 2, t = l & 3;
        x->d[0] += acc[g][2 * t];
        x->d[1] += acc[g][2 * t + 1];
        x->d[2] += acc[g + 8][2 * t];
        x->d[3] += acc[g + 8][2 * t + 1];
    }
}

}  // namespace ptx::detail
