#include "engine/cache/prefix_tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/check.h"

namespace hearth {

struct PrefixTree::Node {
    Key tokens{};      ///< -1 beyond n_tokens
    int n_tokens = 0;  ///< 16, or less in a leaf; the root: 0
    std::int32_t page = -1;
    Node* parent = nullptr;
    std::map<Key, std::unique_ptr<Node>> children;
    int n_locks = 0;             ///< of this node and of all below it
    std::uint64_t last_use = 0;  ///< of this node and of all below it
    std::uint64_t queued_use = 0;
    bool queued = false;
    std::vector<Owner> owners;  ///< ascending

    bool is_whole() const { return n_tokens == kPageTokens; }
    bool is_evictable() const { return parent != nullptr && children.empty() && n_locks == 0; }
};

PrefixTree::PrefixTree(KvCache& kv) : kv_(kv), root_(std::make_unique<Node>()) {}

PrefixTree::~PrefixTree() {
    while (evict()) {
    }
    HEARTH_CHECK(n_pages_ == 0);
}

PrefixTree::Key PrefixTree::key_of(std::span<const std::int32_t> tokens) {
    Key key;
    key.fill(-1);
    std::copy_n(tokens.begin(), std::min(tokens.size(), key.size()), key.begin());
    return key;
}

// --- looking up ----------------------------------------------------------------------------------

/// The child that shares most tokens with the beginning of `tokens`, and how many. In the order of
/// keys it is a neighbour of where `tokens` would stand.
std::pair<PrefixTree::Node*, int> PrefixTree::closest(const Node& node,
                                                      std::span<const std::int32_t> tokens) const {
    const Key key = key_of(tokens);
    std::pair<Node*, int> best{nullptr, 0};
    const auto consider = [&](Node* child) {
        const auto limit = std::min<std::size_t>(static_cast<std::size_t>(child->n_tokens),
                                                 std::min(tokens.size(), key.size()));
        std::size_t n = 0;
        while (n < limit && child->tokens[n] == key[n]) ++n;
        if (static_cast<int>(n) > best.second) best = {child, static_cast<int>(n)};
    };
    const auto after = node.children.lower_bound(key);
    if (after != node.children.end()) consider(after->second.get());
    if (after != node.children.begin()) consider(std::prev(after)->second.get());
    return best;
}

PrefixTree::Match PrefixTree::match(std::span<const std::int32_t> tokens) {
    ++clock_;
    Match m;
    m.node = root_.get();
    while (tokens.size() >= kPageTokens) {
        const auto it = m.node->children.find(key_of(tokens));
        if (it == m.node->children.end()) break;
        m.node = it->second.get();
        m.pages.push_back(m.node->page);
        touch(*m.node);
        tokens = tokens.subspan(kPageTokens);
    }
    std::tie(m.tail, m.n_tail) = closest(*m.node, tokens);
    if (m.tail != nullptr) touch(*m.tail);
    return m;
}

std::int32_t PrefixTree::page_of(const Node* node) { return node->page; }

PrefixTree::Node* PrefixTree::tail_of(Node* node, std::span<const std::int32_t> rest) const {
    if (rest.empty()) return nullptr;
    const auto [child, n] = closest(*node, rest);
    return child != nullptr && n == static_cast<int>(rest.size()) ? child : nullptr;
}

void PrefixTree::lock(Node* node) {
    for (Node* n = node; n != root_.get(); n = n->parent) {
        if (n->n_locks++ == 0) ++n_protected_;
        requeue(*n);
    }
}

void PrefixTree::unlock(Node* node) {
    for (Node* n = node; n != root_.get(); n = n->parent) {
        HEARTH_CHECK(n->n_locks > 0);
        if (--n->n_locks == 0) --n_protected_;
        requeue(*n);
    }
    remove_ownerless(node);
}

// --- growing -------------------------------------------------------------------------------------

PrefixTree::Node* PrefixTree::add_child(Node& parent, std::span<const std::int32_t> tokens,
                                        std::int32_t page) {
    auto node = std::make_unique<Node>();
    node->tokens = key_of(tokens);
    node->n_tokens = static_cast<int>(std::min<std::size_t>(tokens.size(), kPageTokens));
    node->page = page;
    node->parent = &parent;
    kv_.share(page);
    ++n_pages_;
    Node* out = node.get();
    parent.children.emplace(out->tokens, std::move(node));
    requeue(parent);  // no leaf any more
    return out;
}

PrefixTree::Node* PrefixTree::insert(std::span<const std::int32_t> tokens,
                                     std::span<std::int32_t> pages, Owner owner, bool tail) {
    HEARTH_CHECK(pages.size() * kPageTokens >= tokens.size());
    ++clock_;
    Node* node = root_.get();
    for (; tokens.size() >= kPageTokens; tokens = tokens.subspan(kPageTokens)) {
        std::int32_t& page = pages.front();
        pages = pages.subspan(1);
        const auto it = node->children.find(key_of(tokens));
        if (it == node->children.end()) {
            Node* child = add_child(*node, tokens, page);
            replace_prefixes(*node, *child);
            node = child;
        } else {
            node = it->second.get();
            if (node->page != page) {
                kv_.share(node->page);
                kv_.release(page);
                page = node->page;
            }
        }
        use(*node, owner);
    }
    if (tail && !tokens.empty()) insert_tail(*node, tokens, pages.front(), owner);
    return node;
}

void PrefixTree::insert_tail(Node& node, std::span<const std::int32_t> tokens, std::int32_t& page,
                             Owner owner) {
    auto [child, n] = closest(node, tokens);
    if (child == nullptr || n < static_cast<int>(tokens.size())) {
        child = add_child(node, tokens, page);
        replace_prefixes(node, *child);
    }
    use(*child, owner);
}

/// Partial pages whose tokens are the beginning of `longer` say nothing that it does not say.
void PrefixTree::replace_prefixes(Node& parent, Node& longer) {
    for (int n = 1; n < longer.n_tokens; ++n) {
        const auto it = parent.children.find(
            key_of(std::span(longer.tokens).first(static_cast<std::size_t>(n))));
        if (it == parent.children.end() || it->second->n_locks > 0) continue;
        for (const Owner owner : it->second->owners) use(longer, owner);
        remove(*it->second);
    }
}

void PrefixTree::use(Node& node, Owner owner) {
    const auto it = std::lower_bound(node.owners.begin(), node.owners.end(), owner);
    if (it == node.owners.end() || *it != owner) node.owners.insert(it, owner);
    touch(node);
}

void PrefixTree::touch(Node& node) {
    node.last_use = clock_;
    requeue(node);
}

// --- shrinking -----------------------------------------------------------------------------------

/// Brings the queue up to date with what the node is now.
void PrefixTree::requeue(Node& node) {
    const bool wanted = node.is_evictable();
    if (node.queued && (!wanted || node.queued_use != node.last_use)) {
        queue_.erase({node.queued_use, &node});
        node.queued = false;
    }
    if (!wanted || node.queued) return;
    queue_.emplace(node.last_use, &node);
    node.queued = true;
    node.queued_use = node.last_use;
}

/// An unlocked leaf.
void PrefixTree::remove(Node& node) {
    HEARTH_CHECK(node.is_evictable());
    if (node.queued) queue_.erase({node.queued_use, &node});
    kv_.release(node.page);
    --n_pages_;
    Node& parent = *node.parent;
    const Key key = node.tokens;
    parent.children.erase(key);
    requeue(parent);
}

bool PrefixTree::evict() {
    if (queue_.empty()) return false;
    remove(*queue_.begin()->second);
    return true;
}

void PrefixTree::remove_ownerless(Node* node) {
    while (node->is_evictable() && node->owners.empty()) {
        Node* parent = node->parent;
        remove(*node);
        node = parent;
    }
}

void PrefixTree::forget(Owner owner) {
    std::vector<Node*> theirs;
    for (std::vector<Node*> open{root_.get()}; !open.empty();) {
        Node* node = open.back();
        open.pop_back();
        for (const auto& [key, child] : node->children) {
            const auto it = std::lower_bound(child->owners.begin(), child->owners.end(), owner);
            if (it == child->owners.end() || *it != owner) continue;  // nothing below it either
            child->owners.erase(it);
            theirs.push_back(child.get());
            open.push_back(child.get());
        }
    }
    // Children stand behind their parents.
    for (auto it = theirs.rbegin(); it != theirs.rend(); ++it) {
        if ((*it)->is_evictable() && (*it)->owners.empty()) remove(**it);
    }
}

// --- checking ------------------------------------------------------------------------------------

std::string PrefixTree::check_node(const Node& node) const {
    int locks_below = 0;
    for (const auto& [key, child] : node.children) {
        if (child->parent != &node || child->tokens != key) return "a child is in the wrong place";
        if (child->n_tokens < 1 || child->n_tokens > kPageTokens) return "a node has no tokens";
        if (!child->is_whole() && !child->children.empty()) return "a partial page has children";
        const auto n = static_cast<std::size_t>(child->n_tokens);
        if (key_of(std::span(key).first(n)) != key) return "tokens stand behind a node's end";
        if (child->last_use > node.last_use && &node != root_.get()) {
            return "a child was used after its parent";
        }
        if (&node != root_.get() && !std::includes(node.owners.begin(), node.owners.end(),
                                                   child->owners.begin(), child->owners.end())) {
            return "a child belongs to somebody its parent does not belong to";
        }
        if (child->n_locks < 0) return "negative locks";
        locks_below += child->n_locks;
    }
    if (&node == root_.get()) return "";
    if (node.n_locks < locks_below) return "a node has fewer locks than its children";
    if (node.queued != node.is_evictable()) return "the queue disagrees with a leaf";
    if (node.queued && queue_.count({node.last_use, const_cast<Node*>(&node)}) == 0) {
        return "a leaf stands in the queue with another time";
    }
    if (kv_.pool().n_references(node.page) < 1) return "a node's page is free";
    return "";
}

std::string PrefixTree::check() const {
    int n_nodes = 0, n_protected = 0, n_queued = 0;
    std::set<std::int32_t> pages;
    for (std::vector<const Node*> open{root_.get()}; !open.empty();) {
        const Node* node = open.back();
        open.pop_back();
        if (std::string wrong = check_node(*node); !wrong.empty()) return wrong;
        for (const auto& [key, child] : node->children) {
            open.push_back(child.get());
            ++n_nodes;
            n_protected += child->n_locks > 0 ? 1 : 0;
            n_queued += child->queued ? 1 : 0;
            if (!pages.insert(child->page).second) return "two nodes have one page";
        }
    }
    if (n_nodes != n_pages_ || n_protected != n_protected_ ||
        n_queued != static_cast<int>(queue_.size())) {
        return fmt::format("counted {} nodes, {} protected, {} queued; expected {}, {}, {}",
                           n_nodes, n_protected, n_queued, n_pages_, n_protected_, queue_.size());
    }
    return kv_.pool().check() ? "" : "the page pool is inconsistent";
}

}  // namespace hearth
