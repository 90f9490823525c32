// SIMT emulator core: one fiber per GPU thread, one block at a time. Fibers switch in about 7 ns;
// the scheduler is greedy, so that a warp runs as far ahead as its barriers allow: that is what
// shows a missing one. Built without -fsanitize=thread even when the kernels have it (then with
// SIMT_TSAN=1).
#include "core.h"

#include <cstdio>

extern "C" void simt_switch(void** save, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.globl simt_switch
.type simt_switch,@function
.p2align 4
simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmp *%rcx
.size simt_switch,.-simt_switch
)");
#else
#error "port simt_switch (about 25 instructions) or fall back to ucontext"
#endif

namespace simt {

thread_local ThreadBase* t_cur __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local BlockBase* t_blk __attribute__((tls_model("initial-exec"))) = nullptr;

Order default_order() {
    static const Order order = [] {
        const char* const name = std::getenv("HEARTH_SIMT_ORDER");
        if (name == nullptr || !std::strcmp(name, "forward")) return Order::forward;
        if (!std::strcmp(name, "reverse")) return Order::reverse;
        if (!std::strcmp(name, "random")) return Order::random;
        std::fprintf(stderr, "HEARTH_SIMT_ORDER is '%s', expected forward, reverse or random\n",
                     name);
        std::abort();
    }();
    return order;
}
Config& config() {
    static Config c;
    static const bool is_set = [] { return c.order = default_order(), true; }();
    (void)is_set;
    return c;
}
Stats& stats() {
    static Stats s;
    return s;
}
static std::string g_message;
const std::string& last_message() { return g_message; }
thread_local Core* t_core __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

inline bool same(const char* a, const char* b) { return a == b || !std::strcmp(a, b); }
inline bool same(Loc a, Loc b) { return a.line == b.line && same(a.file, b.file); }

void switch_to(Thread* to) {
    Core& c = *t_core;
    Thread* from = cur();
    ++c.st.switches;
#if SIMT_ASAN
    __sanitizer_start_switch_fiber(from ? &from->fake : &c.main_fake, to ? to->stack : c.main_lo,
                                   to ? kStack : c.main_size);
#endif
#if SIMT_TSAN
    __tsan_switch_to_fiber(to ? to->tsan : c.main_tsan, __tsan_switch_to_fiber_no_sync);
#endif
    t_cur = to;
    simt_switch(from ? &from->sp : &c.main_sp, to ? to->sp : c.main_sp);
#if SIMT_ASAN
    const void* lo;
    std::size_t size;
    __sanitizer_finish_switch_fiber(from ? from->fake : c.main_fake, &lo, &size);
#endif
}

unsigned pick_bit(Core& c, unsigned m) {
    switch (config().order) {
        case Order::forward:
            return unsigned(__builtin_ctz(m));
        case Order::reverse:
            return 31u - unsigned(__builtin_clz(m));
        default: {
            unsigned r = c.rnd() & 31, rot = m >> r | (r ? m << (32 - r) : 0);
            return (unsigned(__builtin_ctz(rot)) + r) & 31;
        }
    }
}

// Greedy on purpose: stay with the current warp, so a warp runs as far ahead as its
// barriers let it.  That is what shows a missing one.
Thread* pick(Core& c, unsigned w) {
    if (!c.ready_warps) return nullptr;
    if (!c.warps[w].ready || (config().order == Order::random && (c.rnd() & 7) == 0))
        w = pick_bit(c, c.ready_warps);
    Warp& wp = c.warps[w];
    unsigned l = pick_bit(c, wp.ready);
    if (!(wp.ready &= ~(1u << l))) c.ready_warps &= ~(1u << w);
    Thread* t = &c.th[w * 32 + l];
    t->st = St::ready;
    return t;
}

void describe_stuck(Core& c) {
    std::string s = "deadlock:";
    struct G {
        St st;
        Loc loc;
        const char* what;
        unsigned n;
        unsigned first;
    };
    std::vector<G> gs;
    for (unsigned i = 0; i < c.n; ++i) {
        Thread& t = c.th[i];
        bool hit = false;
        for (auto& g : gs)
            if (g.st == t.st &&
                (t.st == St::done || (same(g.loc, t.where) && same(g.what, t.what)))) {
                ++g.n;
                hit = true;
                break;
            }
        if (!hit) gs.push_back({t.st, t.where, t.what, 1, i});
    }
    for (auto& g : gs) {
        char b[256];
        if (g.st == St::done)
            std::snprintf(b, sizeof b, " %u thread(s) returned (first %u);", g.n, g.first);
        else
            std::snprintf(b, sizeof b, " %u thread(s) wait in %s at %s:%d (first %u);", g.n, g.what,
                          g.loc.file, g.loc.line, g.first);
        s += b;
    }
    c.failed = true;
    c.message = s;
}

void yield_blocked() {  // the current fiber is not runnable
    Core& c = *t_core;
    Thread* me = cur();
    Thread* n = pick(c, me->warp);
    if (!n) {
        if (c.alive) describe_stuck(c);
        switch_to(nullptr);
        return;
    }
    if (n != me) switch_to(n);
}

void make_ready(Core& c, unsigned w, unsigned m) {
    if (!m) return;
    c.warps[w].ready |= m;
    c.ready_warps |= 1u << w;
}

void release_barrier(Core& c, Thread* self) {
    Bar& b = c.bar;
    b.result[b.phase & 1] = {b.count, b.all, b.any};
    ++b.phase;
    b.arrived = 0;
    b.count = 0;
    b.all = 1;
    b.any = 0;
    ++c.st.barriers;
    for (unsigned w = 0; w < c.nwarps; ++w) {
        unsigned m = c.warps[w].alive;
        if (self && self->warp == w) m &= ~(1u << self->lane);
        make_ready(c, w, m);
    }
}

void finish_rv(Core& c, unsigned w, int i, CollFn fn, Thread* self) {
    Warp& wp = c.warps[w];
    Rv r = wp.rv[i];
    wp.rv[i] = wp.rv[--wp.nrv];
    fn(wp.args, r.arrived);
    ++c.st.collectives;
    make_ready(c, w, self ? r.arrived & ~(1u << self->lane) : r.arrived);
}

void thread_exit(Thread* t) {
    Core& c = *t_core;
    Warp& wp = c.warps[t->warp];
    if (config().strict_exit && !t->cp.empty())
        fail(t->where, "thread %u returns with cp.async copies in flight", t->linear);
    t->st = St::done;
    wp.alive &= ~(1u << t->lane);
    --c.alive;
    ++c.st.threads;
    T_RELEASE(&c.slot->end);
    T_RELEASE(&c.end_sync);
    for (int i = 0; i < wp.nrv; ++i) {  // a collective may have waited only for us
        Rv& r = wp.rv[i];
        if (!(r.mask >> t->lane & 1)) continue;
        if (config().strict_exit)
            fail(r.loc, "%s: lane %u, named in mask %08x, returned without taking part", r.op,
                 t->lane, r.mask);
        if (r.arrived == (r.mask & wp.alive)) finish_rv(c, t->warp, i--, r.fn, nullptr);
    }
    if (c.bar.arrived && c.bar.arrived == c.alive) {
        if (config().strict_exit)
            fail(c.bar.loc, "__syncthreads after thread %u returned (%u of %u threads take part)",
                 t->linear, c.alive, c.n);
        release_barrier(c, nullptr);
    }
}

void fiber_main() {
#if SIMT_ASAN
    Core& c0 = *t_core;
    const void* lo;
    std::size_t size;
    __sanitizer_finish_switch_fiber(nullptr, &lo, &size);
    if (!c0.main_lo) c0.main_lo = lo, c0.main_size = size;
#endif
    for (;;) {
        Core& c = *t_core;
        T_ACQUIRE(&c.start_sync);
        T_ACQUIRE(&c.slot->end);
        (*c.body)();
        if (c.alive == 1) check_redzones(c);
        thread_exit(cur());
        yield_blocked();  // comes back for the next block
    }
}

void prepare(Core& c, unsigned i) {
    Thread& t = c.th[i];
    t.stack = c.slot->stacks + i * (kStack + kGuard) + kGuard;
    ASAN_UNPOISON_MEMORY_REGION(t.stack, kStack);
    // Spread the stack tops over cache sets: equal offsets would all collide.
    std::uintptr_t top = std::uintptr_t(t.stack + kStack) - ((i * 13u) & 63u) * 64u;
    void** sp = reinterpret_cast<void**>(top & ~std::uintptr_t(15));
    *--sp = nullptr;
    *--sp = reinterpret_cast<void*>(&fiber_main);
    for (int k = 0; k < 6; ++k) *--sp = nullptr;
    t.sp = sp;
    t.fake = nullptr;
    t.fresh = false;
}

bool run_block(Core& c, const LaunchCfg& cfg) {
    c.slot = &c.slots[c.st.blocks % kSlots];
    c.arena = c.slot->arena;
    c.th = c.slot->th.data();
    c.alive = c.n;
    c.ready_warps = c.nwarps == 32 ? ~0u : (1u << c.nwarps) - 1;
    for (unsigned w = 0; w < c.nwarps; ++w) {
        unsigned k = c.n - w * 32;
        Warp& wp = c.warps[w];
        wp.initial = wp.alive = wp.ready = k >= 32 ? ~0u : (1u << k) - 1;
        wp.nrv = 0;
    }
    c.bar.arrived = 0;
    c.bar.count = 0;
    c.bar.all = 1;
    c.bar.any = 0;
    ASAN_POISON_MEMORY_REGION(c.arena, kArena);
    c.dyn = cfg.smem;
    ASAN_UNPOISON_MEMORY_REGION(c.arena, c.dyn);
    raw_fill(c.arena, config().poison, c.dyn);
    c.used = (c.dyn + kRedzone + 127) & ~std::size_t(127);
    c.logical = c.dyn;
    c.nstatic = 0;
    for (unsigned i = 0; i < c.n; ++i) {
        Thread& t = c.th[i];
        if (t.fresh) prepare(c, i);
        t.st = St::ready;
        t.where = {"start", 0};
        t.cp.clear();
        t.group_size.clear();
        t.open = 0;
#if SIMT_TSAN
        if (!t.tsan) {  // slow to create: kept for the life of the process
            t.tsan = __tsan_create_fiber(0);
            char name[32];
            std::snprintf(name, sizeof name, "gpu-thread-%u", i);
            __tsan_set_fiber_name(t.tsan, name);
        }
#endif
    }
    Thread* first = pick(c, 0);
    switch_to(first);
    ++c.st.blocks;
    if (c.failed) {
        for (auto& t : c.slot->th) t.fresh = true;  // the stacks were abandoned
        char b[128];
        std::snprintf(b, sizeof b, " [block %u,%u,%u]", c.bid.x, c.bid.y, c.bid.z);
        c.message += b;
    }
    return !c.failed;
}

void shape(Core& c, const LaunchCfg& cfg) {
    unsigned n = cfg.block.x * cfg.block.y * cfg.block.z;
    for (Slot& s : c.slots) {
        if (s.th.empty())
            s.th = std::vector<Thread>(1024);  // never moves: suspended fibers point into it
        if (!s.stacks) {
            s.stacks =
                static_cast<char*>(mmap(nullptr, 1024 * (kStack + kGuard), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
            if (s.stacks == MAP_FAILED) std::perror("mmap"), std::abort();
            for (unsigned i = 0; i < 1024; ++i)
                mprotect(s.stacks + i * (kStack + kGuard), kGuard, PROT_NONE);
        }
        for (unsigned i = 0; i < n; ++i) {
            Thread& t = s.th[i];
            t.linear = i;
            t.lane = i & 31;
            t.warp = i >> 5;
            t.tid = {i % cfg.block.x, i / cfg.block.x % cfg.block.y,
                     i / (cfg.block.x * cfg.block.y)};
        }
    }
    c.n = n;
    c.nwarps = (n + 31) / 32;
    c.bdim = cfg.block;
    c.gdim = cfg.grid;
}

}  // namespace

void fail(Loc loc, const char* fmt, ...) {
    char b[512];
    va_list ap;
    va_start(ap, fmt);
    std::vsnprintf(b, sizeof b, fmt, ap);
    va_end(ap);
    char m[768];
    Core* c = t_core;
    if (!c || !t_cur) {
        std::fprintf(stderr, "simt: %s\n", b);
        std::abort();
    }
    std::snprintf(m, sizeof m, "%s:%d: %s [thread %u]", loc.file, loc.line, b, t_cur->linear);
    c->failed = true;
    c->message = m;
    if (config().abort_on_error) {  // here the debugger still sees the kernel's stack
        std::fprintf(stderr, "simt: %s\n", m);
        std::abort();
    }
    switch_to(nullptr);
    __builtin_unreachable();
}

BarResult block_sync(int pred, Loc loc) {
    Core& c = *t_core;
    Thread* t = cur();
    Bar& b = c.bar;
    if (b.arrived && !same(b.loc, loc))
        fail(loc, "divergent __syncthreads: other threads wait at %s:%d", b.loc.file, b.loc.line);
    if (config().strict_exit && c.alive != c.n)
        fail(loc, "__syncthreads after %u thread(s) returned", c.n - c.alive);
    b.loc = loc;
    ++b.arrived;
    b.count += pred != 0;
    b.all &= pred != 0;
    b.any |= pred != 0;
    unsigned ph = b.phase & 1;
    T_RELEASE(&c.slot->bar[ph]);
    if (b.arrived == c.alive)
        release_barrier(c, t);
    else {
        t->st = St::barrier;
        t->where = loc;
        t->what = "__syncthreads";
        yield_blocked();
    }
    T_ACQUIRE(&c.slot->bar[ph]);
    return b.result[ph];
}

void collective(unsigned mask, const char* op, CollFn fn, void* arg, unsigned flags, Loc loc) {
    Core& c = *t_core;
    Thread* t = cur();
    Warp& w = c.warps[t->warp];
    const unsigned bit = 1u << t->lane;
    if (config().strict_exit && (mask & w.initial & ~w.alive))
        fail(loc, "%s: mask %08x names lane(s) %08x that returned", op, mask,
             mask & w.initial & ~w.alive);
    if ((flags & kAligned) && w.alive != ~0u)
        fail(loc, "%s needs all 32 lanes (alive: %08x)", op, w.alive);
    if (!(mask & bit)) fail(loc, "%s: lane %u is not in its own mask %08x", op, t->lane, mask);
    int i = 0;
    for (; i < w.nrv; ++i) {
        Rv& r = w.rv[i];
        if (r.mask == mask) {
            if (!same(r.op, op))
                fail(loc, "%s meets %s at %s:%d in the same warp", op, r.op, r.loc.file,
                     r.loc.line);
            if ((flags & kAligned) && !same(r.loc, loc))
                fail(loc, "%s is .aligned, but part of the warp is at line %d", op, r.loc.line);
            break;
        }
        if (r.mask & mask)
            fail(loc, "%s with mask %08x, but lanes wait in %s with mask %08x at %s:%d", op, mask,
                 r.op, r.mask, r.loc.file, r.loc.line);
    }
    if (i == w.nrv) {
        w.rv[i] = {mask, 0, op, fn, loc, w.phase++ & 3};
        ++w.nrv;
    }
    Rv& r = w.rv[i];
    r.arrived |= bit;
    w.args[t->lane] = arg;
    unsigned ph = r.phase;
    if (flags & kMemSync) T_RELEASE(&c.slot->warp[t->warp][ph]);
    if (r.arrived == (mask & w.alive))
        finish_rv(c, t->warp, i, fn, t);
    else {
        t->st = St::warp;
        t->where = loc;
        t->what = op;
        yield_blocked();
    }
    if (flags & kMemSync) T_ACQUIRE(&c.slot->warp[t->warp][ph]);
}

void fence() {
    static char f;
    T_RELEASE(&f);
    T_ACQUIRE(&f);
}

void pause(Loc loc) {  // let everyone else run once
    Core& c = *t_core;
    Thread* t = cur();
    if (!c.ready_warps) fail(loc, "spin loop with no other thread able to run");
    Thread* n = pick(c, t->warp);
    make_ready(c, t->warp, 1u << t->lane);
    switch_to(n);
}

// ---- grid ----------------------------------------------------------------------------
bool run_grid(const LaunchCfg& cfg, const std::function<void()>& body) {
    const unsigned long long total = 1ull * cfg.grid.x * cfg.grid.y * cfg.grid.z;
    ++stats().launches;
    static thread_local std::unique_ptr<Core> own;
    if (!own) own = std::make_unique<Core>();
    Core& c = *own;
    t_core = &c;
    t_blk = &c;
    c.failed = false;
    c.st = {};
    c.body = &body;
    c.rng = config().seed * 0x9e3779b97f4a7c15ull + 1;
#if SIMT_TSAN
    c.main_tsan = __tsan_get_current_fiber();
#endif
    shape(c, cfg);
    T_RELEASE(&c.start_sync);
    bool ok = true;
    for (unsigned long long i = 0; i < total && ok; ++i) {
        const unsigned long long b = config().order == Order::reverse ? total - 1 - i : i;
        c.bid = {unsigned(b % cfg.grid.x), unsigned(b / cfg.grid.x % cfg.grid.y),
                 unsigned(b / (1ull * cfg.grid.x * cfg.grid.y))};
        ok = run_block(c, cfg);
        if (!ok) g_message = c.message;
    }
    T_ACQUIRE(&c.end_sync);
    Stats& all = stats();
    all.blocks += c.st.blocks;
    all.threads += c.st.threads;
    all.switches += c.st.switches;
    all.collectives += c.st.collectives;
    all.barriers += c.st.barriers;
    all.mma += c.st.mma;
    all.cp_async_bytes += c.st.cp_async_bytes;
    t_core = nullptr;
    t_blk = nullptr;
    return ok;
}

}  // namespace simt
