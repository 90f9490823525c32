#pragma once
// Speculator: the drafters of one target model and what was learned about them. Says which tokens
// a decode step verifies besides those it must compute; learns from what became of them. Knows
// drafters, acceptance and times; does not know pages, sampling or batches. Used by the engine
// thread alone.

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/speculate/control.h"
#include "engine/speculate/drafter.h"
#include "engine/speculate/step_times.h"

namespace hearth {

/// One request's part: plain data, kept in its job.
struct SpeculationTurn {
    DraftChoice choice;
    SpeculationStats stats;  ///< drafter and speedup are filled by finish
    double spent_ms = 0;     ///< by drafters, this step
    double drafting_ms = 0;  ///< of it, without reading the text
    int n_left = 1;          ///< tokens of the answer that may come, before this step
    double actual_ms = 0;    ///< steps of this turn and drafting
    double plain_ms = 0;     ///< the same tokens one by one, by measured times
    std::vector<int> steps_by_drafter;
};

class Speculator {
  public:
    /// Ids below n_tokens can be chosen by the target; `ends` of them end an answer.
    Speculator(int n_tokens, std::function<bool(std::int32_t)> ends);

    /// Asked in the order in which they were added, until one has something. model_path: of the
    /// file that drafts, "" = no model; only requests that chose this file use it.
    void add(std::unique_ptr<Drafter> drafter, std::string model_path = {});
    /// Takes all drafters of models away, also while answers are computed. They come last.
    void remove_models();

    /// What to verify in this step for `turn`, after `ask.history`; often nothing. `s` holds the
    /// rows of the step so far. ask.go_on is filled here.
    Draft propose(SpeculationTurn& turn, DraftAsk ask, int n_sequences, int n_rows);

    /// A step of n_rows without any prompt took `ms`.
    void ran(int n_rows, double ms);
    /// A decode step gave `turn` 1 + n_accepted tokens. The fate of the first n_seen drafts is
    /// known. n_rows: of the whole step.
    void verified(SpeculationTurn& turn, const std::string& conversation, const Draft& d,
                  int n_accepted, int n_seen, int n_sequences, int n_rows, double step_ms);
    SpeculationStats finish(const SpeculationTurn& turn, const std::string& conversation,
                            std::span<const std::int32_t> answer);
    /// The answer failed: nothing of it is kept.
    void drop(const std::string& conversation);
    void forget(const std::string& conversation);

    const StepTimes& times() const { return times_; }
    Drafter::Memory memory() const;
    /// "" or what is inconsistent while no answer is being computed.
    std::string check_idle() const;
    /// Why drafters were given up, one sentence each, since the last call.
    std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }

    static constexpr int kPlainEvery = 48;  ///< steps until the plain time is measured again

  private:
    struct Entry {
        std::unique_ptr<Drafter> drafter;
        std::string model_path;
        bool is_model() const { return !model_path.empty(); }
        bool given_up = false;
    };
    struct Talk {
        std::map<int, Control> controls;  ///< by drafter
        std::uint64_t last_use = 0;
    };
    static constexpr std::size_t kMostTalks = 64;

    Control& control(const std::string& conversation, int drafter);
    bool wanted(const Entry& entry, const DraftChoice& choice) const;
    Draft ask_one(int index, const DraftAsk& ask);
    Draft draft_with(int index, SpeculationTurn& turn, DraftAsk& ask, const StepState& s);
    int n_to_read(Entry& entry, const DraftAsk& ask);
    void give_up(Entry& entry, const std::exception& e);
    void cut_impossible(Draft& d) const;

    int n_tokens_;
    std::function<bool(std::int32_t)> ends_;
    std::vector<Entry> entries_;
    std::map<std::string, Talk> talks_;
    std::map<int, Control> usual_;  ///< by drafter: over all conversations, where new ones start
    StepTimes times_;
    int since_plain_ = 0;
    std::uint64_t uses_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace hearth
