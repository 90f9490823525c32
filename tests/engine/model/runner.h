#pragma once
// Runs one sequence of a model on a backend: pages, batches and nothing else. For tests of the
// forward pass below the engine.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/decode.h"
#include "engine/model/families.h"
#include "engine/model/weight_file.h"

namespace hearth::test {

/// A model without its tokenizer, over bytes that it owns or a file.
struct LoadedModel {
    std::vector<std::uint8_t> bytes;
    std::shared_ptr<WeightFile> file;
    ModelConfig config;
    Weights weights;
};

/// REQUIREs that the model loads.
LoadedModel load_bytes(std::vector<std::uint8_t> bytes, int context_tokens = 0);
LoadedModel load_path(const std::string& path);

class Runner {
  public:
    /// `reversed_pages`: page ids count down, so that no page lies where its index says.
    Runner(const LoadedModel& model, Backend& backend, DType kv, int max_tokens,
           bool reversed_pages = false);
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    /// Feeds `ids` in chunks; returns logits rows (V each) of all of them, or of the last only.
    std::vector<std::vector<float>> forward(std::span<const std::int32_t> ids, int chunk,
                                            bool last_only = false);

  private:
    struct Memory {
        void* data;
        std::size_t bytes;
    };
    void step(std::span<const std::int32_t> ids, std::span<const std::int32_t> rows,
              std::vector<std::vector<float>>& out);
    const LoadedModel& model_;
    Backend& backend_;
    std::vector<KvLayer> kv_;
    std::vector<Memory> memory_;
    std::vector<std::int32_t> pages_;
    int position_ = 0;
};

}  // namespace hearth::test
