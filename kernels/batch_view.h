#pragma once
// What one forward pass reads besides weights: token ids, positions, page tables, output rows.
// Plain data in memory of the backend; built by engine/generate/batch.

#include <cstdint>
#include <span>

namespace hearth {

inline constexpr int kPageTokens = 16;  ///< positions per KV page

/// Consecutive rows of a batch that belong to one sequence, at consecutive positions.
struct SequenceSpan {
    int first_row = 0;
    int n_rows = 0;
    int first_position = 0;               ///< position of row first_row; row i sits at +i
    const std::int32_t* pages = nullptr;  ///< page ids; position p lives in pages[p / kPageTokens]
    int n_pages = 0;                      ///< covers first_position + n_rows - 1
};

struct BatchView {
    std::span<const std::int32_t> tokens;       ///< (T) token ids
    std::span<const SequenceSpan> sequences;    ///< cover rows 0..T-1 in order
    std::span<const std::int32_t> output_rows;  ///< (R) rows whose logits are wanted, ascending
};

}  // namespace hearth
