#pragma once
// Batch: what one forward pass computes: the next tokens of some sequences, each one stretch, and
// the rows whose logits are wanted. Owns the arrays that BatchView points to.

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/generate/sequence.h"
#include "kernels/batch_view.h"

namespace hearth {

class Batch {
  public:
    void clear();
    /// The n_tokens after seq.n_cached, then `drafts`; its pages must cover them. Logits are wanted
    /// of the last n_outputs rows.
    void add(const Sequence& seq, int n_tokens, int n_outputs, const KvCache& kv,
             std::span<const std::int32_t> drafts = {});

    int n_rows() const { return static_cast<int>(tokens_.size()); }
    int n_outputs() const { return static_cast<int>(output_rows_.size()); }
    /// Valid until the next add or clear.
    BatchView view();

  private:
    std::vector<std::int32_t> tokens_, output_rows_;
    std::vector<std::int32_t> slots_;  ///< page tables of all sequences, one after another
    std::vector<SequenceSpan> spans_;
};

}  // namespace hearth
