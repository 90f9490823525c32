#pragma once
#pragma GCC system_header  // CUDA's own style: not for our warnings
// SIMT emulator: device-side names for an ordinary C++ compiler. kernels/cuda/simt.h includes it
// when the compiler is not nvcc; a kernel then runs as fibers on the CPU. Types (dim3, float4,
// __half, cudaStream_t ...) come from the CUDA toolkit headers. Knows CUDA; knows no kernel.
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <vector_functions.h>
#include <vector_types.h>

#undef __shared__
#define __shared__ _Pragma("GCC error \"use SMEM() or dyn_smem(): see the kernel rules\"")
#undef __launch_bounds__
#define __launch_bounds__(...)
#ifndef __grid_constant__
#define __grid_constant__
#endif

// Code that reads other threads' stack slots: invisible to the race detector on purpose.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIMT_UNRACED __attribute__((no_sanitize("thread"), noinline))
#endif
#elif defined(__SANITIZE_THREAD__)
#define SIMT_UNRACED __attribute__((no_sanitize("thread"), noinline))
#endif
#ifndef SIMT_UNRACED
#define SIMT_UNRACED
#endif

namespace simt {

struct Loc {
    const char* file;
    int line;
    // As a default argument this names the caller (a plain Loc{__builtin_FILE()...} would name the
    // header).
    static constexpr Loc here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) {
        return {f, l};
    }
};
#define SIMT_LOC ::simt::Loc loc = ::simt::Loc::here()

struct ThreadBase {  // the part kernels can see
    uint3 tid;
    unsigned linear, lane, warp;
};
struct BlockBase {
    uint3 bid;
    dim3 bdim, gdim;
};
extern thread_local ThreadBase* t_cur __attribute__((tls_model("initial-exec")));
extern thread_local BlockBase* t_blk __attribute__((tls_model("initial-exec")));

enum class Order { forward, reverse, random };
struct Config {
    Order order = Order::forward;
    unsigned long long seed = 1;
    unsigned char poison = 0xff;     // 0xff..: NaN as float/half/bf16, -1 as integer
    bool cp_async_late = true;       // copy at wait; false: copy at issue
    bool strict_exit = true;         // a barrier after some thread returned is an error
    bool defer_streams = true;       // queue stream work until something waits for it
    bool lock_device_memory = true;  // host touching device memory faults
    bool abort_on_error = true;
    std::size_t device_memory = std::size_t{8} << 30;
    std::atomic<long long> lose_after_launches{-1};  // kernels that run before the device is lost
    int multiprocessors = 4;
    int max_smem_optin = 99 * 1024;  // sm_86/89/120: 99 KiB, sm_80: 163, sm_90: 227
};
Config& config();
/// forward, or what HEARTH_SIMT_ORDER says: reverse, random.
Order default_order();
struct Stats {
    unsigned long long blocks, threads, switches, collectives, barriers, mma, cp_async_bytes,
        launches;
};
Stats& stats();
const std::string& last_message();

/// The device is lost: every call fails from now on, until reset_errors.
void fail_device();
void reset_errors();

[[noreturn]] void fail(Loc loc, const char* fmt, ...) __attribute__((format(printf, 2, 3)));

using CollFn = void (*)(void** args, unsigned mask);
enum : unsigned { kMemSync = 1, kAligned = 2 };
void collective(unsigned mask, const char* op, CollFn fn, void* arg, unsigned flags, Loc loc);
struct BarResult {
    int count, all, any;
};
BarResult block_sync(int pred, Loc loc);
void fence();         // __threadfence: edges for the race detector only
void pause(Loc loc);  // a spin loop must call something that reaches this

void* smem_static(const void* key, std::size_t bytes, std::size_t align, Loc loc);
unsigned char* dyn_smem();
bool in_smem(const void* p, std::size_t n);
void cp_async(void* dst, const void* src, unsigned bytes, unsigned valid, Loc loc);
void cp_async_commit(Loc loc);
void cp_async_wait(unsigned keep, Loc loc);

}  // namespace simt

#define threadIdx (::simt::t_cur->tid)
#define blockIdx  (::simt::t_blk->bid)
#define blockDim  (::simt::t_blk->bdim)
#define gridDim   (::simt::t_blk->gdim)
inline constexpr int warpSize = 32;

#define SMEM(T, name, ...)                                                                   \
    typedef T name##_smem_type __VA_ARGS__;                                                  \
    static const char name##_smem_key = 0;                                                   \
    name##_smem_type& name = *static_cast<name##_smem_type*>(                                \
        ::simt::smem_static(&name##_smem_key, sizeof(name##_smem_type),                      \
                            alignof(name##_smem_type) < 16 ? 16 : alignof(name##_smem_type), \
                            ::simt::Loc{__FILE__, __LINE__}))

// ---- barriers and fences -------------------------------------------------------------
inline void __syncthreads(SIMT_LOC) { simt::block_sync(0, loc); }
inline int __syncthreads_count(int p, SIMT_LOC) { return simt::block_sync(p, loc).count; }
inline int __syncthreads_and(int p, SIMT_LOC) { return simt::block_sync(p, loc).all; }
inline int __syncthreads_or(int p, SIMT_LOC) { return simt::block_sync(p, loc).any; }
inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_LOC) {
    simt::collective(
        mask, "__syncwarp", [](void**, unsigned) {}, nullptr, simt::kMemSync, loc);
}
inline void __threadfence() { simt::fence(); }
inline void __threadfence_block() { simt::fence(); }
inline void __nanosleep(unsigned, SIMT_LOC) { simt::pause(loc); }
[[noreturn]] inline void __trap() { simt::fail({"?", 0}, "__trap()"); }

// ---- warp collectives ----------------------------------------------------------------
namespace simt {
template <class T>
struct ShflArg {
    T in, out;
    int src;
};
template <class T>
SIMT_UNRACED void shfl_fn(void** a, unsigned mask) {
    for (unsigned m = mask; m; m &= m - 1) {
        auto* x = static_cast<ShflArg<T>*>(a[__builtin_ctz(m)]);
        if (mask >> x->src & 1)
            std::memcpy((void*)&x->out, (const void*)&static_cast<ShflArg<T>*>(a[x->src])->in,
                        sizeof(T));
        else
            x->src = -1;
    }
}
template <class T>
inline T shfl(unsigned mask, T v, int src, const char* op, Loc loc) {
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    ShflArg<T> a{v, v, src};
    collective(mask, op, &shfl_fn<T>, &a, 0, loc);
    if (a.src < 0)
        fail(loc, "%s reads lane %d, which does not take part (mask %08x)", op, src, mask);
    return a.out;
}
struct VoteArg {
    unsigned in, out;
};
SIMT_UNRACED inline void ballot_fn(void** a, unsigned mask) {
    unsigned r = 0;
    for (unsigned m = mask; m; m &= m - 1)
        if (static_cast<VoteArg*>(a[__builtin_ctz(m)])->in) r |= m & -m;
    for (unsigned m = mask; m; m &= m - 1) static_cast<VoteArg*>(a[__builtin_ctz(m)])->out = r;
}
template <class T, class F>
SIMT_UNRACED void reduce_all(void** a, unsigned mask, F f) {
    struct A {
        T in, out;
    };
    T r = static_cast<A*>(a[__builtin_ctz(mask)])->in;
    for (unsigned m = mask & (mask - 1); m; m &= m - 1)
        r = f(r, static_cast<A*>(a[__builtin_ctz(m)])->in);
    for (unsigned m = mask; m; m &= m - 1) static_cast<A*>(a[__builtin_ctz(m)])->out = r;
}
inline int seg(int width) { return int(t_cur->lane) & ~(width - 1); }
}  // namespace simt

template <class T>
inline T __shfl_sync(unsigned mask, T v, int src, int width = 32, SIMT_LOC) {
    return simt::shfl(mask, v, simt::seg(width) + (src & (width - 1)), "__shfl_sync", loc);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32, SIMT_LOC) {
    int me = int(simt::t_cur->lane), s = me - int(d);
    return simt::shfl(mask, v, s < simt::seg(width) ? me : s, "__shfl_up_sync", loc);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32, SIMT_LOC) {
    int me = int(simt::t_cur->lane), s = me + int(d);
    return simt::shfl(mask, v, s >= simt::seg(width) + width ? me : s, "__shfl_down_sync", loc);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32, SIMT_LOC) {
    int me = int(simt::t_cur->lane), s = me ^ x;
    return simt::shfl(mask, v, s >= simt::seg(width) + width ? me : s, "__shfl_xor_sync", loc);
}
inline unsigned __ballot_sync(unsigned mask, int p, SIMT_LOC) {
    simt::VoteArg a{p != 0, 0};
    simt::collective(mask, "__ballot_sync", &simt::ballot_fn, &a, 0, loc);
    return a.out;
}
inline int __any_sync(unsigned mask, int p, SIMT_LOC) { return __ballot_sync(mask, p, loc) != 0; }
inline int __all_sync(unsigned mask, int p, SIMT_LOC) { return __ballot_sync(mask, !p, loc) == 0; }
inline unsigned __reduce_add_sync(unsigned mask, unsigned v, SIMT_LOC) {
    unsigned a[2] = {v, 0};
    simt::collective(
        mask, "__reduce_add_sync",
        [](void** p, unsigned m) {
            simt::reduce_all<unsigned>(p, m, [](unsigned x, unsigned y) { return x + y; });
        },
        a, 0, loc);
    return a[1];
}
inline int __reduce_max_sync(unsigned mask, int v, SIMT_LOC) {
    int a[2] = {v, 0};
    simt::collective(
        mask, "__reduce_max_sync",
        [](void** p, unsigned m) {
            simt::reduce_all<int>(p, m, [](int x, int y) { return x > y ? x : y; });
        },
        a, 0, loc);
    return a[1];
}

// ---- atomics -------------------------------------------------------------------------
namespace simt {
template <class T, class F>
inline T atomic_rmw(T* p, F f) {
    using U = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    U* q = reinterpret_cast<U*>(p);
    U old = __atomic_load_n(q, __ATOMIC_RELAXED), want;
    T cur;
    do {
        std::memcpy(&cur, &old, sizeof(T));
        T next = f(cur);
        std::memcpy(&want, &next, sizeof(T));
    } while (
        !__atomic_compare_exchange_n(q, &old, want, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return cur;
}
}  // namespace simt
template <class T>
inline T atomicAdd(T* p, std::type_identity_t<T> v) {
    return simt::atomic_rmw(p, [v](T x) { return T(x + v); });
}
template <class T>
inline T atomicMax(T* p, std::type_identity_t<T> v) {
    return simt::atomic_rmw(p, [v](T x) { return x > v ? x : v; });
}
template <class T>
inline T atomicMin(T* p, std::type_identity_t<T> v) {
    return simt::atomic_rmw(p, [v](T x) { return x < v ? x : v; });
}
template <class T>
inline T atomicExch(T* p, std::type_identity_t<T> v) {
    return simt::atomic_rmw(p, [v](T) { return v; });
}
template <class T>
inline T atomicCAS(T* p, std::type_identity_t<T> c, std::type_identity_t<T> v) {
    return simt::atomic_rmw(p, [c, v](T x) { return x == c ? v : x; });
}
inline unsigned atomicInc(unsigned* p, unsigned lim) {
    return simt::atomic_rmw(p, [lim](unsigned x) { return x >= lim ? 0u : x + 1; });
}

// ---- arithmetic ----------------------------------------------------------------------
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 32; i += 8) c += int(int8_t(a >> i)) * int(int8_t(b >> i));
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += (a >> i & 255u) * (b >> i & 255u);
    return c;
}
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline int __float2int_rn(float x) { return int(lrintf(x)); }
inline float __int_as_float(int x) {
    float f;
    std::memcpy(&f, &x, 4);
    return f;
}
inline int __float_as_int(float x) {
    int i;
    std::memcpy(&i, &x, 4);
    return i;
}
inline unsigned __float_as_uint(float x) {
    unsigned i;
    std::memcpy(&i, &x, 4);
    return i;
}
inline float __uint_as_float(unsigned x) {
    float f;
    std::memcpy(&f, &x, 4);
    return f;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    unsigned long long ab = (unsigned long long)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned k = s >> (4 * i), v = unsigned(ab >> (8 * (k & 7))) & 255u;
        if (k & 8) v = v & 128 ? 255u : 0u;
        r |= v << (8 * i);
    }
    return r;
}
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
template <class T>
inline T __ldg(const T* p) {
    return *p;
}
template <class T>
inline T __ldcs(const T* p) {
    return *p;
}
template <class T>
inline void __stcs(T* p, T v) {
    *p = v;
}
