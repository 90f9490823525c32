#pragma once
// Sampler: one row of logits and the tokens so far -> the next token. A pure function of (logits,
// history, parameters, seed). Stages in llama.cpp's order, each one function in sampler.cpp:
//
//   logit bias -> repeat, frequency, presence penalties -> top-k -> typical -> top-p -> min-p
//   -> temperature -> draw
//
// Temperature 0 is greedy: the highest logit after bias and penalties, of equal ones the lowest
// id. Probabilities of the filters are those before temperature.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/engine.h"

namespace hearth {

/// Error: usage, naming the parameter, what it may be and what it was.
Result<void> check_sampling(const SamplingParams& params, int n_tokens);

class Sampler {
  public:
    /// `params` have passed check_sampling. Only ids below n_tokens (the tokenizer's size; a model
    /// may have more rows) are chosen; `banned` (end-of-generation ids under ignore_eos) never.
    Sampler(SamplingParams params, int n_tokens, std::vector<std::int32_t> banned = {});

    /// The token at position history.size(). logits: the raw row, at least n_tokens long.
    /// Error: failed, when a logit is not finite or nothing may be chosen.
    Result<std::int32_t> sample(std::span<const float> logits,
                                std::span<const std::int32_t> history);

    /// A token that may still be chosen, its logit after the stages before.
    struct Candidate {
        float logit;
        std::int32_t id;
    };

  private:
    SamplingParams params_;
    int n_tokens_;
    std::vector<std::int32_t> banned_;
    std::vector<Candidate> candidates_;
    std::vector<std::int32_t> window_;
};

}  // namespace hearth
