// rope_store_kv: rotates q and k in place, stores k and v, rounded, in the pages of the step
//
// source    Su et al. 2021, eq. 34
// shapes    q (T, H*d)   k, v (T, G*d)   cos, sin (T, n_dims / 2)   pages: kv_layout.cuh
// traffic   8 T d (H + G) + 4 T G d + 4 T G d bytes
// bound     launch at decode, memory above
// mapping   a block of 128 threads per token; a thread per pair of dims
// oracle    tests/reference/ops.h: rope
#include "kernels/cuda/kv_layout.cuh"
#include "kernels/cuda/ops.h"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 128;

struct RopeArgs {
    float* q;
    float* k;
    const float* v;
    std::int64_t q_stride, k_stride, v_stride;
    std::uint8_t* keys;
    std::uint8_t* values;
    std::int64_t page_bytes;
    int n_heads, n_kv_heads, head_dim;
    RopeView rope;
    RowPlaces places;
};

template <typename Element>
__global__ void __launch_bounds__(kThreads) rope_kernel(RopeArgs a) {
    const std::int64_t row = blockIdx.x;
    const int d = a.head_dim, half = d / 2, pairs = a.rope.n_dims / 2;
    const int position = a.places.position[row];
    const std::int64_t page = a.places.pages[a.places.first_page[row] + position / kPageTokens];
    auto* keys = reinterpret_cast<std::uint16_t*>(a.keys + page * a.page_bytes);
    auto* values = reinterpret_cast<std::uint16_t*>(a.values + page * a.page_bytes);
    const int slot = position % kPageTokens;
    for (int item = static_cast<int>(threadIdx.x); item < (a.n_heads + a.n_kv_heads) * half;
         item += kThreads) {
        const int head = item / half, i = item % half, kv_head = head - a.n_heads;
        const bool is_query = head < a.n_heads;
        float* x = is_query ? a.q + row * a.q_stride + static_cast<std::int64_t>(head) * d
                            : a.k + row * a.k_stride + static_cast<std::int64_t>(kv_head) * d;
        // Past the rotated dims the pairs are neighbours.
        const bool rotates = i < pairs;
        const int first = rotates && a.rope.half_split ? i : 2 * i;
        const int second = rotates && a.rope.half_split ? i + pairs : 2 * i + 1;
        float u = x[first], w = x[second];
        if (rotates) {
            const float c = a.rope.cos[row * pairs + i], s = a.rope.sin[row * pairs + i];
            const float ru = __fmaf_rn(u, c, -__fmul_rn(w, s));
            w = __fmaf_rn(u, s, __fmul_rn(w, c));
            u = ru;
            x[first] = u;
            x[second] = w;
        }
        if (is_query) continue;
        keys[key_offset(d, kv_head, slot, first)] = bits_of(u, Element{});
        keys[key_offset(d, kv_head, slot, second)] = bits_of(w, Element{});
        const float* v = a.v + row * a.v_stride + static_cast<std::int64_t>(kv_head) * d;
        values[value_offset(d, kv_head, slot, 2 * i)] = bits_of(v[2 * i], Element{});
        values[value_offset(d, kv_head, slot, 2 * i + 1)] = bits_of(v[2 * i + 1], Element{});
    }
}

}  // namespace

cudaError_t rope_store_kv(MatrixView q, MatrixView k, MatrixView v, const KvLayer& kv,
                          const AttentionSpec& spec, const RopeView& rope, const RowPlaces& places,
                          cudaStream_t stream) {
    const RopeArgs args{q.data,
                        k.data,
                        v.data,
                        q.stride,
                        k.stride,
                        v.stride,
                        static_cast<std::uint8_t*>(kv.keys),
                        static_cast<std::uint8_t*>(kv.values),
                        kv.page_bytes,
                        spec.n_heads,
                        spec.n_kv_heads,
                        spec.head_dim,
                        rope,
                        places};
    const simt::LaunchCfg cfg{static_cast<unsigned>(q.rows), kThreads, 0, stream};
    if (kv.dtype == DType::bf16) return simt::launch(rope_kernel<__nv_bfloat16>, cfg, args);
    return simt::launch(rope_kernel<__half>, cfg, args);
}

}  // namespace hearth::cuda
