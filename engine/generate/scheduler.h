#pragma once
// Scheduler: how many tokens of which sequence the next step computes. Every sequence that only
// needs its newest token is in every step; prompts share what room is left, the one served least
// recently first (chunked prefill: Agrawal et al. 2024, Sarathi-Serve). The choice never changes
// bits, only times. Knows counts, not tokens.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace hearth {

class Scheduler {
  public:
    struct Waiting {
        std::uint64_t id;
        int n_pending;  ///< tokens to compute, at least 1
        int n_cached;   ///< computed already
    };
    /// Tokens of each for the next step; `chunk`: the most prompt tokens of one step.
    std::vector<int> plan(std::span<const Waiting> waiting, int chunk);
    void forget(std::uint64_t id) { last_served_.erase(id); }

  private:
    std::map<std::uint64_t, std::uint64_t> last_served_;
    std::uint64_t steps_ = 0;
};

/// Chunk sizes from measured speed: alone a prompt shows progress about once a second; beside
/// others that generate, a step stays near 100 ms.
class ChunkSize {
  public:
    /// fixed > 0: always that. weight_bytes: for the guess before anything was measured.
    ChunkSize(int fixed, std::int64_t weight_bytes);

    static constexpr int kLargest = 512;
    static constexpr int kSmallest = 32;

    int largest() const { return fixed_ > 0 ? fixed_ : kLargest; }
    int next(bool others_generate) const;
    /// A step of n_rows tokens took `ms`.
    void measured(int n_rows, double ms);

  private:
    int fixed_;
    double ms_per_token_;
};

}  // namespace hearth
