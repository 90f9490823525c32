#include "engine/cache/page_pool.h"

#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

namespace hearth {

TEST_CASE("random allocate, share and release agree with a naive map", "[cache][page_pool]") {
    const bool permuted = GENERATE(false, true);
    const int n_pages = GENERATE(1, 16, 200);
    const unsigned seed = GENERATE(1u, 2u, 3u);
    PagePool pool(n_pages, permuted);
    std::map<std::int32_t, int> model;  // id -> references
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i) {
        // Phases of growing and shrinking, so that full and empty are both met.
        const bool growing = i / 500 % 2 == 0;
        const auto op = random() % 10;
        if (op < (growing ? 7 : 2)) {
            const std::int32_t id = pool.allocate();
            if (static_cast<int>(model.size()) == n_pages) {
                REQUIRE(id == -1);
            } else {
                REQUIRE(id >= 0);
                REQUIRE(id < n_pages);
                REQUIRE(model.count(id) == 0);
                model[id] = 1;
            }
        } else if (!model.empty()) {
            auto it = model.begin();
            std::advance(it, random() % model.size());
            if (op == 9) {
                pool.share(it->first);
                ++it->second;
            } else {
                REQUIRE(pool.release(it->first) == (it->second == 1));
                if (--it->second == 0) model.erase(it);
            }
        }
        REQUIRE(pool.n_in_use() == static_cast<int>(model.size()));
        REQUIRE(pool.n_free() == n_pages - pool.n_in_use());
        for (const auto& [id, references] : model) REQUIRE(pool.n_references(id) == references);
        if (i % 50 == 0) REQUIRE(pool.check());
    }
}

TEST_CASE("free pages are handed out lowest first, so that memory in use stays together",
          "[cache][page_pool]") {
    PagePool pool(8);
    for (int i = 0; i < 8; ++i) CHECK(pool.allocate() == i);
    for (const int id : {6, 1, 4}) CHECK(pool.release(id));
    CHECK(pool.allocate() == 1);
    CHECK(pool.allocate() == 4);
    CHECK(pool.allocate() == 6);
    CHECK(pool.allocate() == -1);
}

TEST_CASE("a permuted pool hands out every page once, in another order, always the same",
          "[cache][page_pool]") {
    PagePool a(64, true), b(64, true);
    std::set<std::int32_t> seen;
    bool in_order = true;
    for (int i = 0; i < 64; ++i) {
        const std::int32_t id = a.allocate();
        CHECK(id == b.allocate());
        in_order = in_order && id == i;
        seen.insert(id);
    }
    CHECK(seen.size() == 64);
    CHECK_FALSE(in_order);
}

}  // namespace hearth
