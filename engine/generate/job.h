#pragma once
// Job: one request while it runs: its timeline, sampler, what was shown, times. Knows one
// sequence; computing and scheduling are the worker's.

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/disk_cache.h"
#include "engine/cache/prefix_cache.h"
#include "engine/engine.h"
#include "engine/generate/sampler.h"
#include "engine/generate/sequence.h"
#include "engine/generate/text_filter.h"
#include "engine/speculate/speculator.h"
#include "engine/text/tokenizer.h"

namespace hearth {

using Clock = std::chrono::steady_clock;

inline double ms_between(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
}

/// A request that waits or runs.
struct Ticket {
    RequestId id = 0;
    Request request;
    Clock::time_point submitted;
    double load_ms = 0;       ///< of the model it waited for
    int told_ahead = -1;      ///< of the last Queued event
    std::string told_reason;  ///< of it
};

/// xxh3-128 over rows of logits, of which the last ones may still be withdrawn.
class RowHasher {
  public:
    RowHasher();
    ~RowHasher();
    RowHasher(const RowHasher&) = delete;
    RowHasher& operator=(const RowHasher&) = delete;
    void add(std::span<const float> row);
    /// The oldest n of the rows that wait are final.
    void confirm(std::size_t n);
    /// 32 hex digits, over the final rows.
    std::string digest() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

class Job {
  public:
    /// `prompt` is not empty and shorter than the context.
    Job(Ticket ticket, std::vector<std::int32_t> prompt, int context_tokens,
        const Tokenizer& tokenizer);

    RequestId id() const { return ticket_.id; }
    const std::string& conversation() const { return ticket_.request.conversation; }
    int n_prompt() const { return n_prompt_; }
    /// Not the user's: it takes nothing away from conversations and leaves nothing behind.
    bool is_background() const { return ticket_.request.background; }
    /// What it computed is of use to later turns.
    bool keeps_pages() const { return !forgotten && !is_background(); }
    bool is_private() const { return ticket_.request.no_disk_cache; }
    bool in_prompt() const { return sequence.n_cached < n_prompt_; }
    /// The prompt is done; computing goes on token by token.
    bool is_generating() const { return n_sampled_ > 0; }
    /// Tokens until a limit of length ends the answer, at least 1.
    int n_left() const;
    const SamplingParams& sampling() const { return ticket_.request.sampling; }

    /// What is to be shown next.
    struct Step {
        std::string text;
        std::vector<std::int32_t> ids;
        bool done = false;
        FinishReason reason = FinishReason::stop;
    };
    /// Chooses the next token from a row of logits; every token of the sequence is computed.
    Result<Step> take_token(std::span<const float> logits);
    /// Everything held back: the answer ends here.
    Step flush(FinishReason reason);
    /// Fills in what is known only at the end.
    void complete_stats(const std::string& backend);

    Sequence sequence;
    PrefixCache::Lease lease;    ///< null while the sequence has no pages
    DiskCache::Restore restore;  ///< what is to be read before the rest is computed
    SpeculationTurn speculation;
    Stats stats;             ///< cached_… tokens, times of steps and reading are the worker's
    bool announced = false;  ///< the first Prefill event is out
    bool forgotten = false;  ///< its KV is not kept

  private:
    void show(TextFilter::Output out, Step& step);
    void roll_back(const std::string& fragment, Step& step);

    Ticket ticket_;
    int n_prompt_;
    int context_tokens_;
    const Tokenizer& tokenizer_;
    Sampler sampler_;
    TextFilter filter_;
    Clock::time_point started_;
    std::unique_ptr<RowHasher> hasher_;  ///< when a hash is wanted
    int n_sampled_ = 0;
    int n_shown_ = 0;  ///< sampled tokens handed out
};

}  // namespace hearth
