#pragma once
// WeightStore: the weights of one model on the card, found by their host address. Owns their device
// memory; repacks (weight_layout.h) through pinned staging while the copy before is under way.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/cuda/memory.h"
#include "kernels/cuda/weight_layout.h"
#include "kernels/device.h"

namespace hearth::cuda {

class WeightStore {
  public:
    /// Device bytes that `weights` take; each address counts once.
    static std::int64_t bytes_of(std::span<const TensorView> weights);

    /// All of `weights` in one allocation. Empty text, or why not; then nothing is kept.
    std::string load(std::span<const TensorView> weights, const CardBackend::Progress& progress);
    /// The device's copy; uploaded now when load did not name it. nullptr: no memory.
    const DeviceWeight* find(const TensorView& w);
    void clear();

    std::int64_t bytes() const { return bytes_; }

  private:
    cudaError_t upload(const TensorView& w, void* to, std::int64_t& done,
                       const CardBackend::Progress& progress, std::int64_t total);
    cudaError_t upload_tiles(const TensorView& w, std::uint8_t* to, std::int64_t first,
                             std::int64_t last);
    cudaError_t upload_rows(const TensorView& w, std::uint8_t* to, std::int64_t first,
                            std::int64_t last);

    struct Key {
        const void* data;
        std::int64_t rows;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& k) const {
            return std::hash<const void*>{}(k.data) * 31 + static_cast<std::size_t>(k.rows);
        }
    };
    std::unordered_map<Key, DeviceWeight, Hash> known_;
    std::vector<std::unique_ptr<DeviceBuffer>> memory_;
    std::int64_t bytes_ = 0;
    PinnedBuffer staging_[2];
    int next_staging_ = 0;
    bool stopped_ = false;
    Stream stream_;
    Event copied_[2];
};

}  // namespace hearth::cuda
