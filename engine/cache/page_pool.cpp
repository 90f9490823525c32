#include "engine/cache/page_pool.h"

#include <numeric>
#include <utility>

#include "engine/base/check.h"

namespace hearth {

PagePool::PagePool(int n_pages, bool permuted)
    : n_pages_(n_pages),
      references_(static_cast<std::size_t>(n_pages), 0) {
    HEARTH_CHECK(n_pages >= 0);
    if (!permuted) return;
    order_.resize(static_cast<std::size_t>(n_pages));
    rank_.resize(order_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::uint64_t state = 0x243f6a8885a308d3u;  // any fixed seed
    for (std::size_t i = order_.size(); i > 1; --i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::swap(order_[i - 1], order_[(state >> 33) % i]);
    }
    for (std::size_t r = 0; r < order_.size(); ++r) {
        rank_[static_cast<std::size_t>(order_[r])] = static_cast<std::int32_t>(r);
    }
}

std::int32_t PagePool::allocate() {
    std::int32_t rank = next_rank_;
    if (!returned_.empty()) {
        rank = returned_.top();
        returned_.pop();
    } else if (next_rank_ < n_pages_) {
        ++next_rank_;
    } else {
        return -1;
    }
    const std::int32_t id = order_.empty() ? rank : order_[static_cast<std::size_t>(rank)];
    HEARTH_CHECK(references_[static_cast<std::size_t>(id)] == 0);
    references_[static_cast<std::size_t>(id)] = 1;
    ++n_in_use_;
    return id;
}

void PagePool::share(std::int32_t page) {
    HEARTH_CHECK(page >= 0 && page < n_pages_);
    HEARTH_CHECK(references_[static_cast<std::size_t>(page)] > 0);
    ++references_[static_cast<std::size_t>(page)];
}

bool PagePool::release(std::int32_t page) {
    HEARTH_CHECK(page >= 0 && page < n_pages_);
    std::int32_t& n = references_[static_cast<std::size_t>(page)];
    HEARTH_CHECK(n > 0);
    if (--n > 0) return false;
    returned_.push(rank_.empty() ? page : rank_[static_cast<std::size_t>(page)]);
    --n_in_use_;
    return true;
}

bool PagePool::check() const {
    auto returned = returned_;
    std::vector<bool> free(static_cast<std::size_t>(n_pages_), false);
    const auto mark = [&](std::int32_t rank) {
        const auto id = static_cast<std::size_t>(
            order_.empty() ? rank : order_[static_cast<std::size_t>(rank)]);
        if (free[id]) return false;
        free[id] = true;
        return true;
    };
    for (; !returned.empty(); returned.pop()) {
        if (!mark(returned.top())) return false;
    }
    for (std::int32_t r = next_rank_; r < n_pages_; ++r) {
        if (!mark(r)) return false;
    }
    int in_use = 0;
    for (std::size_t id = 0; id < references_.size(); ++id) {
        if (references_[id] < 0 || (references_[id] > 0) == free[id]) return false;
        in_use += references_[id] > 0 ? 1 : 0;
    }
    return in_use == n_in_use_;
}

}  // namespace hearth
