#pragma once
// PrefixCache: what is kept of computed prefixes, for all conversations of one model: gives a new
// sequence the pages that are there, takes them back at its end, makes room when pages run out.
// Owns the tree. Knows sequences and conversations; does not know requests or scheduling.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/cache/prefix_tree.h"
#include "engine/generate/sequence.h"

namespace hearth {

class PrefixCache {
  public:
    explicit PrefixCache(KvCache& kv);

    /// A running sequence's hold on the tree: the pages it shares are not evicted.
    struct Lease {
        PrefixTree::Node* node = nullptr;
    };
    /// Gives a sequence without pages the longest prefix of its tokens that is here. At least the
    /// last token is left to compute: its logits are wanted. The lease ends in `release`.
    void acquire(Sequence& seq, Lease& lease, bool may_evict);
    /// Pages for n_positions; evicts what is not leased. False when that is not enough.
    bool reserve(Sequence& seq, int n_positions, bool may_evict);
    /// Others may share the whole pages computed so far; the sequence goes on.
    void publish(Sequence& seq, Lease& lease, const std::string& conversation);
    /// Keeps what is computed, the partial last page included; the sequence has no pages then.
    void keep(Sequence& seq, Lease& lease, const std::string& conversation);
    /// Gives everything back that nobody else has.
    void drop(Sequence& seq, Lease& lease);
    /// The pages of this very prefix, the partial last one included; empty when any is gone. Valid
    /// until the next call.
    std::vector<std::int32_t> pages_of(std::span<const std::int32_t> tokens);
    /// The conversation was deleted: what no other one shares goes.
    void forget(const std::string& conversation);

    const PrefixTree& tree() const { return tree_; }
    /// "" or what is inconsistent while no sequence runs.
    std::string check_idle() const;

  private:
    void release(Lease& lease);
    void copy_tail(Sequence& seq, const PrefixTree::Match& match, bool may_evict);

    KvCache& kv_;
    PrefixTree tree_;
    /// Pages left free when a sequence ends, so that a background job, which evicts nothing, finds
    /// room.
    int n_spare_;
};

}  // namespace hearth
