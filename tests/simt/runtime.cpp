// Stand-ins for the CUDA runtime API, with the toolkit's own declarations: host code is written
// once and linked either with libcudart or with this file. Device memory is unreachable for the
// host between waits; streams are queues of which a random one steps.
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include <sys/mman.h>

#include "kernels/cuda/simt.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define A_POISON(p, n)   __asan_poison_memory_region(p, n)
#define A_UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
#define A_POISON(p, n)   ((void)0)
#define A_UNPOISON(p, n) ((void)0)
#endif

namespace simt {
bool run_grid(const LaunchCfg& cfg, const std::function<void()>& body);
}

namespace {
using simt::config;

// ---- device memory: one reserved range, addresses never reused -------------------------
constexpr std::size_t kHeap = 1ull << 36;
struct Heap {
    char* base = nullptr;
    std::size_t top = 0, used = 0;
    int open = 0;
    std::map<char*, std::size_t> live;
    Heap() {
        base = static_cast<char*>(
            mmap(nullptr, kHeap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (base == MAP_FAILED) std::perror("mmap"), std::abort();
    }
    void protect(int prot) { range(base, top, prot); }
    void range(char* p, std::size_t n, int prot) {  // whole pages
        std::size_t lo = std::size_t(p - base) & ~std::size_t(4095),
                    hi = (std::size_t(p - base) + n + 4095) & ~std::size_t(4095);
        if (hi > lo && mprotect(base + lo, hi - lo, prot)) std::perror("mprotect"), std::abort();
    }
};
Heap& heap() {
    static Heap h;
    return h;
}
struct Unlock {  // device memory is reachable only while one of these lives
    Unlock() {
        if (heap().open++ == 0 && config().lock_device_memory)
            heap().protect(PROT_READ | PROT_WRITE);
    }
    ~Unlock() {
        if (--heap().open == 0 && config().lock_device_memory) heap().protect(PROT_NONE);
    }
};
std::map<char*, std::size_t> g_pinned;
bool inside(const std::map<char*, std::size_t>& m, const void* p, std::size_t n) {
    auto* q = static_cast<char*>(const_cast<void*>(p));
    auto it = m.upper_bound(q);
    if (it == m.begin()) return false;
    --it;
    return q >= it->first && q + n <= it->first + it->second;
}
bool on_device(const void* p) {
    auto* q = static_cast<const char*>(p);
    return q >= heap().base && q < heap().base + kHeap;
}

// ---- streams ---------------------------------------------------------------------------
struct Event {
    unsigned long recorded = 0, done = 0;
    double t = 0;
};
struct Op {
    std::function<void()> fn;
    Event* wait = nullptr;
    Event* rec = nullptr;
    unsigned long gen = 0;
};
struct Stream {
    std::deque<Op> q;
    std::vector<Op>* capture = nullptr;
};
Stream g_null;
std::vector<Stream*> g_streams{&g_null};
cudaError_t g_last = cudaSuccess, g_sticky = cudaSuccess;
unsigned long long g_rng = 88172645463325252ull;
std::unordered_map<const void*, std::size_t> g_smem_limit;

cudaError_t set(cudaError_t e) {
    if (e != cudaSuccess) g_last = e;
    return e;
}
double now() {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
Stream* S(cudaStream_t s) { return s ? reinterpret_cast<Stream*>(s) : &g_null; }
Event* E(cudaEvent_t e) { return reinterpret_cast<Event*>(e); }

void run(Op& o) {
    if (g_sticky == cudaSuccess && o.fn) o.fn();
    if (o.rec) {
        o.rec->done = o.gen > o.rec->done ? o.gen : o.rec->done;
        o.rec->t = now();
    }
}
bool step() {  // run one runnable operation, from a random stream
    std::vector<Stream*> r;
    for (auto* s : g_streams)
        if (!s->q.empty() && (!s->q.front().wait || s->q.front().wait->done >= s->q.front().gen))
            r.push_back(s);
    if (r.empty()) return false;
    g_rng ^= g_rng << 13;
    g_rng ^= g_rng >> 7;
    g_rng ^= g_rng << 17;
    Stream* s = r[(g_rng >> 32) % r.size()];
    Op o = std::move(s->q.front());
    s->q.pop_front();
    run(o);
    return true;
}
void drain() {
    Unlock u;
    while (step()) {
    }
}
void enqueue(Stream* s, Op o) {
    if (s->capture) {
        s->capture->push_back(std::move(o));
        return;
    }
    if (s == &g_null) drain();
    s->q.push_back(std::move(o));
    if (s == &g_null || !config().defer_streams) drain();
}
cudaError_t sync_result() { return set(g_sticky); }
}  // namespace

namespace simt {
bool device_visible(const void* p) { return inside(heap().live, p, 1) || inside(g_pinned, p, 1); }
cudaError_t reject_host_pointer(int index, const void* p) {
    std::fprintf(stderr, "simt: kernel argument %d (%p) is not device memory\n", index, p);
    return set(cudaErrorInvalidValue);
}
cudaError_t enqueue_launch(const void* fn, const LaunchCfg& c, std::function<void()> body) {
    unsigned long long t = 1ull * c.block.x * c.block.y * c.block.z;
    if (!t || t > 1024 || c.block.z > 64 || !c.grid.x || !c.grid.y || !c.grid.z ||
        c.grid.y > 65535 || c.grid.z > 65535)
        return set(cudaErrorInvalidConfiguration);
    std::size_t lim = 48 * 1024;
    if (auto it = g_smem_limit.find(fn); it != g_smem_limit.end()) lim = it->second;
    if (c.smem > lim) return set(cudaErrorInvalidValue);
    enqueue(S(c.stream), {[c, body = std::move(body)] {
                Unlock u;
                auto& left = config().lose_after_launches;
                if (left == 0 || !run_grid(c, body)) g_sticky = cudaErrorLaunchFailure;
                if (left > 0) --left;
            }});
    return cudaSuccess;
}
void fail_device() { g_sticky = cudaErrorLaunchFailure; }
void reset_errors() {
    g_last = g_sticky = cudaSuccess;
    for (auto* s : g_streams) s->q.clear();
}
}  // namespace simt

extern "C" {
cudaError_t cudaMalloc(void** p, size_t n) {
    Heap& h = heap();
    size_t room = ((n + 255) & ~size_t(255)) + 256;
    if (h.top + room > kHeap || n > config().device_memory - h.used)
        return set(cudaErrorMemoryAllocation);
    h.used += n;
    char* q = h.base + h.top;
    h.top += room;
    h.range(q, room, PROT_READ | PROT_WRITE);
    A_POISON(q + n, room - n);
    std::memset(q, config().poison, n);
    if (!h.open && config().lock_device_memory) h.range(q, room, PROT_NONE);
    h.live[q] = n;
    *p = q;
    return cudaSuccess;
}
cudaError_t cudaFree(void* p) {
    if (!p) return cudaSuccess;
    drain();
    auto it = heap().live.find(static_cast<char*>(p));
    if (it == heap().live.end()) return set(cudaErrorInvalidValue);
    A_POISON(p, it->second);
    heap().used -= it->second;
    // Whole pages only: a neighbour may lie in the last one.
    const size_t first = (size_t(static_cast<char*>(p) - heap().base) + 4095) & ~size_t(4095);
    const size_t last = size_t(static_cast<char*>(p) - heap().base + it->second) & ~size_t(4095);
    if (last > first) madvise(heap().base + first, last - first, MADV_DONTNEED);
    heap().live.erase(it);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void** p, size_t n) {
    *p = std::aligned_alloc(256, (n + 255) & ~size_t(255));
    g_pinned[static_cast<char*>(*p)] = n;
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
    drain();
    g_pinned.erase(static_cast<char*>(p));
    std::free(p);
    return cudaSuccess;
}

static cudaError_t check_copy(const void* d, const void* s, size_t n, cudaMemcpyKind k) {
    bool dd = on_device(d), sd = on_device(s);
    if (k == cudaMemcpyDefault && !dd && !sd) return cudaErrorInvalidValue;  // not ours to do
    if ((k == cudaMemcpyHostToDevice && (!dd || sd)) ||
        (k == cudaMemcpyDeviceToHost && (dd || !sd)) ||
        (k == cudaMemcpyDeviceToDevice && (!dd || !sd)))
        return cudaErrorInvalidValue;
    if ((dd && !inside(heap().live, d, n)) || (sd && !inside(heap().live, s, n)))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* d, const void* s, size_t n, cudaMemcpyKind k, cudaStream_t st) {
    if (auto e = check_copy(d, s, n, k); e != cudaSuccess) return set(e);
    if (!on_device(s) &&
        !inside(g_pinned, s, n)) {  // pageable source: staged before the call returns
        std::vector<char> stage(static_cast<const char*>(s), static_cast<const char*>(s) + n);
        enqueue(S(st), {[d, stage = std::move(stage)] {
                    Unlock u;
                    std::memcpy(d, stage.data(), stage.size());
                }});
        return cudaSuccess;
    }
    enqueue(S(st), {[=] {
                Unlock u;
                std::memcpy(d, s, n);
            }});
    if (!on_device(d) && !inside(g_pinned, d, n))
        return cudaStreamSynchronize(st);  // pageable destination blocks
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void* d, const void* s, size_t n, cudaMemcpyKind k) {
    if (auto e = check_copy(d, s, n, k); e != cudaSuccess) return set(e);
    drain();
    Unlock u;
    std::memcpy(d, s, n);
    return sync_result();
}
cudaError_t cudaMemsetAsync(void* d, int v, size_t n, cudaStream_t st) {
    if (!inside(heap().live, d, n)) return set(cudaErrorInvalidValue);
    enqueue(S(st), {[=] {
                Unlock u;
                std::memset(d, v, n);
            }});
    return cudaSuccess;
}
cudaError_t cudaMemset(void* d, int v, size_t n) {
    cudaMemsetAsync(d, v, n, nullptr);
    return sync_result();
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
    auto* x = new Stream;
    g_streams.push_back(x);
    *s = reinterpret_cast<cudaStream_t>(x);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    drain();
    std::erase(g_streams, S(s));
    delete S(s);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    Unlock u;  // once per wait, not per operation: mprotect walks every touched page
    while (!S(s)->q.empty())
        if (!step()) {
            std::fprintf(stderr, "simt: streams wait for an event nobody records\n");
            std::abort();
        }
    return sync_result();
}
cudaError_t cudaStreamQuery(cudaStream_t s) {
    step();
    return S(s)->q.empty() ? sync_result() : cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize() {
    drain();
    return sync_result();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
    *e = reinterpret_cast<cudaEvent_t>(new Event);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    drain();
    delete E(e);
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    Op o;
    o.rec = E(e);
    o.gen = ++E(e)->recorded;
    enqueue(S(s), std::move(o));
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
    Op o;
    o.wait = E(e);
    o.gen = E(e)->recorded;
    enqueue(S(s), std::move(o));
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    while (E(e)->done < E(e)->recorded && step()) {
    }
    return sync_result();
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
    step();
    return E(e)->done < E(e)->recorded ? cudaErrorNotReady : sync_result();
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
    *ms = float(E(b)->t - E(a)->t);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* n) {
    *n = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) { return d == 0 ? cudaSuccess : set(cudaErrorInvalidDevice); }
cudaError_t cudaDriverGetVersion(int* v) {
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) {
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    *total = config().device_memory;
    *free = *total - heap().used;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
    *p = {};
    std::snprintf(p->name, sizeof p->name, "SIMT emulator");
    p->major = 8;
    p->multiProcessorCount = config().multiprocessors;
    p->totalGlobalMem = config().device_memory;
    p->sharedMemPerBlockOptin = static_cast<std::size_t>(config().max_smem_optin);
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    auto e = g_last;
    g_last = g_sticky;
    return e;
}
cudaError_t cudaPeekAtLastError() { return g_last; }
const char* cudaGetErrorString(cudaError_t e) {
    if (e == cudaErrorLaunchFailure)
        return simt::last_message().empty() ? "unspecified launch failure"
                                            : simt::last_message().c_str();
    return e == cudaSuccess                 ? "no error"
           : e == cudaErrorMemoryAllocation ? "out of memory"
                                            : "error";
}
cudaError_t cudaFuncSetAttribute(const void* f, cudaFuncAttribute a, int v) {
    if (a == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (v > config().max_smem_optin) return set(cudaErrorInvalidValue);
        g_smem_limit[f] = size_t(v);
    }
    return cudaSuccess;
}
// Graphs: a captured list of operations, replayed in capture order.
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
    S(s)->capture = new std::vector<Op>;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
    *g = reinterpret_cast<cudaGraph_t>(S(s)->capture);
    S(s)->capture = nullptr;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* x, cudaGraph_t g, unsigned long long) {
    *x = reinterpret_cast<cudaGraphExec_t>(
        new std::vector<Op>(*reinterpret_cast<std::vector<Op>*>(g)));
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s) {
    for (auto& o : *reinterpret_cast<std::vector<Op>*>(x)) enqueue(S(s), o);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    delete reinterpret_cast<std::vector<Op>*>(g);
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
    drain();
    delete reinterpret_cast<std::vector<Op>*>(g);
    return cudaSuccess;
}
}
