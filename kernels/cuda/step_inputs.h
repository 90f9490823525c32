#pragma once
// StepInputs: everything a step reads besides weights and activations (tokens, positions, pages,
// rope tables, attention tiles) as 32-bit words, gathered on the host and copied to the card in one
// piece.

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/ops.h"
#include "kernels/device.h"

namespace hearth::cuda {

class StepInputs {
  public:
    /// Starts a step: tokens, positions, pages, output rows.
    void begin(const BatchView& batch);
    /// cos and sin of the step's positions for a RopeSpec; made once per step and spec.
    struct Rope {
        std::int64_t cos = -1, sin = -1;  ///< word offsets; -1: nothing is rotated
        int n_dims = 0;
        bool half_split = false;
    };
    Rope rope(const RopeSpec& spec);
    /// Attention tiles for heads that come per_kv to a kv head.
    struct Tiles {
        std::int64_t items = 0;  ///< word offset
        int n_items = 0, n_parts = 0;
    };
    Tiles tiles(int per_kv);

    /// Bytes on the card for steps within `limits`.
    static std::int64_t bytes_for(const StepLimits& limits);
    cudaError_t reserve(std::int64_t bytes);
    /// Copies the words to the card.
    cudaError_t upload(cudaStream_t stream);

    std::int64_t n_rows() const { return n_rows_; }
    std::int64_t n_outputs() const { return n_outputs_; }
    /// Addresses on the card, after upload.
    const std::int32_t* tokens() const { return at(tokens_); }
    const std::int32_t* output_rows() const { return at(output_rows_); }
    const std::int32_t* pages() const { return at(pages_); }
    RowPlaces places() const { return {at(positions_), at(first_pages_), at(pages_)}; }
    RopeView view(const Rope& r) const;
    const AttentionItem* view(const Tiles& t) const {
        return reinterpret_cast<const AttentionItem*>(at(t.items));
    }

  private:
    const std::int32_t* at(std::int64_t word) const { return device_.as<std::int32_t>() + word; }
    std::int64_t add(std::int64_t n_words);

    std::vector<std::int32_t> words_;
    PinnedBuffer staging_;
    DeviceBuffer device_;
    std::int64_t n_rows_ = 0, n_outputs_ = 0;
    std::int64_t tokens_ = 0, positions_ = 0, first_pages_ = 0, pages_ = 0, output_rows_ = 0;
    std::vector<SequenceSpan> sequences_;
    std::vector<std::int32_t> sequence_first_page_;
    struct MadeRope {
        RopeSpec spec;
        Rope rope;
    };
    std::vector<MadeRope> ropes_;
    std::vector<std::pair<int, Tiles>> tiles_;
};

}  // namespace hearth::cuda
