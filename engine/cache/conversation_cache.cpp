#include "engine/cache/conversation_cache.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hearth {

ConversationCache::Reused ConversationCache::take(const std::string& conversation,
                                                  std::span<const std::int32_t> ids) {
    const auto it = entries_.find(conversation);
    if (it == entries_.end()) return {};
    Entry entry = std::move(it->second);
    entries_.erase(it);
    const std::size_t limit = ids.empty() ? 0 : std::min(entry.tokens.size(), ids.size() - 1);
    const auto differ = std::mismatch(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(limit),
                                      entry.tokens.begin());
    const int n_pages = static_cast<int>(differ.first - ids.begin()) / kPageTokens;
    kv_.cut(entry.pages, n_pages);
    return {std::move(entry.pages), n_pages * kPageTokens};
}

void ConversationCache::put(const std::string& conversation, std::span<const std::int32_t> tokens,
                            int n_cached, std::vector<std::int32_t> pages) {
    HEARTH_CHECK(n_cached <= static_cast<int>(tokens.size()));
    forget(conversation);
    const int n_pages = n_cached / kPageTokens;
    kv_.cut(pages, n_pages);
    if (n_pages == 0) return;
    Entry entry;
    entry.tokens.assign(tokens.begin(), tokens.begin() + n_pages * kPageTokens);
    entry.pages = std::move(pages);
    entry.last_use = ++uses_;
    entries_.emplace(conversation, std::move(entry));
}

void ConversationCache::forget(const std::string& conversation) {
    const auto it = entries_.find(conversation);
    if (it == entries_.end()) return;
    kv_.cut(it->second.pages, 0);
    entries_.erase(it);
}

void ConversationCache::clear() {
    while (evict_oldest()) {
    }
}

bool ConversationCache::evict_oldest() {
    const auto oldest = std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    if (oldest == entries_.end()) return false;
    kv_.cut(oldest->second.pages, 0);
    entries_.erase(oldest);
    return true;
}

}  // namespace hearth
