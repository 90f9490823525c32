#pragma once
// Probe: one model and one sequence, computed synchronously without the engine thread, every row
// of logits in reach. What inspect's logits, nll, teacher_forced and bench are made of.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/kv_cache.h"
#include "engine/engine.h"
#include "engine/generate/batch.h"
#include "engine/generate/sequence.h"
#include "engine/model/decode.h"
#include "engine/model/model.h"

namespace hearth::inspect {

class Probe {
  public:
    struct Shape {
        int n_positions = 0;  ///< the sequence grows to at most this
        int chunk = 512;      ///< tokens of one pass at most
        int companions = 0;   ///< other sequences in the same passes
    };
    static Result<std::unique_ptr<Probe>> make(const std::string& model_path,
                                               const EngineOptions& options, Shape shape);
    ~Probe();

    const Model& model() const { return *model_; }
    Backend& backend() const { return *backend_; }
    DType kv_type() const { return kv_->layers().front().dtype; }

    /// Called with each row in order; `row` is valid during the call.
    using Visit = std::function<void(int position, std::span<const float> row)>;
    /// Appends `ids` to the sequence and computes them, chunk by chunk; logits of every position
    /// go to `visit`, when there is one. Error: usage, for ids that the model does not have.
    Result<void> feed(std::span<const std::int32_t> ids, const Visit& visit);
    /// The same with logits of the last position only.
    Result<std::span<const float>> feed_last(std::span<const std::int32_t> ids);
    /// Forgets all positions from n_tokens on.
    void rewind(int n_tokens);

  private:
    Probe() = default;
    Result<void> check_ids(std::span<const std::int32_t> ids) const;
    void add_companions();
    void pass(int n_tokens, int n_outputs);
    void visit_rows(int n_tokens, int first_row, const Visit& visit);
    void run(const BatchView& view);
    std::span<const float> row(int output) const;

    Shape shape_;
    std::unique_ptr<Backend> backend_;  ///< outlives what lies in its memory
    std::unique_ptr<Model> model_;
    std::unique_ptr<KvCache> kv_;
    std::unique_ptr<Activations> activations_;
    MatrixView logits_;  ///< of the last pass, in host memory
    Sequence sequence_;
    std::vector<Sequence> companions_;
    std::vector<int> steps_;  ///< tokens of each companion in the current pass
    int n_passes_ = 0;
    Batch batch_;
};

}  // namespace hearth::inspect
