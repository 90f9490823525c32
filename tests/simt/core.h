#pragma once
// Inside of the emulator: the record of a GPU thread, of a warp and of the block that runs. Shared
// by core.cpp (fibers, scheduler, barriers) and shared_memory.cpp (arena, cp.async).

#include <cstdarg>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include <sys/mman.h>

#include "kernels/cuda/simt.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#endif
#ifndef SIMT_ASAN
#define SIMT_ASAN 0
#endif
#ifndef SIMT_TSAN
#define SIMT_TSAN 0
#endif
#if SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif
#if SIMT_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" void __tsan_read_range(void*, unsigned long);
extern "C" void __tsan_write_range(void*, unsigned long);
extern "C" void __tsan_func_entry(void*);
extern "C" void __tsan_func_exit();
#define T_ACQUIRE(p) __tsan_acquire(p)
#define T_RELEASE(p) __tsan_release(p)
#define T_READ(p, n)                                                                   \
    (__tsan_func_entry(__builtin_return_address(0)), __tsan_read_range((void*)(p), n), \
     __tsan_func_exit())
#define T_WRITE(p, n) \
    (__tsan_func_entry(__builtin_return_address(0)), __tsan_write_range(p, n), __tsan_func_exit())
#else
#define T_ACQUIRE(p)  ((void)(p))
#define T_RELEASE(p)  ((void)(p))
#define T_READ(p, n)  ((void)0)
#define T_WRITE(p, n) ((void)0)
#endif

// Not memset/memcpy: the race detector intercepts those, and these bytes are the emulator's own
// business.
static inline void raw_fill(void* p, int v, std::size_t n) {
#if SIMT_TSAN
    asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(v) : "memory");
#else
    std::memset(p, v, n);
#endif
}
static inline void raw_copy(void* d, const void* s, std::size_t n) {
#if SIMT_TSAN
    asm volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
#else
    std::memcpy(d, s, n);
#endif
}

namespace simt {

constexpr std::size_t kStack = SIMT_ASAN ? 256 << 10 : 128 << 10;
constexpr std::size_t kGuard = 4096;
constexpr std::size_t kArena = 512 << 10;
constexpr std::size_t kRedzone = 128;

enum class St : unsigned char { ready, barrier, warp, done };
struct CpOp {
    void* dst;
    const void* src;
    unsigned bytes, valid;
};

// Happens-before edges for the race detector. Blocks take turns with kSlots copies, so a barrier of
// one block orders nothing in its neighbours: races between blocks stay visible unless they are
// kSlots blocks apart.
constexpr int kSlots = SIMT_TSAN ? 4 : 1;

struct Thread : ThreadBase {
    void* sp = nullptr;
    St st = St::ready;
    bool fresh = true;
    Loc where{};
    const char* what = "";
    std::vector<CpOp> cp;
    std::vector<unsigned> group_size;  // committed groups, oldest first
    unsigned open = 0;                 // copies since the last commit
    char* stack = nullptr;
    void* fake = nullptr;
    void* tsan = nullptr;
};

struct Slot {
    char bar[2], warp[32][4], end;
    char* arena;
    std::vector<Thread> th;
    char* stacks = nullptr;
};

struct Rv {
    unsigned mask, arrived;
    const char* op;
    CollFn fn;
    Loc loc;
    unsigned phase;
};
struct Warp {
    unsigned initial, alive, ready;
    int nrv;
    unsigned phase;
    Rv rv[32];
    void* args[32];
};
struct Bar {
    unsigned arrived, phase;
    int count, all, any;
    Loc loc;
    BarResult result[2];
};
struct Static {
    const void* key;
    void* p;
    std::size_t bytes;
};

struct Core : BlockBase {
    Thread* th = nullptr;
    unsigned n = 0, alive = 0, nwarps = 0, ready_warps = 0;
    Warp warps[32];
    Bar bar;
    Slot slots[kSlots];
    Slot* slot = nullptr;
    char* arena = nullptr;
    std::size_t dyn = 0, used = 0, logical = 0, limit = 0;
    int nstatic = 0;
    Static statics[32];
    const std::function<void()>* body = nullptr;
    void* main_sp = nullptr;
    void* main_fake = nullptr;
    const void* main_lo = nullptr;
    std::size_t main_size = 0;
    void* main_tsan = nullptr;
    bool failed = false;
    std::string message;
    unsigned long long rng = 1;
    Stats st{};
    char start_sync = 0, end_sync = 0;

    Core() {
        for (Slot& s : slots) {
            s.arena = static_cast<char*>(std::aligned_alloc(1024, kArena));
            ASAN_POISON_MEMORY_REGION(s.arena, kArena);
        }
    }
    ~Core() {
        for (Slot& s : slots) {
            ASAN_UNPOISON_MEMORY_REGION(s.arena, kArena);
            std::free(s.arena);
            if (s.stacks) munmap(s.stacks, 1024 * (kStack + kGuard));
        }
    }
    unsigned rnd() {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        return unsigned(rng >> 32);
    }
};

void check_redzones(Core& c);

extern thread_local Core* t_core __attribute__((tls_model("initial-exec")));
inline Thread* cur() { return static_cast<Thread*>(t_cur); }

}  // namespace simt
