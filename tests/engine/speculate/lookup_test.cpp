#include "engine/speculate/lookup.h"

#include <random>

#include <catch2/catch.hpp>

namespace hearth {
namespace {

using Ids = std::vector<std::int32_t>;

const std::atomic<bool> kGoOn{false};

Draft ask(LookupDrafter& d, const Ids& history, int most = 8, const std::string& talk = "a") {
    const SamplingParams sampling;
    return d.propose({talk, history, sampling, most, {}, kGoOn});
}

/// The longest match by comparing every place; of equal ones the newest.
std::optional<std::pair<int, int>> slow_find(const Ids& t) {
    std::optional<std::pair<int, int>> best;
    const int end = static_cast<int>(t.size()) - 1;
    for (int place = end - 1; place >= 0; --place) {
        int n = 0;
        while (n < NgramIndex::kLongest && place - n >= 0 &&
               t[static_cast<std::size_t>(place - n)] == t[static_cast<std::size_t>(end - n)] &&
               t[static_cast<std::size_t>(place - n)] != NgramIndex::kGap) {
            ++n;
        }
        if (n < NgramIndex::kGram || t[static_cast<std::size_t>(place + 1)] == NgramIndex::kGap) {
            continue;
        }
        if (!best || n > best->second) best = {place + 1, n};
    }
    return best;
}

}  // namespace

TEST_CASE("the index finds what a search through everything finds, growing and shrinking",
          "[speculate][lookup]") {
    std::mt19937 random(3);
    NgramIndex index;
    Ids text;
    int n_found = 0;
    for (int round = 0; round < 4000; ++round) {
        if (random() % 40 == 0) {
            const std::size_t n = random() % (text.size() + 1);
            text.resize(n);
            index.cut(static_cast<int>(n));
        }
        const std::int32_t id =
            random() % 30 == 0 ? NgramIndex::kGap : static_cast<std::int32_t>(random() % 3);
        text.push_back(id);
        index.push(id);
        REQUIRE(index.tokens() == text);
        const auto found = index.find();
        const auto expected = slow_find(text);
        if (text.size() > 60) continue;  // more places than are looked at
        REQUIRE(found.has_value() == expected.has_value());
        if (!found) continue;
        ++n_found;
        CHECK(found->length == expected->second);
        CHECK(found->next == expected->first);
    }
    CHECK(n_found > 100);
}

TEST_CASE("what followed before is proposed", "[speculate][lookup]") {
    LookupDrafter d;
    CHECK(ask(d, {1, 2, 3, 4, 5, 6, 9, 1, 2, 3}, 3).ids == Ids{4, 5, 6});
    CHECK(ask(d, {1, 2, 3, 4, 5, 6, 9, 1, 2}).ids.empty());  // two tokens are chance
    CHECK(ask(d, {}).ids.empty());
    SECTION("the longest match wins over the newest") {
        CHECK(ask(d, {7, 1, 2, 3, 50, 8, 1, 2, 3, 60, 7, 1, 2, 3}, 1).ids == Ids{50});
    }
    SECTION("of equal ones the newest, marked as disputed") {
        const Draft draft = ask(d, {7, 1, 2, 3, 50, 8, 1, 2, 3, 60, 9, 1, 2, 3}, 1);
        CHECK(draft.ids == Ids{60});
        CHECK(d.expected_acceptance(draft.bins[0]) < 0.3);
    }
    SECTION("a text that repeats itself goes on so") {
        CHECK(ask(d, {5, 6, 7, 5, 6, 7, 5, 6, 7}, 7).ids == Ids{5, 6, 7, 5, 6, 7, 5});
        CHECK(ask(d, {4, 4, 4, 4}, 5).ids == Ids{4, 4, 4, 4, 4});
    }
    SECTION("longer matches are surer") {
        Ids text;
        for (int i = 0; i < 60; ++i) text.push_back(i);
        for (int i = 0; i < 20; ++i) text.push_back(i);
        const Draft draft = ask(d, text, 15);
        REQUIRE(draft.size() == 15);
        CHECK(std::is_sorted(draft.bins.begin(), draft.bins.end()));
        CHECK(draft.bins.front() < draft.bins.back());
    }
}

TEST_CASE("edits and branches are followed; earlier answers are looked up too",
          "[speculate][lookup]") {
    LookupDrafter d;
    CHECK(ask(d, {1, 2, 3, 4, 5, 1, 2, 3}, 2).ids == Ids{4, 5});
    CHECK(ask(d, {1, 2, 3, 9, 5, 1, 2, 3}, 2).ids == Ids{9, 5});  // edited
    CHECK(ask(d, {1, 2, 3, 4, 5, 1, 2, 3}, 2).ids == Ids{4, 5});  // and back
    d.answered("a", Ids{20, 21, 22, 23, 24, 25});
    CHECK(ask(d, {30, 20, 21, 22}, 5).ids == Ids{23, 24, 25});  // it ends where the answer ended
    CHECK(ask(d, {30, 20, 21, 22}, 5, "b").ids.empty());        // of this conversation only
    d.forget("a");
    CHECK(ask(d, {30, 20, 21, 22}, 5).ids.empty());
}

TEST_CASE("what is kept of many conversations and answers is bounded", "[speculate][lookup]") {
    LookupDrafter d;
    for (int i = 0; i < 100; ++i) d.answered(std::to_string(i), Ids{1, 2, 3, 100 + i});
    CHECK(ask(d, {1, 2, 3}, 1, "0").ids.empty());
    CHECK(ask(d, {1, 2, 3}, 1, "99").ids == Ids{199});
    Ids long_answer(9000, 7);
    long_answer[0] = 1;
    for (int i = 0; i < 5; ++i) {
        long_answer[1] = 200 + i;
        d.answered("99", long_answer);
    }
    CHECK(ask(d, {1, 2, 3}, 1, "99").ids.empty());
    CHECK(ask(d, {1, 204, 7}, 1, "99").ids == Ids{7});
}

}  // namespace hearth
