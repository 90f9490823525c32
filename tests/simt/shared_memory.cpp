// Shared memory of the emulated block (an arena with poisoned gaps) and cp.async: a copy happens at
// its wait, until then the destination holds garbage.
#include "core.h"

namespace simt {

constexpr int kBeyond = 0xa5;

void* smem_static(const void* key, std::size_t bytes, std::size_t align, Loc loc) {
    Core& c = *t_core;
    for (int i = 0; i < c.nstatic; ++i)
        if (c.statics[i].key == key) return c.statics[i].p;
    std::size_t off = (c.used + align - 1) & ~(align - 1);
    c.used = (off + bytes + kRedzone + 15) & ~std::size_t(15);
    c.logical += bytes;
    if (c.logical - c.dyn > 48 * 1024) fail(loc, "more than 48 KiB of static shared memory");
    if (c.logical > std::size_t(config().max_smem_optin) || c.used > kArena || c.nstatic == 32)
        fail(loc, "shared memory exhausted");
    void* p = c.arena + off;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
    raw_fill(p, config().poison, bytes);
    c.statics[c.nstatic++] = {key, p, bytes};
    if (!SIMT_ASAN) raw_fill(static_cast<char*>(p) + bytes, kBeyond, kRedzone);
    return p;
}

/// Without ASan: what lies behind an array must be as it was. Reading there gives garbage.
void check_redzones(Core& c) {
    if (SIMT_ASAN) return;
    for (int i = 0; i < c.nstatic; ++i) {
        const auto* p = static_cast<const unsigned char*>(c.statics[i].p) + c.statics[i].bytes;
        for (std::size_t k = 0; k < kRedzone; ++k)
            if (p[k] != kBeyond)
                fail(cur()->where, "shared array %d of %zu bytes: written %zu bytes past its end",
                     i, c.statics[i].bytes, k);
    }
}
unsigned char* dyn_smem() { return reinterpret_cast<unsigned char*>(t_core->arena); }
bool in_smem(const void* p, std::size_t n) {
    Core& c = *t_core;
    auto* q = static_cast<const char*>(p);
    return q >= c.arena && q + n <= c.arena + c.used;
}

void cp_async(void* dst, const void* src, unsigned bytes, unsigned valid, Loc loc) {
    Thread* t = cur();
    Core& c = *t_core;
    if (!in_smem(dst, bytes)) fail(loc, "cp.async: destination is not shared memory");
    if ((std::uintptr_t(dst) | (valid ? std::uintptr_t(src) : 0)) & (bytes - 1))
        fail(loc, "cp.async: address not %u-byte aligned", bytes);
    if (valid > bytes) fail(loc, "cp.async: %u source bytes for a %u-byte copy", valid, bytes);
    if (valid && in_smem(src, valid)) fail(loc, "cp.async: source is shared memory");
    c.st.cp_async_bytes += valid;
    t->where = loc;
    // In flight: the destination holds garbage, and (ASan) nobody may touch it.
    T_WRITE(dst, bytes);
    raw_fill(dst, config().poison, bytes);
    if (config().cp_async_late) {
        ASAN_POISON_MEMORY_REGION(dst, bytes);
    } else {
        T_READ(src, valid);
        raw_copy(dst, src, valid);
        raw_fill(static_cast<char*>(dst) + valid, 0, bytes - valid);
    }
    t->cp.push_back({dst, src, bytes, valid});
    ++t->open;
}
void cp_async_commit(Loc loc) {
    Thread* t = cur();
    t->where = loc;
    t->group_size.push_back(t->open);
    t->open = 0;
}
void cp_async_wait(unsigned keep, Loc loc) {
    Thread* t = cur();
    t->where = loc;
    if (t->group_size.size() <= keep) return;
    unsigned ng = unsigned(t->group_size.size()) - keep, nc = 0;
    for (unsigned g = 0; g < ng; ++g) nc += t->group_size[g];
    for (unsigned i = 0; i < nc; ++i) {
        CpOp& o = t->cp[i];
        if (!config().cp_async_late) continue;
        ASAN_UNPOISON_MEMORY_REGION(o.dst, o.bytes);
        T_READ(o.src, o.valid);
        T_WRITE(o.dst, o.bytes);
        raw_copy(o.dst, o.src, o.valid);
        raw_fill(static_cast<char*>(o.dst) + o.valid, 0, o.bytes - o.valid);
    }
    t->cp.erase(t->cp.begin(), t->cp.begin() + nc);
    t->group_size.erase(t->group_size.begin(), t->group_size.begin() + ng);
}

}  // namespace simt
