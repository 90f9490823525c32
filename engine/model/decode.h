#pragma once
// The forward pass of a pre-norm decoder with grouped-query attention and gated FFN, recorded on a
// backend. Families differ by which weights are present, not by code here.

#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/config.h"
#include "engine/model/weights.h"
#include "kernels/backend.h"

namespace hearth {

/// Working memory of one step for up to `max_tokens` rows and `max_outputs` logits rows.
class Activations {
  public:
    static Result<std::unique_ptr<Activations>> make(const ModelConfig& config, Backend& backend,
                                                     int max_tokens, int max_outputs);
    /// What make allocates.
    static std::int64_t bytes_for(const ModelConfig& config, int max_tokens, int max_outputs);
    ~Activations();
    Activations(const Activations&) = delete;
    Activations& operator=(const Activations&) = delete;

    int max_tokens = 0;
    int max_outputs = 0;
    MatrixView x, h;          ///< (T, D) residual, normed
    MatrixView q, k, v;       ///< (T, H*d), (T, G*d), (T, G*d)
    MatrixView attn;          ///< (T, H*d)
    MatrixView gate, up;      ///< (T, F)
    MatrixView out_x, out_h;  ///< (R, D) rows that need logits
    MatrixView logits;        ///< (R, V)

  private:
    struct Part {
        MatrixView Activations::*view;
        std::int64_t rows, cols;
    };
    static std::vector<Part> parts(const ModelConfig& config, int max_tokens, int max_outputs);
    Activations() = default;
    Backend* backend_ = nullptr;
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Records layers [first, last) only, from and to a.x; the first ones with the embedding before
/// them. For a pass that is shared by two backends.
void decode_layers(const ModelConfig& config, const Weights& weights, const BatchView& batch,
                   std::span<const KvLayer> kv, Activations& a, Backend& backend, int first,
                   int last);

/// Records the whole pass: after backend.run(), a.logits holds batch.output_rows.size() rows.
/// The caller has called backend.begin(batch).
void decode(const ModelConfig& config, const Weights& weights, const BatchView& batch,
            std::span<const KvLayer> kv, Activations& a, Backend& backend);

/// Records only the end of the pass, for batch.output_rows of the step that was executed last with
/// these activations: logits of many rows in slices, when all at once would be too large.
void decode_head(const ModelConfig& config, const Weights& weights, const BatchView& batch,
                 Activations& a, Backend& backend);

}  // namespace hearth
