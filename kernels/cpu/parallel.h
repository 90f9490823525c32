#pragma once
// ThreadPool: persistent workers that execute one function together, with barriers inside it.
// The caller is worker 0. Waiting spins for a few microseconds, then yields for some hundred, then
// sleeps in the kernel: with more threads than processors a spinning barrier collapses by orders
// of magnitude.

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace hearth::cpu {

class ThreadPool {
  public:
    explicit ThreadPool(int n_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int size() const { return n_threads_; }

    /// Calls work(worker) on every worker, 0 being the caller, and returns when all are done.
    void run(const std::function<void(int)>& work);

    /// Within run: returns when every worker has called it. What was written before is visible.
    void barrier();

  private:
    void worker_loop(int worker);
    /// Waits until `word` differs from `old`.
    void wait_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) const;

    const int n_threads_;
    int spin_rounds_ = 0;
    const std::function<void(int)>* work_ = nullptr;
    bool quit_ = false;
    alignas(64) std::atomic<std::uint32_t> start_{0};    ///< steps started
    alignas(64) std::atomic<std::uint32_t> arrived_{0};  ///< workers in the current barrier
    alignas(64) std::atomic<std::uint32_t> passed_{0};   ///< barriers completed
    std::vector<std::jthread> threads_;
};

}  // namespace hearth::cpu
