#include "kernels/cpu/parallel.h"

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/cpu/host.h"

namespace hearth::cpu {
namespace {

constexpr std::chrono::microseconds kYieldTime{200};

void pause_cpu() {
#if defined(__x86_64__)
    _mm_pause();
#endif
}

/// Round to nearest, no flush to zero, exceptions masked: whatever the host program has set.
class FloatEnvironment {
  public:
#if defined(__x86_64__)
    FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
    ~FloatEnvironment() { _mm_setcsr(saved_); }

  private:
    unsigned saved_;
#endif
};

}  // namespace

ThreadPool::ThreadPool(int n_threads)
    : n_threads_(n_threads),
      // A pause is 40 to 140 cycles: some 10 microseconds. None where threads must share cores.
      spin_rounds_(n_threads <= usable_cpus() ? 400 : 0) {
    for (int i = 1; i < n_threads_; ++i) threads_.emplace_back([this, i] { worker_loop(i); });
}

ThreadPool::~ThreadPool() {
    quit_ = true;
    start_.fetch_add(1, std::memory_order_release);
    start_.notify_all();
}

/// Waking from the kernel costs as much as the shares of two workers usually differ, so a waiter
/// stays awake for a while, but gives its processor to whoever wants it.
void ThreadPool::wait_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) const {
    const auto changed = [&] { return word.load(std::memory_order_acquire) != old; };
    for (int i = 0; i < spin_rounds_; ++i) {
        if (changed()) return;
        pause_cpu();
    }
    if (spin_rounds_ > 0) {
        const auto until = std::chrono::steady_clock::now() + kYieldTime;
        while (std::chrono::steady_clock::now() < until) {
            if (changed()) return;
            std::this_thread::yield();
        }
    }
    while (word.load(std::memory_order_acquire) == old) word.wait(old, std::memory_order_acquire);
}

void ThreadPool::barrier() {
    if (n_threads_ == 1) return;
    const std::uint32_t passed = passed_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 ==
        static_cast<std::uint32_t>(n_threads_)) {
        arrived_.store(0, std::memory_order_relaxed);
        passed_.store(passed + 1, std::memory_order_release);
        passed_.notify_all();
    } else {
        wait_change(passed_, passed);
    }
}

void ThreadPool::run(const std::function<void(int)>& work) {
    work_ = &work;
    if (n_threads_ > 1) {
        start_.fetch_add(1, std::memory_order_release);
        start_.notify_all();
    }
    const FloatEnvironment environment;
    work(0);
    barrier();
}

void ThreadPool::worker_loop(int worker) {
    std::uint32_t seen = 0;
    for (;;) {
        wait_change(start_, seen);
        ++seen;
        if (quit_) return;
        const FloatEnvironment environment;
        (*work_)(worker);
        barrier();
    }
}

}  // namespace hearth::cpu
