#include "engine/cache/prefix_tree.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <catch2/catch.hpp>

namespace hearth {
namespace {

using Ids = std::vector<std::int32_t>;

std::unique_ptr<KvCache> make_kv(Backend& backend, int n_pages) {
    AttentionSpec a;
    a.n_heads = a.n_kv_heads = 1;
    a.head_dim = 16;
    ModelConfig c;
    c.attention = {a};
    auto kv = KvCache::make(c, backend, DType::f16, n_pages);
    REQUIRE(kv);
    return std::move(*kv);
}

/// The same as lists: every known prefix with everything that is known of it, found by looking at
/// all of them.
struct PlainTree {
    struct Entry {
        Ids prefix;  ///< all tokens up to the end of this page
        std::int32_t page;
        int locks = 0;
        std::uint64_t last_use = 0;
        std::vector<std::uint64_t> owners;
        bool is_tail() const { return prefix.size() % kPageTokens != 0; }
        std::size_t parent_length() const {
            return (prefix.size() - 1) / kPageTokens * kPageTokens;
        }
    };
    std::vector<Entry> entries;
    std::uint64_t clock = 0;

    static bool begins(const Ids& longer, const Ids& shorter) {
        return shorter.size() <= longer.size() &&
               std::equal(shorter.begin(), shorter.end(), longer.begin());
    }
    Entry* find(const Ids& prefix) {
        for (Entry& e : entries) {
            if (e.prefix == prefix) return &e;
        }
        return nullptr;
    }
    Entry* by_page(std::int32_t page) {
        for (Entry& e : entries) {
            if (e.page == page) return &e;
        }
        return nullptr;
    }
    bool is_leaf(const Entry& e) const {
        return std::none_of(entries.begin(), entries.end(), [&](const Entry& o) {
            return o.prefix.size() > e.prefix.size() && !e.is_tail() && begins(o.prefix, e.prefix);
        });
    }
    void erase(const Ids& prefix) {
        std::erase_if(entries, [&](const Entry& e) { return e.prefix == prefix; });
    }
    Ids whole(const Ids& tokens) {
        Ids best;
        for (std::size_t n = kPageTokens; n <= tokens.size(); n += kPageTokens) {
            const Ids prefix(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
            if (find(prefix) == nullptr) break;
            best = prefix;
        }
        return best;
    }
    /// Most tokens after `start` that some child of `start` shares.
    int tail_length(const Ids& start, const Ids& tokens) const {
        std::size_t best = 0;
        for (const Entry& e : entries) {
            if (e.parent_length() != start.size() || !begins(e.prefix, start)) continue;
            std::size_t n = start.size();
            while (n < std::min(e.prefix.size(), tokens.size()) && e.prefix[n] == tokens[n]) ++n;
            best = std::max(best, n - start.size());
        }
        return static_cast<int>(best);
    }
    void touch_path(const Ids& prefix) {
        for (Entry& e : entries) {
            if (!e.is_tail() && begins(prefix, e.prefix)) e.last_use = clock;
        }
    }
    void change_locks(const Ids& prefix, int by) {
        for (Entry& e : entries) {
            if (begins(prefix, e.prefix) && (!e.is_tail() || e.prefix == prefix)) e.locks += by;
        }
    }
    void add_owner(Entry& e, std::uint64_t owner) {
        if (std::find(e.owners.begin(), e.owners.end(), owner) == e.owners.end()) {
            e.owners.push_back(owner);
        }
        e.last_use = clock;
    }
    /// Adds the page when it is new; returns the page that stands for the prefix.
    std::int32_t insert_page(const Ids& prefix, std::int32_t page, std::uint64_t owner) {
        Entry* e = find(prefix);
        if (e == nullptr && prefix.size() % kPageTokens != 0) {
            for (Entry& o : entries) {  // a longer page that begins so
                if (o.parent_length() == (prefix.size() - 1) / kPageTokens * kPageTokens &&
                    begins(o.prefix, prefix)) {
                    return -1;
                }
            }
        }
        if (e == nullptr) {
            Entry fresh{prefix, page, 0, clock, {}};
            for (const Entry& o : entries) {
                if (o.is_tail() && o.locks == 0 && o.parent_length() == fresh.parent_length() &&
                    begins(prefix, o.prefix)) {
                    for (const auto w : o.owners) add_owner(fresh, w);
                }
            }
            std::erase_if(entries, [&](const Entry& o) {
                return o.is_tail() && o.locks == 0 && o.parent_length() == fresh.parent_length() &&
                       begins(prefix, o.prefix);
            });
            entries.push_back(fresh);
            e = &entries.back();
        }
        add_owner(*e, owner);
        return e->page;
    }
    /// The page that goes, or -1.
    std::int32_t evict() {
        Entry* oldest = nullptr;
        for (Entry& e : entries) {
            if (e.locks > 0 || !is_leaf(e)) continue;
            if (oldest == nullptr || e.last_use < oldest->last_use) oldest = &e;
        }
        if (oldest == nullptr) return -1;
        const std::int32_t page = oldest->page;
        erase(Ids(oldest->prefix));
        return page;
    }
    void remove_ownerless() {
        for (bool again = true; again;) {
            again = false;
            for (const Entry& e : entries) {
                if (!e.owners.empty() || e.locks > 0 || !is_leaf(e)) continue;
                erase(Ids(e.prefix));
                again = true;
                break;
            }
        }
    }
    void forget(std::uint64_t owner) {
        for (Entry& e : entries) std::erase(e.owners, owner);
        remove_ownerless();
    }
};

/// Prefixes of few different pages, so that they share beginnings, within pages too.
class Texts {
  public:
    explicit Texts(unsigned seed) : random_(seed) {}
    std::uint32_t draw(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    Ids prefix(int most_pages) {
        Ids ids;
        const int n = static_cast<int>(draw(static_cast<std::uint32_t>(most_pages))) + 1;
        for (int page = 0; page < n; ++page) {
            const auto kind = static_cast<std::int32_t>(draw(3));
            const auto from = kind == 0 ? 16u : draw(17);  // where a variant begins to differ
            for (std::int32_t i = 0; i < kPageTokens; ++i) {
                ids.push_back(static_cast<std::uint32_t>(i) < from ? i : i + 100 * kind);
            }
        }
        if (draw(4) != 0) ids.resize(ids.size() - draw(kPageTokens));
        return ids;
    }

  private:
    std::mt19937 random_;
};

struct Held {
    PrefixTree::Node* node;
    Ids prefix;
};

/// One random run of both trees.
class Game {
  public:
    Game(Backend& backend, int n_pages, unsigned seed)
        : kv_(make_kv(backend, n_pages)),
          tree_(std::make_unique<PrefixTree>(*kv_)),
          texts_(seed) {}

    void step() {
        const auto op = texts_.draw(20);
        if (op < 8) insert();
        if (op >= 8 && op < 14) match();
        if (op >= 14 && op < 17) unlock();
        if (op == 17 || op == 18) evict();
        if (op == 19) forget();
        REQUIRE(tree_->n_pages() == static_cast<int>(plain_.entries.size()));
        REQUIRE(kv_->pool().n_in_use() == tree_->n_pages());
    }
    void check() {
        REQUIRE(tree_->check() == "");
        int evictable = 0;
        for (const auto& e : plain_.entries) {
            REQUIRE(kv_->pool().n_references(e.page) == 1);
            evictable += e.locks == 0 ? 1 : 0;
        }
        REQUIRE(tree_->n_evictable() == evictable);
    }
    void finish() {
        while (!held_.empty()) unlock();
        check();
        tree_.reset();
        REQUIRE(kv_->pool().n_in_use() == 0);
    }

  private:
    void insert() {
        const Ids ids = texts_.prefix(5);
        const bool tail = texts_.draw(2) == 0;
        const std::uint64_t owner = texts_.draw(6);
        Ids pages;
        while (!kv_->reserve(pages, static_cast<int>(ids.size()))) {
            if (!evict()) break;
        }
        if (pages.empty()) return;  // all that is there is locked
        Ids before = pages;
        PrefixTree::Node* node = tree_->insert(ids, pages, owner, tail);
        ++plain_.clock;
        for (std::size_t i = 0; i < pages.size(); ++i) {
            const std::size_t end = std::min(ids.size(), (i + 1) * kPageTokens);
            if (end % kPageTokens != 0 && !tail) continue;
            const Ids prefix(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(end));
            const std::int32_t page = plain_.insert_page(prefix, before[i], owner);
            if (end % kPageTokens == 0) {
                REQUIRE(page == pages[i]);
            } else if (page == -1) {  // a longer page has it: the tree says which
                const Ids rest(prefix.end() - static_cast<std::ptrdiff_t>(end % kPageTokens),
                               prefix.end());
                PrefixTree::Node* other = tree_->tail_of(node, rest);
                REQUIRE(other != nullptr);
                plain_.add_owner(*plain_.by_page(PrefixTree::page_of(other)), owner);
            }
        }
        kv_->cut(pages, 0);
    }
    void match() {
        const Ids ids = texts_.prefix(6);
        const auto m = tree_->match(ids);
        ++plain_.clock;
        const Ids whole = plain_.whole(ids);
        REQUIRE(m.n_tokens() == static_cast<int>(whole.size()));
        for (std::size_t i = 0; i < m.pages.size(); ++i) {
            const Ids prefix(ids.begin(),
                             ids.begin() + static_cast<std::ptrdiff_t>((i + 1) * kPageTokens));
            REQUIRE(plain_.find(prefix)->page == m.pages[i]);
        }
        plain_.touch_path(whole);
        REQUIRE(m.n_tail == plain_.tail_length(whole, ids));
        REQUIRE((m.tail != nullptr) == (m.n_tail > 0));
        if (m.tail != nullptr) {
            auto* e = plain_.by_page(PrefixTree::page_of(m.tail));
            REQUIRE(e != nullptr);
            REQUIRE(
                std::equal(ids.begin(), ids.begin() + m.n_tokens() + m.n_tail, e->prefix.begin()));
            e->last_use = plain_.clock;
        }
        if (held_.size() >= 4) return;
        const bool with_tail = m.tail != nullptr && texts_.draw(2) == 0;
        PrefixTree::Node* node = with_tail ? m.tail : m.node;
        tree_->lock(node);
        held_.push_back(
            {node, with_tail ? plain_.by_page(PrefixTree::page_of(node))->prefix : whole});
        plain_.change_locks(held_.back().prefix, 1);
    }
    void unlock() {
        if (held_.empty()) return;
        const std::size_t i = texts_.draw(static_cast<std::uint32_t>(held_.size()));
        const Held h = held_[i];
        held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
        tree_->unlock(h.node);
        plain_.change_locks(h.prefix, -1);
        plain_.remove_ownerless();
    }
    bool evict() {
        const std::int32_t page = plain_.evict();
        REQUIRE(tree_->evict() == (page != -1));
        if (page != -1) REQUIRE(kv_->pool().n_references(page) == 0);
        return page != -1;
    }
    void forget() {
        const std::uint64_t owner = texts_.draw(6);
        tree_->forget(owner);
        plain_.forget(owner);
    }

    std::unique_ptr<KvCache> kv_;
    std::unique_ptr<PrefixTree> tree_;
    PlainTree plain_;
    std::vector<Held> held_;
    Texts texts_;
};

}  // namespace

TEST_CASE("random operations agree with lists of prefixes", "[cache][prefix_tree]") {
    const bool full = std::getenv("HEARTH_TEST_FULL") != nullptr;
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const int n_pages = GENERATE(8, 24, 64);
    for (unsigned seed = 1; seed <= (full ? 34u : 2u); ++seed) {
        CAPTURE(n_pages, seed);
        Game game(*backend, n_pages, seed);
        for (int i = 0; i < 10000; ++i) {
            game.step();
            if (i % 20 == 0) game.check();
        }
        game.finish();
    }
}

TEST_CASE("the edges of a prefix tree", "[cache][prefix_tree]") {
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, 16);
    PrefixTree tree(*kv);
    const auto put = [&](const Ids& ids, PrefixTree::Owner owner) {
        Ids pages;
        REQUIRE(kv->reserve(pages, static_cast<int>(ids.size())));
        PrefixTree::Node* node = tree.insert(ids, pages, owner, true);
        kv->cut(pages, 0);
        return node;
    };
    Ids ids(40);
    for (int i = 0; i < 40; ++i) ids[static_cast<std::size_t>(i)] = i;

    SECTION("an empty tree and an empty prompt match nothing") {
        CHECK(tree.match({}).n_tokens() == 0);
        CHECK(tree.match(ids).n_tail == 0);
        PrefixTree::Node* root = tree.match({}).node;
        tree.lock(root);  // of no effect
        tree.unlock(root);
        CHECK_FALSE(tree.evict());
    }
    SECTION("a prefix shorter than a page is a tail and can be copied") {
        put({1, 2, 3}, 1);
        const auto m = tree.match(Ids{1, 2, 9});
        CHECK(m.n_tokens() == 0);
        CHECK(m.n_tail == 2);
    }
    SECTION("a locked node and all above it outlive eviction; below it leaves go") {
        put(ids, 1);
        const auto m = tree.match(std::span(ids).first(16));
        tree.lock(m.node);
        CHECK(tree.n_evictable() == 2);
        CHECK(tree.evict());
        CHECK(tree.evict());
        CHECK_FALSE(tree.evict());
        CHECK(tree.match(ids).n_tokens() == 16);
        tree.unlock(m.node);
        CHECK(tree.evict());
        CHECK(tree.n_pages() == 0);
    }
    SECTION("what two share goes with the second") {
        put(ids, 1);
        Ids other = ids;
        other[20] = 99;
        put(other, 2);
        CHECK(tree.n_pages() == 5);
        tree.forget(1);
        CHECK(tree.n_pages() == 3);
        CHECK(tree.match(other).n_tokens() == 32);
        tree.forget(2);
        CHECK(tree.n_pages() == 0);
    }
    SECTION("what is forgotten while it is in use goes when it is not") {
        PrefixTree::Node* node = put(ids, 1);
        tree.lock(node);
        tree.forget(1);
        CHECK(tree.n_pages() == 2);
        CHECK(tree.check() == "");
        tree.unlock(node);
        CHECK(tree.n_pages() == 0);
    }
    SECTION("a longer tail replaces the shorter one, and its owners stay") {
        put({1, 2}, 1);
        put({1, 2, 3}, 2);
        CHECK(tree.n_pages() == 1);
        tree.forget(2);
        CHECK(tree.n_pages() == 1);
        put({1}, 2);
        CHECK(tree.n_pages() == 1);
        put({1, 4}, 2);
        CHECK(tree.n_pages() == 2);
    }
    CHECK(tree.check() == "");
}

}  // namespace hearth
