#pragma once
// GraphCache: launches of a step captured as a CUDA graph, found by everything that is baked into
// them (addresses, shapes, offsets). A step is captured when its key comes for the second time;
// then it is one launch. What changes from step to step (tokens, positions, pages, tables) lies in
// device memory at fixed places and is no part of the key.

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>

namespace hearth::cuda {

/// Bytes of values, one after the other, without padding.
class GraphKey {
  public:
    template <typename... T>
    void add(const T&... values) {
        (add_one(values), ...);
    }
    const std::string& bytes() const { return bytes_; }

  private:
    template <typename T>
    void add_one(const T& v) {
        static_assert(std::is_scalar_v<T>, "padding is no key");
        bytes_.append(reinterpret_cast<const char*>(&v), sizeof v);
    }
    std::string bytes_;
};

class GraphCache {
  public:
    GraphCache() = default;
    ~GraphCache() { clear(); }
    GraphCache(const GraphCache&) = delete;
    GraphCache& operator=(const GraphCache&) = delete;

    /// The graph of the key, or nullptr.
    cudaGraphExec_t find(const std::string& key) {
        for (const Entry& e : entries_)
            if (e.key == key) return e.graph;
        return nullptr;
    }
    /// True when the key was asked about before: then it is worth capturing.
    bool seen_before(const std::string& key) {
        if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) return true;
        if (seen_.size() == kMost) seen_.erase(seen_.begin());
        seen_.push_back(key);
        return false;
    }
    void add(const std::string& key, cudaGraphExec_t graph) {
        if (entries_.size() == kMost) {
            cudaGraphExecDestroy(entries_.front().graph);
            entries_.erase(entries_.begin());
        }
        entries_.push_back({key, graph});
        std::erase(seen_, key);
    }
    /// Before anything that a graph points to goes away.
    void clear() {
        for (const Entry& e : entries_) cudaGraphExecDestroy(e.graph);
        entries_.clear();
        seen_.clear();
    }

  private:
    static constexpr std::size_t kMost = 16;
    struct Entry {
        std::string key;
        cudaGraphExec_t graph;
    };
    std::vector<Entry> entries_;     ///< oldest first
    std::vector<std::string> seen_;  ///< oldest first
};

}  // namespace hearth::cuda
