#pragma once
// Control: how many drafted tokens a step verifies, from measured acceptance and measured step
// times, and when to stop drafting and to try again. One per drafter and conversation. It decides
// speed only: every choice gives the same answer.
//
// With R_i the chance that the first i drafts are all accepted, a step of k drafts is expected to
// give E(k) = 1 + R_1 + … + R_k tokens in c(k) + v(k + 1) (Leviathan et al. 2023, section 3.3, with
// measured costs for theirs). The k with the most tokens per time is taken, or none when that is
// not at least kWorthwhile times plain decoding. What it loses is counted, and never exceeds a
// small share of the work done (kLoss): a drafter that is always wrong ends up silent.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/speculate/drafter.h"
#include "engine/speculate/step_times.h"

namespace hearth {

/// Acceptance of each bin: what was measured lately, and an expectation that fades behind it.
class Acceptance {
  public:
    explicit Acceptance(const Drafter& drafter);
    /// Of a token whose predecessors are accepted.
    double chance(int bin) const;
    /// Of any token.
    double mean() const { return mean_; }
    /// The first n_accepted were right and, unless that is n_seen, the next one wrong.
    void saw(std::span<const std::uint8_t> bins, int n_accepted, int n_seen);

  private:
    struct Bin {
        double expected, tried = 0, accepted = 0;
    };
    std::vector<Bin> bins_;
    double mean_;
};

/// Where a step stands before its drafts are chosen.
struct StepState {
    const StepTimes& times;
    int n_sequences;  ///< each of them gives one token at least
    int n_rows;       ///< rows so far: sequences and drafts of others
};

class Control {
  public:
    explicit Control(const Drafter& drafter);

    /// For drafters that cost something: whether to ask it now, with so many tokens to read first
    /// and at most n_left tokens of the answer to come.
    bool may_ask(const StepState& s, int n_to_read = 0, int n_left = 1);
    /// Whether one more token would pay, after those in `d`.
    bool go_on(const Draft& d, const StepState& s) const;
    /// How many tokens of `d` to verify; `spent_ms` went into drafting them.
    int choose(const Draft& d, const StepState& s, double spent_ms);

    /// `d` was verified; of its first n_seen tokens n_accepted were right.
    void verified(const Draft& d, int n_accepted, int n_seen, const StepState& s, double spent_ms);
    /// Drafting took `spent_ms` and nothing of it was worth verifying.
    void wasted(const StepState& s, double spent_ms);
    /// n tokens drafted took `ms`.
    void drafted(int n, double ms);
    /// n tokens read took `ms`.
    void read(int n, double ms);
    /// A sequence got a token without drafts.
    void plain();

    const Acceptance& acceptance() const { return acceptance_; }
    double draft_ms_per_token(const StepState& s) const;

    static constexpr double kWorthwhile = 1.05;
    static constexpr double kLoss = 0.015;     ///< of the plain time, at most
    static constexpr double kFirstLoss = 1.0;  ///< plain steps, besides
    /// Reading a text is paid in advance: at most this share of what drafting is expected to save.
    static constexpr double kReadShare = 0.5;
    static constexpr double kMostCredit = 4.0;  ///< plain steps; gains before do not excuse more

  private:
    bool pays_to_read(double best_gain, const StepState& s, int n_to_read, int n_left) const;
    double gain(double expected, double spent_ms, int k, const StepState& s) const;
    struct Pause {
        int since = 0;   ///< tokens since it was declined first
        int length = 8;  ///< until it is tried again
    };
    bool try_again(Pause& p);
    void learned(Pause& p, int n_accepted);

    Acceptance acceptance_;
    std::vector<Pause> pauses_;  ///< by bin of the first token; the last one: asking at all
    double expected_cost_;
    double draft_ms_ = 0;  ///< per token; 0 = not measured
    double read_ms_ = 0;   ///< per token; 0 = not measured
    double debt_ = 0;      ///< plain steps lost by drafting, less what the loss allowance repays
};

}  // namespace hearth
