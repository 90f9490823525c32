#include "kernels/cuda/step_inputs.h"

#include <algorithm>
#include <bit>

#include "kernels/check.h"
#include "kernels/math.h"

namespace hearth::cuda {
namespace {

/// Steps of up to so many rows keep their places in the words from step to step: they run as
/// graphs.
constexpr std::int64_t kBucketRows = 16;
/// Room for pages grows by so many.
constexpr std::int64_t kBucketPages = 64;

}  // namespace

/// Words from a multiple of four on, so that every part is 16-byte aligned.
std::int64_t StepInputs::add(std::int64_t n_words) {
    const std::size_t first = (words_.size() + 3) / 4 * 4;
    words_.resize(first + static_cast<std::size_t>(n_words));
    return static_cast<std::int64_t>(first);
}

void StepInputs::begin(const BatchView& batch) {
    words_.clear();
    ropes_.clear();
    tiles_.clear();
    sequence_first_page_.clear();
    sequences_.assign(batch.sequences.begin(), batch.sequences.end());
    n_rows_ = static_cast<std::int64_t>(batch.tokens.size());
    n_outputs_ = static_cast<std::int64_t>(batch.output_rows.size());
    const auto copy = [&](std::span<const std::int32_t> from) {
        const std::int64_t at = add(static_cast<std::int64_t>(from.size()));
        std::copy(from.begin(), from.end(), words_.begin() + at);
        return at;
    };
    tokens_ = copy(batch.tokens);
    output_rows_ = copy(batch.output_rows);
    positions_ = add(n_rows_);
    first_pages_ = add(n_rows_);
    std::int64_t n_pages = 0, row = 0;
    for (const SequenceSpan& s : sequences_) {
        check(s.first_row == row, "batch: sequences must cover the rows in order");
        check((s.first_position + s.n_rows + kPageTokens - 1) / kPageTokens <= s.n_pages,
              "batch: pages must cover the positions of a sequence");
        sequence_first_page_.push_back(static_cast<std::int32_t>(n_pages));
        for (int i = 0; i < s.n_rows; ++i, ++row) {
            words_[static_cast<std::size_t>(positions_ + row)] = s.first_position + i;
            words_[static_cast<std::size_t>(first_pages_ + row)] =
                static_cast<std::int32_t>(n_pages);
        }
        n_pages += s.n_pages;
    }
    check(sequences_.empty() || row == n_rows_, "batch: sequences must cover all rows");
    pages_ = add(n_rows_ <= kBucketRows ? (n_pages + kBucketPages - 1) / kBucketPages * kBucketPages
                                        : n_pages);
    auto* to = words_.data() + pages_;
    for (const SequenceSpan& s : sequences_) to = std::copy_n(s.pages, s.n_pages, to);
}

StepInputs::Rope StepInputs::rope(const RopeSpec& spec) {
    if (spec.pairing == RopePairing::none || spec.n_dims == 0) return {};
    const auto pairs = static_cast<std::int64_t>(spec.inv_freq.size());
    check(pairs * 2 == spec.n_dims, "rope: n_dims / 2 frequencies");
    for (const MadeRope& m : ropes_) {
        if (m.spec.pairing == spec.pairing && m.spec.n_dims == spec.n_dims &&
            m.spec.magnitude == spec.magnitude && m.spec.inv_freq == spec.inv_freq)
            return m.rope;
    }
    Rope r;
    r.n_dims = spec.n_dims;
    r.half_split = spec.pairing == RopePairing::half_split;
    r.cos = add(n_rows_ * pairs);
    r.sin = add(n_rows_ * pairs);
    for (std::int64_t t = 0; t < n_rows_; ++t) {
        const double position = words_[static_cast<std::size_t>(positions_ + t)];
        for (std::int64_t i = 0; i < pairs; ++i) {
            const SinCos a = own_sincos(position * spec.inv_freq[static_cast<std::size_t>(i)]);
            const float c = static_cast<float>(a.cos) * spec.magnitude;
            const float s = static_cast<float>(a.sin) * spec.magnitude;
            std::memcpy(&words_[static_cast<std::size_t>(r.cos + t * pairs + i)], &c, 4);
            std::memcpy(&words_[static_cast<std::size_t>(r.sin + t * pairs + i)], &s, 4);
        }
    }
    ropes_.push_back({spec, r});
    return r;
}

StepInputs::Tiles StepInputs::tiles(int per_kv) {
    for (const auto& [key, made] : tiles_)
        if (key == per_kv) return made;
    constexpr std::int64_t kWords = sizeof(AttentionItem) / 4;
    static_assert(kWords * 4 == sizeof(AttentionItem));
    Tiles t;
    std::vector<AttentionItem> items;
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
        const SequenceSpan& s = sequences_[i];
        for (int pair = 0; pair < s.n_rows * per_kv; pair += kAttentionRows)
            items.push_back(
                {s.first_row, s.n_rows, s.first_position, sequence_first_page_[i], pair});
        t.n_parts =
            std::max(t.n_parts, (s.first_position + s.n_rows + kPartition - 1) / kPartition);
    }
    // Steps of one bucket are one graph; a partition past the end folds in nothing.
    if (n_rows_ <= kBucketRows)
        t.n_parts = static_cast<int>(std::bit_ceil(static_cast<unsigned>(t.n_parts)));
    t.n_items = static_cast<int>(items.size());
    t.items = add(kWords * t.n_items);
    if (!items.empty())
        std::memcpy(&words_[static_cast<std::size_t>(t.items)], items.data(),
                    items.size() * sizeof(AttentionItem));
    tiles_.emplace_back(per_kv, t);
    return t;
}

RopeView StepInputs::view(const Rope& r) const {
    if (r.cos < 0) return {};
    return {reinterpret_cast<const float*>(at(r.cos)), reinterpret_cast<const float*>(at(r.sin)),
            r.n_dims, r.half_split};
}

std::int64_t StepInputs::bytes_for(const StepLimits& l) {
    const std::int64_t rows = l.rows;
    // A sequence may end in the middle of a tile, and of a sequence's rounding to four words.
    const std::int64_t items = rows * l.heads_per_kv / kAttentionRows + rows;
    constexpr std::int64_t kItemWords = sizeof(AttentionItem) / 4;
    const std::int64_t words =
        3 * rows + l.outputs + l.pages + rows * l.rope_floats + items * kItemWords;
    return 4 * (words + kBucketPages + 64 + 8 * rows);
}

cudaError_t StepInputs::reserve(std::int64_t bytes) {
    const cudaError_t e = staging_.reserve(static_cast<std::size_t>(bytes));
    return e == cudaSuccess ? device_.reserve(static_cast<std::size_t>(bytes)) : e;
}

cudaError_t StepInputs::upload(cudaStream_t stream) {
    const std::size_t bytes = words_.size() * 4;
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t e = reserve(static_cast<std::int64_t>(bytes)); e != cudaSuccess) return e;
    std::memcpy(staging_.as<void>(), words_.data(), bytes);
    return cudaMemcpyAsync(device_.as<void>(), staging_.as<void>(), bytes, cudaMemcpyHostToDevice,
                           stream);
}

}  // namespace hearth::cuda
