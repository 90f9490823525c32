// attention: y = softmax(q k^T) v over pages, causal, windowed
//
// source    Dao 2023 (FlashAttention-2), online softmax; Dao et al. 2023 (Flash-Decoding), split KV
// shapes    q, y (T, H*d) f32   pages of keys and values f16 or bf16: kv_layout.cuh
// traffic   per tile of 16 (token, head) pairs the visible keys and values once
// bound     memory at decode; f16 tensor cores at prefill
// mapping   a block per (tile of 16 pairs, kv head, partition of 512 keys); a warp owns a run of
// 128
//           keys and walks it in tiles; K and V go from pages to registers without shared memory
//           (page layout = fragment layout). Heads above 128: two warps per run, each with half of
//           the output's dims, both with the scores, so that the accumulators stay in registers
// order     absolute constants: tiles in a run ascend, the runs of a partition fold in order, the
//           partitions fold in order; so a row's bits depend on nothing but its own keys. A block
//           per partition plus merge_kernel, or one block walking all: the same folds
// precision q as the sum of two 16-bit halves (keys are exact), p rounded to f16 (bf16: two
//           halves), all sums f32
// oracle    tests/reference/ops.h: attention
#include "kernels/cuda/device_math.cuh"
#include "kernels/cuda/kv_layout.cuh"
#include "kernels/cuda/ops.h"

namespace hearth::cuda {
namespace {

constexpr int kRuns = 4, kRunKeys = kPartition / kRuns;
/// Warps of a run; each accumulates kDim / halves_of(kDim) dims.
constexpr int halves_of(int dim) { return dim > 128 ? 2 : 1; }
constexpr int threads_of(int dim) { return kRuns * halves_of(dim) * 32; }
constexpr int kMergeParts = 32, kMergeThreads = 128;

struct Args {
    const float* q;
    float* y;
    std::int64_t q_stride, y_stride;
    const std::uint8_t* keys;
    const std::uint8_t* values;
    std::int64_t page_bytes;
    const std::int32_t* pages;
    const AttentionItem* items;
    float* partials;  ///< nullptr: one block walks all partitions
    int n_items, n_parts, n_kv_heads, per_kv, head_dim, window;
    float scale, softcap;
};

__device__ inline float minus_infinity() { return __uint_as_float(0xff800000u); }

__device__ inline void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                           __half) {
    ptx::mma_f16(d, a, b);
}
__device__ inline void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                           __nv_bfloat16) {
    ptx::mma_bf16(d, a, b);
}

/// x = high + low in 16 bits each; the halves of two values packed.
template <typename Element>
__device__ inline void split(float x0, float x1, std::uint32_t& high, std::uint32_t& low) {
    const std::uint16_t h0 = bits_of(x0, Element{}), h1 = bits_of(x1, Element{});
    const float r0 = __fsub_rn(x0, value_of_bits(h0, Element{}));
    const float r1 = __fsub_rn(x1, value_of_bits(h1, Element{}));
    high = h0 | static_cast<std::uint32_t>(h1) << 16;
    low = bits_of(r0, Element{}) | static_cast<std::uint32_t>(bits_of(r1, Element{})) << 16;
}

/// How (m, l, o) takes in (m1, l1, o1): o = fma(o1, b, o * a). Only when l1 > 0.
struct Fold {
    float a, b;
};
constexpr float kSkipped = -1.0f;  ///< as b: nothing to take in
__device__ inline Fold fold_state(float& m, float& l, float m1, float l1) {
    if (l == 0.0f) {
        m = m1;
        l = l1;
        return {0.0f, 1.0f};
    }
    const float top = fmaxf(m, m1);
    const Fold f{own_exp(__fsub_rn(m, top)), own_exp(__fsub_rn(m1, top))};
    l = __fmaf_rn(l1, f.b, __fmul_rn(l, f.a));
    m = top;
    return f;
}

/// The running state of one row in shared memory.
template <int kDim>
struct State {
    float o[kAttentionRows][kDim];
    float m[halves_of(kDim)][kAttentionRows];  ///< equal in all halves: each warp folds its own
    float l[halves_of(kDim)][kAttentionRows];
};
template <int kDim>
struct Shared {
    uint4 q[kDim / 16][2][32];  ///< [16 dims][high, low][lane]: fragments of the queries
    State<kDim> part, total;
};

/// Query rows of a tile: pair first_pair + r is token pair / per_kv, head pair % per_kv of group g.
struct Rows {
    int lo[2], hi[2];    ///< visible keys of rows g and g + 8
    int min_lo, max_hi;  ///< of the whole tile
};
__device__ inline void range_of(const Args& a, const AttentionItem& item, int r, int& lo, int& hi) {
    const int token = (item.first_pair + r) / a.per_kv;
    const bool is_row = token < item.n_rows;
    hi = is_row ? item.first_position + token + 1 : 0;
    lo = is_row && a.window > 0 && hi > a.window ? hi - a.window : 0;
}
__device__ inline Rows rows_of(const Args& a, const AttentionItem& item, int lane) {
    Rows rows;
    int unused;
    range_of(a, item, lane / 4, rows.lo[0], rows.hi[0]);
    range_of(a, item, lane / 4 + 8, rows.lo[1], rows.hi[1]);
    range_of(a, item, 0, rows.min_lo, unused);
    const int pairs = item.n_rows * a.per_kv - item.first_pair;
    range_of(a, item, (pairs < kAttentionRows ? pairs : kAttentionRows) - 1, unused, rows.max_hi);
    return rows;
}

template <typename Element, int kDim>
__device__ void load_queries(const Args& a, const AttentionItem& item, int head, int dim,
                             Shared<kDim>& shared) {
    for (int i = static_cast<int>(threadIdx.x); i < dim / 16 * 32; i += threads_of(kDim)) {
        const int c = i / 32, lane = i % 32, t = lane % 4;
        std::uint32_t high[4], low[4];
        for (int r = 0; r < 2; ++r) {
            const int pair = item.first_pair + lane / 4 + 8 * r;
            const int token = pair / a.per_kv;
            float x[4] = {};
            if (token < item.n_rows) {
                const std::int64_t row = item.first_row + token;
                const int h = head * a.per_kv + pair % a.per_kv;
                const float* p = a.q + row * a.q_stride + static_cast<std::int64_t>(h) * dim;
                for (int e = 0; e < 4; ++e) x[e] = p[16 * c + 4 * t + e];
            }
            split<Element>(x[0], x[1], high[r], low[r]);
            split<Element>(x[2], x[3], high[2 + r], low[2 + r]);
        }
        shared.q[c][0][lane] = uint4{high[0], high[1], high[2], high[3]};
        shared.q[c][1][lane] = uint4{low[0], low[1], low[2], low[3]};
    }
}

/// s = q k^T of a tile of kPages pages.
template <typename Element, int kDim, bool kExact, int kPages>
__device__ void tile_scores(const Args& a, const AttentionItem& item, int head, int dim, int key,
                            int max_hi, const Shared<kDim>& shared, int lane,
                            float (&s)[2 * kPages][4]) {
#pragma unroll
    for (int p = 0; p < kPages; ++p) {
#pragma unroll
        for (int i = 0; i < 4; ++i) s[2 * p][i] = s[2 * p + 1][i] = 0.0f;
        if (key + 16 * p >= max_hi) continue;  // the page list may end here
        const std::int64_t page = a.pages[item.first_page + key / kPageTokens + p];
        const auto* k = reinterpret_cast<const uint4*>(a.keys + page * a.page_bytes) +
                        static_cast<std::int64_t>(head) * dim * 2 + lane;
#pragma unroll
        for (int c = 0; c < kDim / 16; ++c) {
            if (!kExact && c * 16 >= dim) break;
            const uint4 v = k[c * 32];
            const uint4 high = shared.q[c][0][lane], low = shared.q[c][1][lane];
            const std::uint32_t qh[4] = {high.x, high.y, high.z, high.w};
            const std::uint32_t ql[4] = {low.x, low.y, low.z, low.w};
            const std::uint32_t k0[2] = {v.x, v.y}, k1[2] = {v.z, v.w};
            mma(s[2 * p], qh, k0, Element{});
            mma(s[2 * p], ql, k0, Element{});
            mma(s[2 * p + 1], qh, k1, Element{});
            mma(s[2 * p + 1], ql, k1, Element{});
        }
    }
}

/// Scores -> probabilities in place; m, l updated; factor: what o is multiplied with.
template <int kTiles>
__device__ void tile_softmax(const Args& a, const Rows& rows, int key, int lane,
                             float (&s)[kTiles][4], float (&m)[2], float (&l)[2],
                             float (&factor)[2]) {
    float top[2] = {minus_infinity(), minus_infinity()};
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int at = key + 8 * j + 2 * (lane % 4) + i % 2, r = i / 2;
            float v = __fmul_rn(s[j][i], a.scale);
            if (a.softcap > 0.0f) v = __fmul_rn(a.softcap, own_tanh(__fdiv_rn(v, a.softcap)));
            s[j][i] = at >= rows.lo[r] && at < rows.hi[r] ? v : minus_infinity();
            top[r] = fmaxf(top[r], s[j][i]);
        }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], 1));
        top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], 2));
        top[r] = fmaxf(top[r], m[r]);
        // No visible key yet: nothing is accumulated, any factor does.
        factor[r] = top[r] == minus_infinity() ? 1.0f : own_exp(__fsub_rn(m[r], top[r]));
        m[r] = top[r];
        l[r] = __fmul_rn(l[r], factor[r]);
    }
#pragma unroll
    for (int j = 0; j < kTiles; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int r = i / 2;
            const bool visible = s[j][i] != minus_infinity();
            s[j][i] = visible ? own_exp(__fsub_rn(s[j][i], m[r])) : 0.0f;
            l[r] = __fadd_rn(l[r], s[j][i]);
        }
}

/// o += p v of a tile, for kPart dims from first_dim.
template <typename Element, int kPart, bool kExact, int kPages>
__device__ void tile_values(const Args& a, const AttentionItem& item, int head, int dim,
                            int first_dim, int key, int max_hi, int lane,
                            const float (&s)[2 * kPages][4], float (&o)[kPart / 8][4]) {
    constexpr bool kSplit = std::is_same_v<Element, __nv_bfloat16>;
#pragma unroll
    for (int p = 0; p < kPages; ++p) {
        if (key + 16 * p >= max_hi) break;
        std::uint32_t high[4], low[4];
        split<Element>(s[2 * p][0], s[2 * p][1], high[0], low[0]);
        split<Element>(s[2 * p][2], s[2 * p][3], high[1], low[1]);
        split<Element>(s[2 * p + 1][0], s[2 * p + 1][1], high[2], low[2]);
        split<Element>(s[2 * p + 1][2], s[2 * p + 1][3], high[3], low[3]);
        const std::int64_t page = a.pages[item.first_page + key / kPageTokens + p];
        const auto* v = reinterpret_cast<const uint4*>(a.values + page * a.page_bytes) +
                        (static_cast<std::int64_t>(head) * dim + first_dim) * 2 + lane;
#pragma unroll
        for (int c = 0; c < kPart / 16; ++c) {
            if (!kExact && first_dim + c * 16 >= dim) break;
            const uint4 w = v[c * 32];
            const std::uint32_t v0[2] = {w.x, w.y}, v1[2] = {w.z, w.w};
            mma(o[2 * c], high, v0, Element{});
            mma(o[2 * c + 1], high, v1, Element{});
            if constexpr (kSplit) {
                mma(o[2 * c], low, v0, Element{});
                mma(o[2 * c + 1], low, v1, Element{});
            }
        }
    }
}

/// Folds the registers of one warp, dims of its half, into `to`.
template <int kDim, int kPart = kDim / halves_of(kDim)>
__device__ void fold_warp(State<kDim>& to, int half, int lane, int dim, const float (&m)[2],
                          const float (&l)[2], const float (&o)[kPart / 8][4]) {
    for (int r = 0; r < 2; ++r) {
        const int row = lane / 4 + 8 * r;
        float to_m = to.m[half][row], to_l = to.l[half][row];
        const bool any = l[r] > 0.0f;
        const Fold f = any ? fold_state(to_m, to_l, m[r], l[r]) : Fold{1.0f, 0.0f};
        __syncwarp();  // all four lanes of a row have read its state
        if (any) {
#pragma unroll
            for (int j = 0; j < kPart / 8; ++j)
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int at = half * kPart + 8 * j + 2 * (lane % 4) + i;
                    if (at >= dim) continue;
                    float& value = to.o[row][at];
                    value = __fmaf_rn(o[j][2 * r + i], f.b, __fmul_rn(value, f.a));
                }
            if (lane % 4 == 0) {
                to.m[half][row] = to_m;
                to.l[half][row] = to_l;
            }
        }
    }
}

template <int kDim>
__device__ void clear(State<kDim>& s) {
    for (int i = static_cast<int>(threadIdx.x); i < kAttentionRows * kDim; i += threads_of(kDim))
        s.o[i / kDim][i % kDim] = 0.0f;
    if (threadIdx.x < kAttentionRows) {
        for (int half = 0; half < halves_of(kDim); ++half) {
            s.m[half][threadIdx.x] = minus_infinity();
            s.l[half][threadIdx.x] = 0.0f;
        }
    }
}

/// One warp's run of 128 keys: (m, l, o) in registers, l summed over the lanes of a row.
template <typename Element, int kDim, bool kExact, int kPart = kDim / halves_of(kDim)>
__device__ void run_of_keys(const Args& a, const AttentionItem& item, int head, int dim, int half,
                            int begin, const Rows& rows, const Shared<kDim>& shared, int lane,
                            float (&m)[2], float (&l)[2], float (&o)[kPart / 8][4]) {
    constexpr int kPages = kDim > 128 ? 2 : 4;
    for (int key = begin; key < begin + kRunKeys; key += kPages * kPageTokens) {
        if (key >= rows.max_hi || key + kPages * kPageTokens <= rows.min_lo) continue;
        float s[2 * kPages][4], factor[2];
        tile_scores<Element, kDim, kExact, kPages>(a, item, head, dim, key, rows.max_hi, shared,
                                                   lane, s);
        tile_softmax<2 * kPages>(a, rows, key, lane, s, m, l, factor);
#pragma unroll
        for (int j = 0; j < kPart / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) o[j][i] = __fmul_rn(o[j][i], factor[i / 2]);
        tile_values<Element, kPart, kExact, kPages>(a, item, head, dim, half * kPart, key,
                                                    rows.max_hi, lane, s, o);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        l[r] = __fadd_rn(l[r], __shfl_xor_sync(0xffffffffu, l[r], 1));
        l[r] = __fadd_rn(l[r], __shfl_xor_sync(0xffffffffu, l[r], 2));
    }
}

/// Row r, column c of a finished tile -> y.
__device__ inline void store_output(const Args& a, const AttentionItem& item, int head, int dim,
                                    int r, int c, float o, float l) {
    const int pair = item.first_pair + r, token = pair / a.per_kv;
    if (token >= item.n_rows) return;
    const std::int64_t row = item.first_row + token;
    const int h = head * a.per_kv + pair % a.per_kv;
    a.y[row * a.y_stride + static_cast<std::int64_t>(h) * dim + c] =
        l > 0.0f ? __fdiv_rn(o, l) : 0.0f;
}

/// Floats of one partition of one tile: o (16, d), then m and l.
__device__ inline float* partial_of(const Args& a, int item, int head, int part) {
    const std::int64_t at =
        (static_cast<std::int64_t>(item) * a.n_kv_heads + head) * a.n_parts + part;
    return a.partials + at * kAttentionRows * (a.head_dim + 2);
}

template <typename Element, int kDim, bool kExact>
__global__ void __launch_bounds__(threads_of(kDim)) attention_kernel(Args a) {
    constexpr int kThreads = threads_of(kDim), kHalves = halves_of(kDim);
    auto& shared = *reinterpret_cast<Shared<kDim>*>(simt::dyn_smem());
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    const int run = warp / kHalves, half = warp % kHalves;
    const int head = static_cast<int>(blockIdx.y), dim = kExact ? kDim : a.head_dim;
    const AttentionItem item = a.items[blockIdx.x];
    const Rows rows = rows_of(a, item, lane);
    const bool walks = a.partials == nullptr;
    const int first = walks ? rows.min_lo / kPartition : static_cast<int>(blockIdx.z);
    if (!walks && (first * kPartition >= rows.max_hi || (first + 1) * kPartition <= rows.min_lo)) {
        // Nothing visible here; the merge reads nothing but that.
        if (thread < kAttentionRows)
            partial_of(a, static_cast<int>(blockIdx.x), head,
                       first)[kAttentionRows * (dim + 1) + thread] = 0.0f;
        return;
    }
    const int last = walks ? (rows.max_hi + kPartition - 1) / kPartition : first + 1;
    load_queries<Element, kDim>(a, item, head, dim, shared);
    clear(shared.total);
    for (int part = first; part < last; ++part) {
        clear(shared.part);
        __syncthreads();
        float m[2] = {minus_infinity(), minus_infinity()}, l[2] = {};
        float o[kDim / kHalves / 8][4] = {};
        run_of_keys<Element, kDim, kExact>(a, item, head, dim, half,
                                           part * kPartition + run * kRunKeys, rows, shared, lane,
                                           m, l, o);
        for (int r = 0; r < kRuns; ++r) {
            if (r == run) fold_warp(shared.part, half, lane, dim, m, l, o);
            __syncthreads();
        }
        if (!walks) break;
        for (int i = thread; i < kAttentionRows * dim; i += kThreads) {
            const int r = i / dim, c = i % dim;
            if (!(shared.part.l[0][r] > 0.0f)) continue;
            float total_m = shared.total.m[0][r], total_l = shared.total.l[0][r];
            const Fold f = fold_state(total_m, total_l, shared.part.m[0][r], shared.part.l[0][r]);
            float& value = shared.total.o[r][c];
            value = __fmaf_rn(shared.part.o[r][c], f.b, __fmul_rn(value, f.a));
        }
        __syncthreads();
        if (thread < kAttentionRows && shared.part.l[0][thread] > 0.0f)
            fold_state(shared.total.m[0][thread], shared.total.l[0][thread],
                       shared.part.m[0][thread], shared.part.l[0][thread]);
        __syncthreads();
    }
    if (walks) {
        for (int i = thread; i < kAttentionRows * dim; i += kThreads)
            store_output(a, item, head, dim, i / dim, i % dim, shared.total.o[i / dim][i % dim],
                         shared.total.l[0][i / dim]);
        return;
    }
    float* out = partial_of(a, static_cast<int>(blockIdx.x), head, first);
    for (int i = thread; i < kAttentionRows * dim; i += kThreads)
        out[i] = shared.part.o[i / dim][i % dim];
    if (thread < kAttentionRows) {
        out[kAttentionRows * dim + thread] = shared.part.m[0][thread];
        out[kAttentionRows * (dim + 1) + thread] = shared.part.l[0][thread];
    }
}

/// Folds the partitions of a tile in order.
__global__ void __launch_bounds__(kMergeThreads, 1) merge_kernel(Args a) {
    SMEM(Fold, fold, [kMergeParts][kAttentionRows]);
    SMEM(float, sum, [kAttentionRows]);
    const int thread = static_cast<int>(threadIdx.x), dim = a.head_dim;
    const int head = static_cast<int>(blockIdx.y), which = static_cast<int>(blockIdx.x);
    const AttentionItem item = a.items[which];
    constexpr int kMostEach = kAttentionRows * 256 / (kMergeThreads);
    float o[kMostEach] = {};
    float m = minus_infinity(), l = 0.0f;
    for (int first = 0; first < a.n_parts; first += kMergeParts) {
        const int count = a.n_parts - first < kMergeParts ? a.n_parts - first : kMergeParts;
        if (thread < kAttentionRows) {
            for (int p = 0; p < count; ++p) {
                const float* state = partial_of(a, which, head, first + p) + kAttentionRows * dim;
                const float l1 = state[kAttentionRows + thread];
                fold[p][thread] =
                    l1 > 0.0f ? fold_state(m, l, state[thread], l1) : Fold{1.0f, kSkipped};
            }
            sum[thread] = l;
        }
        __syncthreads();
#pragma unroll
        for (int e = 0; e < kMostEach; ++e) {
            const int i = thread + e * kMergeThreads, r = i / dim;
            if (i >= kAttentionRows * dim) break;
            for (int p = 0; p < count; ++p) {
                const Fold f = fold[p][r];
                if (f.b == kSkipped) continue;
                o[e] =
                    __fmaf_rn(partial_of(a, which, head, first + p)[i], f.b, __fmul_rn(o[e], f.a));
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int e = 0; e < kMostEach; ++e) {
        const int i = thread + e * kMergeThreads;
        if (i >= kAttentionRows * dim) break;
        store_output(a, item, head, dim, i / dim, i % dim, o[e], sum[i / dim]);
    }
}

template <typename Element, int kDim, bool kExact>
cudaError_t launch_attention(const Args& a, cudaStream_t stream) {
    const auto kernel = attention_kernel<Element, kDim, kExact>;
    const cudaError_t e = simt::allow_smem(kernel, sizeof(Shared<kDim>));
    if (e != cudaSuccess) return e;
    const auto parts = static_cast<unsigned>(a.partials != nullptr ? a.n_parts : 1);
    const dim3 grid(static_cast<unsigned>(a.n_items), static_cast<unsigned>(a.n_kv_heads), parts);
    return simt::launch(kernel, {grid, threads_of(kDim), sizeof(Shared<kDim>), stream}, a);
}

template <typename Element>
cudaError_t launch_dim(const Args& a, cudaStream_t stream) {
    if (a.head_dim == 64) return launch_attention<Element, 64, true>(a, stream);
    if (a.head_dim == 128) return launch_attention<Element, 128, true>(a, stream);
    if (a.head_dim == 256) return launch_attention<Element, 256, true>(a, stream);
    if (a.head_dim < 128) return launch_attention<Element, 128, false>(a, stream);
    return launch_attention<Element, 256, false>(a, stream);
}

}  // namespace

std::int64_t attention_partial_floats(int n_items, int n_parts, const AttentionSpec& spec) {
    return std::int64_t{n_items} * spec.n_kv_heads * n_parts * kAttentionRows * (spec.head_dim + 2);
}

cudaError_t attention(MatrixView y, MatrixView q, const KvLayer& kv, const AttentionSpec& spec,
                      const AttentionPlan& plan, cudaStream_t stream) {
    const Args a{q.data,
                 y.data,
                 q.stride,
                 y.stride,
                 static_cast<const std::uint8_t*>(kv.keys),
                 static_cast<const std::uint8_t*>(kv.values),
                 kv.page_bytes,
                 plan.pages,
                 plan.items,
                 plan.partials,
                 plan.n_items,
                 plan.n_parts,
                 spec.n_kv_heads,
                 spec.n_heads / spec.n_kv_heads,
                 spec.head_dim,
                 spec.window,
                 spec.scale,
                 spec.softcap};
    const cudaError_t e = kv.dtype == DType::bf16 ? launch_dim<__nv_bfloat16>(a, stream)
                                                  : launch_dim<__half>(a, stream);
    if (e != cudaSuccess || plan.partials == nullptr) return e;
    const dim3 grid(static_cast<unsigned>(plan.n_items), static_cast<unsigned>(spec.n_kv_heads));
    return simt::launch(merge_kernel, {grid, kMergeThreads, 0, stream}, a);
}

}  // namespace hearth::cuda
