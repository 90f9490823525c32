#pragma once
// Every line of inline PTX, each wrapper beside its emulation (tests/simt/tensor.cpp). Each has a
// probe test that also runs on a card. Included by simt.h.
//
// Fragment layouts (PTX ISA, mma.m16n8k16 and m16n8k32); g = lane / 4, t = lane % 4
//   A 16x16 .row: a0 (g, 2t..) a1 (g+8, 2t..) a2 (g, 2t+8..) a3 (g+8, 2t+8..)
//   B 16x8  .col: b0 (2t.., g) b1 (2t+8.., g)
//   C/D 16x8    : c0,c1 (g, 2t..) c2,c3 (g+8, 2t..)
//   s8 k32: four bytes per register, 4t.. and 4t+16..; s8 k16: a0 (g, 4t..) a1 (g+8, 4t..), b0
//   (4t.., g)

#include <cstdint>

#if !SIMT_EMU
#define PTX_FN __device__ __forceinline__
#define PTX_LOC
#else
#define PTX_FN  inline
#define PTX_LOC , SIMT_LOC
#endif

namespace ptx {

#if SIMT_EMU
namespace detail {
struct MmaArg {
    const std::uint32_t *a, *b;
    float* d;
};
void mma_f16(void** args, unsigned mask);
void mma_bf16(void** args, unsigned mask);
struct MmaS8Arg {
    const std::uint32_t *a, *b;
    int* d;
};
void mma_s8(void** args, unsigned mask);
void mma_s8_k16(void** args, unsigned mask);
}  // namespace detail
#endif

PTX_FN void mma_f16(float (&d)[4], const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2] PTX_LOC) {
#if !SIMT_EMU
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    detail::MmaArg x{a, b, d};
    simt::collective(~0u, "mma.m16n8k16.f16", &detail::mma_f16, &x, simt::kAligned, loc);
#endif
}
PTX_FN void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                     const std::uint32_t (&b)[2] PTX_LOC) {
#if !SIMT_EMU
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    detail::MmaArg x{a, b, d};
    simt::collective(~0u, "mma.m16n8k16.bf16", &detail::mma_bf16, &x, simt::kAligned, loc);
#endif
}
/// d (16 x 8) += a (16 x 32) b (32 x 8), exact.
PTX_FN void mma_s8(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2] PTX_LOC) {
#if !SIMT_EMU
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    detail::MmaS8Arg x{a, b, d};
    simt::collective(~0u, "mma.m16n8k32.s8", &detail::mma_s8, &x, simt::kAligned, loc);
#endif
}
/// d (16 x 8) += a (16 x 16) b (16 x 8), exact: one half of mma_s8.
PTX_FN void mma_s8_k16(int (&d)[4], const std::uint32_t (&a)[2],
                       const std::uint32_t (&b)[1] PTX_LOC) {
#if !SIMT_EMU
    asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};\n"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
#else
    detail::MmaS8Arg x{a, b, d};
    simt::collective(~0u, "mma.m16n8k16.s8", &detail::mma_s8_k16, &x, simt::kAligned, loc);
#endif
}

#if !SIMT_EMU
PTX_FN std::uint32_t smem_u32(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
#endif

/// 16 bytes global -> shared; bytes past `valid` are zero-filled.
PTX_FN void cp_async16(void* dst, const void* src, int valid = 16 PTX_LOC) {
#if !SIMT_EMU
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(smem_u32(dst)), "l"(src),
                 "r"(valid)
                 : "memory");
#else
    simt::cp_async(dst, src, 16, unsigned(valid), loc);
#endif
}
#if !SIMT_EMU
PTX_FN void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int keep>
PTX_FN void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(keep) : "memory");
}
#else
PTX_FN void cp_async_commit(SIMT_LOC) { simt::cp_async_commit(loc); }
template <int keep>
PTX_FN void cp_async_wait(SIMT_LOC) {
    simt::cp_async_wait(keep, loc);
}
#endif

/// 16 bytes that are read once: kept out of L1.
PTX_FN uint4 load_stream(const uint4* p) {
#if !SIMT_EMU
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];\n"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p));
    return v;
#else
    return *p;
#endif
}
PTX_FN uint2 load_stream(const uint2* p) {
#if !SIMT_EMU
    uint2 v;
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0,%1}, [%2];\n" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
#else
    return *p;
#endif
}

}  // namespace ptx
