#pragma once
// UnitShare: the units of an op that one worker still has to do. Its owner takes pieces from the
// front, in the order of memory; a worker with nothing left takes pieces from the back of others,
// so a slow or disturbed core does not hold up the barrier. Which worker does a unit never changes
// a result.

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace hearth::cpu {

/// Part of [0, n): [first, last).
struct Range {
    std::int64_t first, last;
    bool empty() const { return first >= last; }
};

class alignas(64) UnitShare {
  public:
    /// Units of one op at most.
    static constexpr std::int64_t kUnitLimit = (std::int64_t{1} << 20) - 1;

    /// The next units from the front: a quarter of what is left, `piece` at least, so that an op
    /// costs few of these calls (each waits for the worker's loads) and its end is even. `op`
    /// numbers the ops that use shares, each worker's owner calls this at least once per op; `all`
    /// is the worker's whole range in it, which whoever comes first writes down.
    Range take_front(std::uint32_t op, Range all, std::int64_t piece) {
        return take(op, all, [&](Range left) {
            const std::int64_t n = std::max(piece, (left.last - left.first) / 4);
            const std::int64_t middle = std::min(left.first + n, left.last);
            return Cut{{left.first, middle}, {middle, left.last}};
        });
    }
    /// At most `piece` units from the back.
    Range take_back(std::uint32_t op, Range all, std::int64_t piece) {
        return take(op, all, [&](Range left) {
            const std::int64_t middle = std::max(left.last - piece, left.first);
            return Cut{{middle, left.last}, {left.first, middle}};
        });
    }

  private:
    struct Cut {
        Range taken, left;
    };
    static constexpr int kBits = 20;

    // Bits 0..19 first, 20..39 last, 40..63 the op's number. Relaxed: units are ordered by the
    // barriers around the op, the word says only who does which.
    template <typename Divide>
    Range take(std::uint32_t op, Range all, Divide divide) {
        const std::uint64_t tag = std::uint64_t{op} << (2 * kBits);
        std::uint64_t word = word_.load(std::memory_order_relaxed);
        for (;;) {
            Range left = all;
            if (word >> (2 * kBits) == tag >> (2 * kBits)) {
                left.first = static_cast<std::int64_t>(word & kUnitLimit);
                left.last = static_cast<std::int64_t>((word >> kBits) & kUnitLimit);
            }
            if (left.empty()) left.last = left.first;
            const Cut cut = left.empty() ? Cut{left, left} : divide(left);
            const std::uint64_t next = tag | static_cast<std::uint64_t>(cut.left.first) |
                                       static_cast<std::uint64_t>(cut.left.last) << kBits;
            if (next == word || word_.compare_exchange_weak(word, next, std::memory_order_relaxed))
                return cut.taken;
        }
    }

    std::atomic<std::uint64_t> word_{0};
};

}  // namespace hearth::cpu
