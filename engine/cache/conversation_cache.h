#pragma once
// ConversationCache: KV pages of conversations that are idle, so that the next turn computes only
// what is new. Owns those page references until they are taken back, evicted or forgotten. Knows
// tokens and pages of one model; does not know requests.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/kv_cache.h"

namespace hearth {

class ConversationCache {
  public:
    explicit ConversationCache(KvCache& kv) : kv_(kv) {}
    ~ConversationCache() { clear(); }
    ConversationCache(const ConversationCache&) = delete;
    ConversationCache& operator=(const ConversationCache&) = delete;

    struct Reused {
        std::vector<std::int32_t> pages;  ///< the caller's now
        int n_tokens = 0;                 ///< a multiple of kPageTokens, less than ids.size()
    };
    /// Removes what is kept for `conversation` and returns the whole pages whose tokens `ids`
    /// begins with. At least the last id is left to compute: its logits are wanted.
    Reused take(const std::string& conversation, std::span<const std::int32_t> ids);
    /// Keeps the whole pages of tokens [0, n_cached); the others are released. Replaces.
    void put(const std::string& conversation, std::span<const std::int32_t> tokens, int n_cached,
             std::vector<std::int32_t> pages);
    void forget(const std::string& conversation);
    void clear();
    /// Drops the conversation unused for longest; false when there is none.
    bool evict_oldest();

    int n_conversations() const { return static_cast<int>(entries_.size()); }

  private:
    struct Entry {
        std::vector<std::int32_t> tokens, pages;  ///< pages.size() * kPageTokens tokens
        std::uint64_t last_use = 0;
    };
    KvCache& kv_;
    std::map<std::string, Entry> entries_;
    std::uint64_t uses_ = 0;
};

}  // namespace hearth
