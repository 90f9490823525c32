#pragma once
// PagePool: ids of KV pages, who is free and how often each is shared. Knows no contents and no
// memory. Not thread-safe: the engine thread owns it.

#include <cstdint>
#include <queue>
#include <vector>

namespace hearth {

class PagePool {
  public:
    /// Ids 0..n_pages-1. Free pages are handed out lowest first, so that memory in use stays
    /// together; `permuted` scrambles that order by a fixed rule (tests: results may not depend
    /// on page ids).
    explicit PagePool(int n_pages, bool permuted = false);

    /// A page with one reference, or -1 when all are in use.
    std::int32_t allocate();
    /// One more reference to a page in use.
    void share(std::int32_t page);
    /// One reference less; true when it was the last and the page is free now.
    bool release(std::int32_t page);

    int n_pages() const { return n_pages_; }
    int n_in_use() const { return n_in_use_; }
    int n_free() const { return n_pages_ - n_in_use_; }
    int n_references(std::int32_t page) const {
        return references_[static_cast<std::size_t>(page)];
    }
    /// Every id is free or referenced, none both; for tests.
    bool check() const;

  private:
    int n_pages_;
    int n_in_use_ = 0;
    int next_rank_ = 0;                     ///< ranks from here on were never handed out
    std::vector<std::int32_t> references_;  ///< by id; 0 = free
    std::vector<std::int32_t> order_;       ///< rank -> id when permuted, empty otherwise
    std::vector<std::int32_t> rank_;        ///< id -> rank when permuted
    /// Ranks that came back, lowest on top.
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> returned_;
};

}  // namespace hearth
