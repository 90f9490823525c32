#pragma once
// The table of inner kernels that every instruction-set rung provides, and the plain structs that
// cross into it. Only data here: an inline function shared between rungs could be taken by the
// linker from the widest one and then run on a processor without it.

#include <cstddef>
#include <cstdint>

#include "kernels/backend.h"
#include "kernels/dtype.h"

namespace hearth::cpu {

/// Rows of one weight panel group: one 32-bit lane is one output row.
inline constexpr int kGroupRows = 16;
/// Groups that one panel call handles.
inline constexpr int kPanelGroups = 2;
inline constexpr int kPanelRows = kGroupRows * kPanelGroups;
/// Elements of K that are unpacked at a time; multiple of every block.
inline constexpr int kPanelK = 512;
/// The same for unquantized weights (their panel is f32).
inline constexpr int kFloatPanelK = 256;
/// Columns one panel call may be given at once share its accumulator array [column][kPanelRows].

/// 32 activations, quantized: value = d * q, |q| <= 127. One cache line.
struct alignas(64) ActBlock {
    std::int8_t q[32];
    float d;              ///< amax / 127
    float s32;            ///< d * float(sum of q)
    float s16[2];         ///< the same of each half
    std::int32_t n8;      ///< -8 * sum of q: start of the integer sum for weights stored as w + 8
    std::int32_t n128;    ///< -128 * sum of q
    std::int32_t n32[2];  ///< -32 * sum of each half
};
static_assert(sizeof(ActBlock) == 64);

/// How a panel's bytes, scales and activations combine (README: canonical sums).
enum class PanelKind : std::uint8_t {
    off8,      ///< u = w + 8, one scale per 32               Q4_0
    off128,    ///< u = w + 128, one scale per 32             Q5_0 Q8_0 IQ4_NL IQ4_XS MXFP4
    min32,     ///< u = w, scale and addend per 32            Q4_1 Q5_1 Q4_K Q5_K
    off32x16,  ///< u = w + 32, one scale per 16             Q3_K Q6_K
    min16,     ///< u = w, scale and addend per 16            Q2_K
    floats,    ///< f32 panel [k][16]                         F32 F16 BF16
};
inline constexpr int kNumPanelKinds = 6;

constexpr PanelKind panel_kind(DType t) {
    switch (t) {
        case DType::q4_0:
            return PanelKind::off8;
        case DType::q5_0:
        case DType::q8_0:
        case DType::iq4_nl:
        case DType::iq4_xs:
        case DType::mxfp4:
            return PanelKind::off128;
        case DType::q4_1:
        case DType::q5_1:
        case DType::q4_k:
        case DType::q5_k:
            return PanelKind::min32;
        case DType::q3_k:
        case DType::q6_k:
            return PanelKind::off32x16;
        case DType::q2_k:
            return PanelKind::min16;
        case DType::f32:
        case DType::f16:
        case DType::bf16:
            return PanelKind::floats;
    }
    return PanelKind::floats;
}

/// Where one group's unpacked weights go. q: per 32-element block 8 x 64 bytes, byte 4 * r + i of
/// line j is element 4 * j + i of row r. scale, addend: [block or half block][16 rows].
/// For floats only `scale` is used: [k][16 rows].
struct PanelOut {
    std::uint8_t* q = nullptr;
    float* scale = nullptr;
    float* addend = nullptr;
    /// Rows that will be unpacked later, read ahead linearly at the rate of this unpacking; or
    /// null.
    const std::uint8_t* ahead = nullptr;
};

/// Two groups (the same one twice when only one exists), `n` blocks of 32 (floats: elements).
struct PanelIn {
    const std::uint8_t* q[kPanelGroups];
    const float* scale[kPanelGroups];
    const float* addend[kPanelGroups];
    int n = 0;
};

/// One tile of 64 keys and values where they lie: 4 pages of one kv head, f16 or bf16, and the
/// tile after it, which is only read ahead. Pages without a visible key may be any valid page.
struct TilePages {
    const std::uint8_t* keys[4];    ///< [d][16]
    const std::uint8_t* values[4];  ///< [16][d]
    const std::uint8_t* next_keys[4];
    const std::uint8_t* next_values[4];
    DType dtype;
};

struct Kernels {
    CpuIsa isa = CpuIsa::scalar;

    /// x (32 * n_blocks) -> blocks. Round half to even; IEEE division.
    void (*quantize)(const float* x, std::int64_t n_blocks, ActBlock* out) = nullptr;

    /// 16 rows, `stride` bytes apart, of which the blocks from `first` on are unpacked (index and
    /// count in blocks of 32; elements for floats).
    using Unpack = void (*)(const std::uint8_t* rows, std::int64_t stride, std::int64_t first,
                            int n, const PanelOut& out);
    Unpack unpack[kNumDTypes] = {};

    /// acc[c][32] += panel * columns; column c at x + c * x_stride.
    using Panel = void (*)(const PanelIn& panel, const ActBlock* x, std::int64_t x_stride,
                           int n_cols, float* acc);
    Panel panel[kNumPanelKinds] = {};
    void (*panel_floats)(const PanelIn& panel, const float* x, std::int64_t x_stride, int n_cols,
                         float* acc) = nullptr;

    /// y = x / sqrt(mean(x^2) + eps) * w, or y += that. y may be x.
    void (*rms_norm)(const float* x, const float* w, float* y, std::int64_t n, float eps,
                     bool accumulate) = nullptr;
    void (*gated)(float* gate, const float* up, std::int64_t n, GatedActivation act) = nullptr;
    void (*softcap)(float* x, std::int64_t n, float cap) = nullptr;
    /// Rotates one head in place: cos, sin (n_dims / 2), magnitude folded in.
    void (*rope)(float* x, const float* cos, const float* sin, int n_dims,
                 bool half_split) = nullptr;
    /// x -> KV element type, saturated to the finite range. `stride` in elements.
    void (*store_kv)(const float* x, std::int64_t n, void* out, std::int64_t stride,
                     DType dtype) = nullptr;

    // Attention over one tile of 64 keys (4 pages); rows are (query token, query head) pairs.
    /// KV elements -> f32, n a multiple of 16; n elements from `next` on are read ahead.
    void (*load_kv)(const void* in, const void* next, float* out, std::int64_t n,
                    DType dtype) = nullptr;
    /// s[r][64] = sum over d of q[r][d] * k[page][d][16].   k: 4 pages, f32
    void (*tile_scores)(const float* q, std::int64_t q_stride, int n_rows, const float* k,
                        int head_dim, float* s) = nullptr;
    /// The same from the pages: for so few rows that a tile as f32 is used once or twice.
    void (*page_scores)(const float* q, std::int64_t q_stride, int n_rows, const TilePages& pages,
                        int head_dim, float* s) = nullptr;
    /// Online softmax: scores s[r][64] -> probabilities of keys lo[r]..hi[r]-1 (0 elsewhere);
    /// factor[r] is for what the row accumulated before. m[r]: running maximum, l[r]: 16 lanes.
    void (*tile_softmax)(float* s, int n_rows, const int* lo, const int* hi, float softcap,
                         float* m, float* l, float* factor) = nullptr;
    /// o[r][d] = o[r][d] * factor[r] + sum over keys lo..hi-1 of p[r][key] * v[key][d].
    void (*tile_values)(const float* p, const float* factor, int n_rows, const float* v,
                        int head_dim, int lo, int hi, float* o) = nullptr;
    void (*page_values)(const float* p, const float* factor, int n_rows, const TilePages& pages,
                        int head_dim, int lo, int hi, float* o) = nullptr;
    /// Folds partition (m1, l1, o1) into (m, l, o).
    void (*merge)(float* m, float* l, float* o, float m1, float l1, const float* o1,
                  int head_dim) = nullptr;
    /// y = o / l (zeros where l is 0).
    void (*finish)(const float* o, float l, float* y, int head_dim) = nullptr;
    /// Fixed tree over 16 lanes.
    float (*sum16)(const float* lanes) = nullptr;

    /// Element functions, for tests of their error.
    void (*exp_array)(const float* x, float* y, std::int64_t n) = nullptr;
    void (*tanh_array)(const float* x, float* y, std::int64_t n) = nullptr;

    /// int8 multiply-add loop in registers; returns operations done (2 per multiply-add).
    double (*int8_loop)(std::int64_t iterations) = nullptr;
};

/// Adds the two halves of a rung's table: matmul_<rung>.cpp, rows_<rung>.cpp.
void fill_matmul_scalar(Kernels& k);
void fill_matmul_avx2(Kernels& k);
void fill_matmul_avxvnni(Kernels& k);
void fill_matmul_vnni256(Kernels& k);
void fill_matmul_avx512(Kernels& k);
void fill_rows_scalar(Kernels& k);
void fill_rows_avx2(Kernels& k);
void fill_rows_avxvnni(Kernels& k);
void fill_rows_vnni256(Kernels& k);
void fill_rows_avx512(Kernels& k);

/// The table of a supported rung.
const Kernels& kernels_for(CpuIsa isa);

}  // namespace hearth::cpu
