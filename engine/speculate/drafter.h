#pragma once
// Drafter: proposes tokens that may follow a text. Nothing it says is trusted: every proposal is
// verified by the target, so a bad drafter costs time and never changes an answer. Knows tokens;
// does not know acceptance, costs or what is done with its proposals.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace hearth {

/// Proposed tokens, the first one directly after the text.
struct Draft {
    std::vector<std::int32_t> ids;
    /// How sure the drafter is of each, given those before it: a class from 0 to n_bins() - 1,
    /// whose acceptance is measured. As long as ids.
    std::vector<std::uint8_t> bins;
    int drafter = -1;  ///< which of the speculator's; -1 = none
    /// Tokens of the text that were read before drafting, besides the newest few, and the time.
    int n_read = 0;
    double read_ms = 0;
    bool reads_on = false;  ///< there is more to read: ask again, nothing is wrong

    int size() const { return static_cast<int>(ids.size()); }
    void resize(int n) {
        ids.resize(static_cast<std::size_t>(n));
        bins.resize(static_cast<std::size_t>(n));
    }
};

/// What a drafter is asked for; valid during the call.
struct DraftAsk {
    const std::string& conversation;
    std::span<const std::int32_t> history;  ///< prompt and answer: all of it is final
    const SamplingParams& sampling;         ///< how the target will choose
    int most_tokens;                        ///< at least 1
    /// Whether another token after these would pay. Asked by drafters that pay for each.
    std::function<bool(const Draft&)> go_on;
    const std::atomic<bool>& stop;  ///< seen: return at once, with anything
};

class Drafter {
  public:
    virtual ~Drafter() = default;
    virtual const char* name() const = 0;
    virtual int n_bins() const = 0;
    /// Acceptance of a bin before any was measured, 0 to 1.
    virtual double expected_acceptance(int bin) const = 0;
    /// Time of one drafted token as a share of the target's plain step, before any was measured;
    /// 0 = free, nothing is asked before drafting.
    virtual double expected_cost() const { return 0; }

    /// Tokens of the text that are to be read before anything can be drafted.
    virtual int n_to_read(const DraftAsk& ask) {
        (void)ask;
        return 0;
    }
    /// May be empty. Exceptions end the drafter's use, not the answer.
    virtual Draft propose(const DraftAsk& ask) = 0;

    /// An answer of this conversation ended; it may come again. Empty: nothing of it is kept.
    virtual void answered(const std::string& conversation, std::span<const std::int32_t> answer) {
        (void)conversation, (void)answer;
    }
    /// The conversation was deleted: nothing of it is kept.
    virtual void forget(const std::string& conversation) { (void)conversation; }

    struct Memory {
        std::int64_t weight_bytes = 0, kv_bytes = 0;
        int pages_in_use = 0;
    };
    virtual Memory memory() const { return {}; }
    /// "" or what is inconsistent while no answer is being computed.
    virtual std::string check_idle() const { return {}; }
};

}  // namespace hearth
