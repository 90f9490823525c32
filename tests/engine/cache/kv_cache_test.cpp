#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <catch2/catch.hpp>

#include "engine/cache/conversation_cache.h"

namespace hearth {
namespace {

ModelConfig small_config() {
    ModelConfig c;
    AttentionSpec a;
    a.n_heads = 4;
    a.n_kv_heads = 2;
    a.head_dim = 16;
    c.attention = {a, a, a};
    c.attention[1].n_kv_heads = 1;  // a layer with smaller pages
    return c;
}

std::unique_ptr<KvCache> make_kv(Backend& backend, int n_pages, bool permuted = false) {
    auto kv = KvCache::make(small_config(), backend, DType::f16, n_pages, permuted);
    REQUIRE(kv);
    return std::move(*kv);
}

std::uint8_t* keys_of(const KvCache& kv, int layer, std::int32_t page) {
    const KvLayer& l = kv.layers()[static_cast<std::size_t>(layer)];
    return static_cast<std::uint8_t*>(l.keys) + kv.slot(page) * l.page_bytes;
}
std::uint8_t* values_of(const KvCache& kv, int layer, std::int32_t page) {
    const KvLayer& l = kv.layers()[static_cast<std::size_t>(layer)];
    return static_cast<std::uint8_t*>(l.values) + kv.slot(page) * l.page_bytes;
}

bool is_filled(const std::uint8_t* p, std::int64_t n, std::uint8_t value) {
    return std::all_of(p, p + n, [&](std::uint8_t b) { return b == value; });
}

std::vector<std::int32_t> counting(int n, int first = 0) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

}  // namespace

TEST_CASE("pages of all layers are disjoint, and zero whenever they are handed out",
          "[cache][kv_cache]") {
    const bool permuted = GENERATE(false, true);
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, 2 * KvCache::kSlabPages, permuted);
    const std::int64_t bytes = kv->layers()[0].page_bytes;
    REQUIRE(bytes == 2 * 16 * 16 * 2);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::int32_t> pages;
        // The second round leaves a slab half in use when it is released.
        REQUIRE(kv->reserve(pages, kPageTokens * (round == 1 ? 40 : 64)));
        for (const std::int32_t p : pages) {
            for (int layer = 0; layer < 3; ++layer) {
                REQUIRE(is_filled(keys_of(*kv, layer, p), bytes, 0));
                REQUIRE(is_filled(values_of(*kv, layer, p), bytes, 0));
            }
        }
        const auto mark = [](std::int32_t page, int plane) {
            return static_cast<std::uint8_t>(1 + (page * 6 + plane) % 251);
        };
        for (const std::int32_t p : pages) {
            for (int layer = 0; layer < 3; ++layer) {
                std::memset(keys_of(*kv, layer, p), mark(p, 2 * layer), 1024);
                std::memset(values_of(*kv, layer, p), mark(p, 2 * layer + 1), 1024);
            }
        }
        for (const std::int32_t p : pages) {
            for (int layer = 0; layer < 3; ++layer) {
                REQUIRE(is_filled(keys_of(*kv, layer, p), bytes, mark(p, 2 * layer)));
                REQUIRE(is_filled(values_of(*kv, layer, p), bytes, mark(p, 2 * layer + 1)));
            }
        }
        kv->cut(pages, round == 1 ? 3 : 0);
        kv->cut(pages, 0);
        CHECK(kv->pool().n_in_use() == 0);
        CHECK(kv->bytes_in_use() == 0);
    }
}

TEST_CASE("reserve takes all the pages that are missing or none", "[cache][kv_cache]") {
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, 1);  // rounded up to a slab
    REQUIRE(kv->pool().n_pages() == KvCache::kSlabPages);
    std::vector<std::int32_t> a, b;
    CHECK(kv->reserve(a, 1));
    CHECK(a.size() == 1);
    CHECK(kv->reserve(a, kPageTokens));
    CHECK(a.size() == 1);
    CHECK(kv->reserve(a, kPageTokens + 1));
    CHECK(a.size() == 2);
    CHECK_FALSE(kv->reserve(b, kPageTokens * (KvCache::kSlabPages - 1)));
    CHECK(b.empty());
    CHECK(kv->pool().n_in_use() == 2);
    CHECK(kv->reserve(b, kPageTokens * (KvCache::kSlabPages - 2)));
    CHECK(kv->pool().n_free() == 0);
    kv->cut(a, 1);
    CHECK(kv->pool().n_free() == 1);
}

TEST_CASE("a conversation gives back the whole pages that the new prompt begins with",
          "[cache][conversation_cache]") {
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, KvCache::kSlabPages);
    {
        ConversationCache cache(*kv);
        const auto tokens = counting(100);
        std::vector<std::int32_t> pages;
        REQUIRE(kv->reserve(pages, 90));
        const auto kept = pages;
        cache.put("a", tokens, 90, std::move(pages));  // 90 computed: 5 whole pages
        CHECK(kv->pool().n_in_use() == 5);

        struct Case {
            const char* what;
            int same, n_ids, n_reused;
        };
        const Case c = GENERATE(Case{"longer", 100, 120, 80}, Case{"the same", 90, 90, 80},
                                Case{"exactly the kept part", 80, 80, 64},
                                Case{"differs inside a page", 70, 120, 64},
                                Case{"differs at once", 0, 50, 0}, Case{"one token", 1, 1, 0});
        CAPTURE(c.what);
        auto ids = counting(c.same);
        while (static_cast<int>(ids.size()) < c.n_ids) ids.push_back(-1);
        auto reused = cache.take("a", ids);
        CHECK(reused.n_tokens == c.n_reused);
        CHECK(static_cast<int>(reused.pages.size()) * kPageTokens == c.n_reused);
        CHECK(std::equal(reused.pages.begin(), reused.pages.end(), kept.begin()));
        CHECK(kv->pool().n_in_use() == c.n_reused / kPageTokens);
        CHECK(cache.n_conversations() == 0);
        CHECK(cache.take("a", ids).n_tokens == 0);
        kv->cut(reused.pages, 0);
    }
    CHECK(kv->pool().n_in_use() == 0);
}

TEST_CASE("the conversation that was unused for longest is evicted first",
          "[cache][conversation_cache]") {
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, KvCache::kSlabPages);
    ConversationCache cache(*kv);
    const auto tokens = counting(64);
    const auto put = [&](const char* name) {
        std::vector<std::int32_t> pages;
        REQUIRE(kv->reserve(pages, 32));
        cache.put(name, tokens, 32, std::move(pages));
    };
    put("a");
    put("b");
    put("c");
    put("a");  // used again: b is the oldest now
    CHECK(kv->pool().n_in_use() == 6);
    CHECK(cache.evict_oldest());
    CHECK(cache.take("b", tokens).n_tokens == 0);
    cache.forget("c");
    CHECK(kv->pool().n_in_use() == 2);
    auto a = cache.take("a", tokens);
    CHECK(a.n_tokens == 32);
    kv->cut(a.pages, 0);
    CHECK_FALSE(cache.evict_oldest());
    CHECK(kv->pool().n_in_use() == 0);
}

}  // namespace hearth
