#pragma once
// PrefixTree: which token prefixes have keys and values, and on which pages. A trie with one page
// of 16 tokens per node; the last page of a prefix may be partial (a leaf). Owns one reference to
// each node's page. Knows tokens and pages of one model; does not know requests or files.
//
// A match is valid while its node is locked. Locked nodes, and those above them, are not evicted.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/cache/kv_cache.h"

namespace hearth {

class PrefixTree {
  public:
    /// Who a prefix belongs to (a conversation), for `forget`.
    using Owner = std::uint64_t;
    struct Node;

    explicit PrefixTree(KvCache& kv);
    ~PrefixTree();  ///< nothing is locked
    PrefixTree(const PrefixTree&) = delete;
    PrefixTree& operator=(const PrefixTree&) = delete;

    struct Match {
        Node* node = nullptr;             ///< of the last whole page; the root when there is none
        std::vector<std::int32_t> pages;  ///< the tree's; 16 tokens each
        Node* tail = nullptr;  ///< a child of `node` that begins with the next tokens …
        int n_tail = 0;        ///< … this many, 1 to 15: its page is to be copied
        int n_tokens() const { return static_cast<int>(pages.size()) * kPageTokens; }
    };
    /// The longest prefix of `tokens` that is here; it counts as used now.
    Match match(std::span<const std::int32_t> tokens);
    /// Protects the node and all above it; as often as it is unlocked.
    void lock(Node* node);
    void unlock(Node* node);

    /// Makes the prefix `tokens` with its pages (the last one may be partly filled) known, as used
    /// now and belonging to `owner`. Where the tree has a page already, the tree's wins: the
    /// caller's reference in `pages` moves to it. With `tail` the partial page is taken, too; the
    /// caller must not write to it any more. Returns the node of the last whole page.
    Node* insert(std::span<const std::int32_t> tokens, std::span<std::int32_t> pages, Owner owner,
                 bool tail);
    static std::int32_t page_of(const Node* node);
    /// The node of the partial last page that `insert` of the same tokens left; nullptr: none.
    Node* tail_of(Node* node, std::span<const std::int32_t> rest) const;

    /// Releases the page of the unlocked leaf unused for longest; false when there is none.
    bool evict();
    /// Takes the owner away everywhere; what belongs to nobody then goes at once, or when it is
    /// unlocked.
    void forget(Owner owner);

    int n_pages() const { return n_pages_; }
    /// Pages that no lock protects: evict() can free these, one by one.
    int n_evictable() const { return n_pages_ - n_protected_; }
    /// "" or what is inconsistent; for tests and idle checks. Also compares with the pool.
    std::string check() const;

  private:
    using Key = std::array<std::int32_t, kPageTokens>;
    static Key key_of(std::span<const std::int32_t> tokens);
    std::pair<Node*, int> closest(const Node& node, std::span<const std::int32_t> tokens) const;
    Node* add_child(Node& parent, std::span<const std::int32_t> tokens, std::int32_t page);
    void insert_tail(Node& node, std::span<const std::int32_t> tokens, std::int32_t& page,
                     Owner owner);
    void replace_prefixes(Node& parent, Node& longer);
    void use(Node& node, Owner owner);
    void touch(Node& node);
    void requeue(Node& node);
    void remove(Node& node);
    void remove_ownerless(Node* node);
    std::string check_node(const Node& node) const;

    KvCache& kv_;
    std::unique_ptr<Node> root_;
    std::set<std::pair<std::uint64_t, Node*>> queue_;  ///< unlocked leaves by last use
    std::uint64_t clock_ = 0;
    int n_pages_ = 0;      ///< nodes but the root
    int n_protected_ = 0;  ///< of them with locks
};

}  // namespace hearth
