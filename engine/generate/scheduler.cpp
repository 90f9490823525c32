#include "engine/generate/scheduler.h"

#include <algorithm>
#include <numeric>

#include "kernels/batch_view.h"

namespace hearth {

std::vector<int> Scheduler::plan(std::span<const Waiting> waiting, int chunk) {
    ++steps_;
    std::vector<int> counts(waiting.size(), 0);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (waiting[i].n_pending == 1)
            counts[i] = 1;
        else
            order.push_back(i);
    }
    const auto served = [&](std::size_t i) {
        const auto it = last_served_.find(waiting[i].id);
        return it == last_served_.end() ? 0 : it->second;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return served(a) < served(b); });
    int room = chunk;
    for (const std::size_t i : order) {
        if (room == 0) break;
        int n = std::min(waiting[i].n_pending, room);
        // A part ends with a page, so that nothing of it is lost when the next one is dropped.
        const int beyond = (waiting[i].n_cached + n) % kPageTokens;
        if (n < waiting[i].n_pending && n > beyond) n -= beyond;
        counts[i] = n;
        room -= n;
        last_served_[waiting[i].id] = steps_;
    }
    return counts;
}

ChunkSize::ChunkSize(int fixed, std::int64_t weight_bytes)
    : fixed_(fixed),
      // Two operations per weight at about 500 GOPS, 0.6 bytes per weight.
      ms_per_token_(static_cast<double>(weight_bytes) * 7e-9) {}

int ChunkSize::next(bool others_generate) const {
    if (fixed_ > 0) return fixed_;
    const double target_ms = others_generate ? 100.0 : 1000.0;
    const double n = target_ms / std::max(ms_per_token_, 1e-3);
    if (n >= kLargest) return kLargest;
    return std::max(kSmallest, static_cast<int>(n) / kPageTokens * kPageTokens);
}

void ChunkSize::measured(int n_rows, double ms) {
    if (n_rows < kSmallest) return;  // reading the weights dominates: says nothing about prompts
    ms_per_token_ += 0.5 * (ms / n_rows - ms_per_token_);
}

}  // namespace hearth
