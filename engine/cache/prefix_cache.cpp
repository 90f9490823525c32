#include "engine/cache/prefix_cache.h"

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/base/check.h"

namespace hearth {

namespace {

PrefixTree::Owner owner_of(const std::string& conversation) {
    return XXH3_64bits(conversation.data(), conversation.size());
}

std::span<const std::int32_t> computed(const Sequence& seq) {
    return std::span(seq.tokens).first(static_cast<std::size_t>(seq.n_cached));
}

}  // namespace

PrefixCache::PrefixCache(KvCache& kv)
    : kv_(kv),
      tree_(kv),
      n_spare_(std::min(32, kv.pool().n_pages() / 16)) {}

void PrefixCache::acquire(Sequence& seq, Lease& lease, bool may_evict) {
    HEARTH_CHECK(lease.node == nullptr && seq.pages.empty() && seq.n_cached == 0);
    const PrefixTree::Match match =
        tree_.match(std::span<const std::int32_t>(seq.tokens).first(seq.tokens.size() - 1));
    lease.node = match.node;
    tree_.lock(match.node);
    for (const std::int32_t page : match.pages) {
        kv_.share(page);
        seq.pages.push_back(page);
    }
    seq.n_cached = match.n_tokens();
    if (match.tail != nullptr) copy_tail(seq, match, may_evict);
}

/// The sequence writes into its last page, so it gets its own copy.
void PrefixCache::copy_tail(Sequence& seq, const PrefixTree::Match& match, bool may_evict) {
    tree_.lock(match.tail);
    if (reserve(seq, seq.n_cached + match.n_tail, may_evict)) {
        kv_.copy_page(seq.pages.back(), tree_.page_of(match.tail));
        seq.n_cached += match.n_tail;
    }
    tree_.unlock(match.tail);
}

bool PrefixCache::reserve(Sequence& seq, int n_positions, bool may_evict) {
    while (!kv_.reserve(seq.pages, n_positions)) {
        if (!may_evict || !tree_.evict()) return false;
    }
    return true;
}

void PrefixCache::publish(Sequence& seq, Lease& lease, const std::string& conversation) {
    PrefixTree::Node* node =
        tree_.insert(computed(seq), seq.pages, owner_of(conversation), /*tail=*/false);
    tree_.lock(node);
    release(lease);
    lease.node = node;
}

void PrefixCache::keep(Sequence& seq, Lease& lease, const std::string& conversation) {
    tree_.insert(computed(seq), seq.pages, owner_of(conversation), /*tail=*/true);
    drop(seq, lease);
    while (kv_.pool().n_free() < n_spare_ && tree_.evict()) {
    }
}

void PrefixCache::drop(Sequence& seq, Lease& lease) {
    kv_.cut(seq.pages, 0);
    seq.n_cached = 0;
    release(lease);
}

void PrefixCache::release(Lease& lease) {
    if (lease.node != nullptr) tree_.unlock(lease.node);
    lease.node = nullptr;
}

std::vector<std::int32_t> PrefixCache::pages_of(std::span<const std::int32_t> tokens) {
    PrefixTree::Match match = tree_.match(tokens);
    if (match.n_tokens() + match.n_tail != static_cast<int>(tokens.size())) return {};
    if (match.n_tail > 0) match.pages.push_back(PrefixTree::page_of(match.tail));
    return match.pages;
}

void PrefixCache::forget(const std::string& conversation) { tree_.forget(owner_of(conversation)); }

std::string PrefixCache::check_idle() const {
    if (std::string wrong = tree_.check(); !wrong.empty()) return wrong;
    if (kv_.pool().n_in_use() != tree_.n_pages() || tree_.n_evictable() != tree_.n_pages()) {
        return fmt::format("{} pages are in use and {} of the {} known ones are not leased",
                           kv_.pool().n_in_use(), tree_.n_evictable(), tree_.n_pages());
    }
    return "";
}

}  // namespace hearth
