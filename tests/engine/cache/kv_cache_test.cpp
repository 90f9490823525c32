#include "engine/cache/kv_cache.h"

#include <algorithm>
#include <cstring>

#include <catch2/catch.hpp>

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
    const auto kv = make_kv(*backend, KvCache::kSlabPages);
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

TEST_CASE("the pool is the budget's, whatever slabs its address space takes", "[cache][kv_cache]") {
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, KvCache::kSlabPages + 3);
    std::vector<std::int32_t> a;
    CHECK_FALSE(kv->reserve(a, kPageTokens * (KvCache::kSlabPages + 4)));
    CHECK(kv->reserve(a, kPageTokens * (KvCache::kSlabPages + 3)));
    kv->cut(a, 0);
    CHECK(kv->pool().n_in_use() == 0);
}

TEST_CASE("a page is copied, read and written with all its layers", "[cache][kv_cache]") {
    const auto backend = make_cpu_backend({1, CpuIsa::scalar});
    const auto kv = make_kv(*backend, 40, GENERATE(false, true));
    std::vector<std::int32_t> pages;
    REQUIRE(kv->reserve(pages, 40 * kPageTokens));
    const auto n = static_cast<std::size_t>(kv->page_bytes_all());
    std::vector<std::uint8_t> bytes(n), back(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    kv->write_page(pages[3], bytes.data());
    kv->copy_page(pages[38], pages[3]);
    kv->read_page(pages[38], back.data());
    CHECK(back == bytes);
    CHECK(std::equal(bytes.begin(), bytes.begin() + kv->layers()[0].page_bytes,
                     keys_of(*kv, 0, pages[38])));
    CHECK(std::equal(bytes.end() - kv->layers()[2].page_bytes, bytes.end(),
                     values_of(*kv, 2, pages[38])));
    for (const std::int32_t p : pages) {  // nothing else was written
        if (p != pages[3] && p != pages[38]) CHECK(is_filled(keys_of(*kv, 1, p), 1024, 0));
    }
}

}  // namespace hearth
