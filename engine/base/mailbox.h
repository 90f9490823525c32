#pragma once
// Mailbox<T>: messages from some threads to one that drains them all at once. Bounded: push
// refuses beyond the capacity, push_merged folds into what waits. Owns its messages.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace hearth {

template <typename T>
class Mailbox {
  public:
    explicit Mailbox(std::size_t capacity) : capacity_(capacity) {}

    /// False, and `message` untouched, when `capacity` messages wait already.
    bool push(T&& message) {
        const std::lock_guard lock(mutex_);
        if (messages_.size() >= capacity_) return false;
        append(std::move(message));
        return true;
    }
    /// For messages whose number is bounded elsewhere.
    void push_always(T&& message) {
        const std::lock_guard lock(mutex_);
        append(std::move(message));
    }
    /// Beyond the capacity: merge(waiting, message) is offered the waiting messages, newest first,
    /// until it returns true (it took `message` in). Appends when nothing took it in. Returns
    /// whether the box was empty before.
    template <typename Merge>
    bool push_merged(T&& message, Merge&& merge) {
        const std::lock_guard lock(mutex_);
        const bool was_empty = messages_.empty();
        if (messages_.size() >= capacity_) {
            for (auto it = messages_.rbegin(); it != messages_.rend(); ++it) {
                if (merge(*it, message)) return was_empty;
            }
        }
        append(std::move(message));
        return was_empty;
    }

    std::vector<T> drain() {
        const std::lock_guard lock(mutex_);
        return std::exchange(messages_, {});
    }
    /// Until there is a message or the time is over; true when there is one.
    bool wait_for(std::chrono::milliseconds timeout) {
        std::unique_lock lock(mutex_);
        return arrived_.wait_for(lock, timeout, [this] { return !messages_.empty(); });
    }
    void wait() {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return !messages_.empty(); });
    }

  private:
    void append(T&& message) {
        messages_.push_back(std::move(message));
        arrived_.notify_all();
    }

    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<T> messages_;
};

}  // namespace hearth
