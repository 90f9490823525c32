#pragma once
// DraftHead: the output head of a draft model over a shortlist of its vocabulary: the frequent
// tokens (low ids: merges are learned in order of frequency) and those of the text at hand. A whole
// head is a third of a small model's bytes, and a token that is missing only is not drafted. Owns
// copies of the rows; knows logits and ids; does not know sequences.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/model/model.h"
#include "engine/speculate/pairing.h"
#include "kernels/backend.h"

namespace hearth {

class DraftHead {
  public:
    struct Size {
        int frequent = 16384;  ///< tokens that are always there
        int recent = 4096;     ///< room for others that the text has
    };
    /// A vocabulary that is hardly larger than the shortlist is used whole. Errors: out_of_memory.
    static Result<std::unique_ptr<DraftHead>> make(const Model& draft, const Tokenizer& target,
                                                   const Pairing& pairing, Backend& backend,
                                                   Size size);
    ~DraftHead();
    DraftHead(const DraftHead&) = delete;
    DraftHead& operator=(const DraftHead&) = delete;

    /// (n_rows, D) for the matmul that makes the logits.
    const TensorView& weights() const { return weights_; }
    std::int64_t copied_bytes() const { return static_cast<std::int64_t>(bytes_); }
    /// These tokens can be drafted from now on. Not between recording and running a step.
    void saw(std::span<const std::int32_t> ids);

    struct Choice {
        std::int32_t id;    ///< -1: nothing can be drafted
        float probability;  ///< of it, by the draft model
    };
    /// The token that the target would choose at position history.size(), had it these logits: with
    /// the same sampler and the same random number, so that models that agree about the
    /// probabilities agree about the token. May change `logits`.
    Choice choose(std::span<float> logits, const SamplingParams& sampling,
                  std::span<const std::int32_t> history);

  private:
    DraftHead() = default;
    Result<void> shorten(Backend& backend, const Tokenizer& target, int frequent, int recent);
    void put(int row, std::int32_t id);
    Choice sampled(std::span<const float> logits, const SamplingParams& sampling,
                   std::span<const std::int32_t> history);

    TensorView whole_, weights_;
    Backend* backend_ = nullptr;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    int n_target_ = 0;                   ///< the target's vocabulary
    int n_frequent_ = 0;                 ///< rows before those of recent tokens
    int n_used_ = 0;                     ///< rows that have a token
    int next_recent_ = 0;                ///< row that is given away next
    std::vector<std::int32_t> ids_;      ///< by row
    std::vector<int> silent_rows_;       ///< rows of ids that may not be drafted
    std::vector<int> end_rows_;          ///< rows of ids that end an answer
    std::vector<std::uint8_t> allowed_;  ///< by id: it may be drafted
    std::vector<std::uint8_t> has_row_;  ///< by id
    std::vector<float> scattered_;       ///< by id of the target
};

}  // namespace hearth
