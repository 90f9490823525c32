#include "engine/generate/text_filter.h"

#include <random>

#include <catch2/catch.hpp>

namespace hearth {
namespace {

struct Shown {
    std::string text, fragment;
    std::vector<std::int32_t> ids;
    bool stopped = false;
};

/// Pushes pieces as tokens 0, 1, 2, …; everything that comes out.
Shown run(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
    TextFilter filter(std::move(stops));
    Shown all;
    const auto take = [&](TextFilter::Output out) {
        all.text += out.text;
        all.ids.insert(all.ids.end(), out.ids.begin(), out.ids.end());
        all.fragment += out.fragment;
        all.stopped = out.stopped;
    };
    for (std::size_t i = 0; i < pieces.size() && !all.stopped; ++i) {
        take(filter.push(static_cast<std::int32_t>(i), pieces[i]));
    }
    if (!all.stopped) take(filter.finish());
    return all;
}

using Ids = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("a stop string ends the text before it, wherever tokens are cut",
          "[generate][text_filter]") {
    const std::string text = "Hello wor\n\nUser: more";
    std::mt19937 random(1);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> pieces(1);
        for (const char c : text) {
            if (!pieces.back().empty() && random() % 3 == 0) pieces.emplace_back();
            pieces.back() += c;
        }
        const Shown s = run({"\n\nUser:", "never"}, pieces);
        CHECK(s.stopped);
        REQUIRE(s.text == "Hello wor");
        // Ids and fragment spell exactly what was shown.
        std::string spelt;
        for (const auto id : s.ids) spelt += pieces[static_cast<std::size_t>(id)];
        REQUIRE(spelt + s.fragment == s.text);
    }
}

TEST_CASE("ids stay back with the text they spell", "[generate][text_filter]") {
    TextFilter f({"STOP"});
    auto out = f.push(0, "abc");
    CHECK(out.text == "abc");
    CHECK(out.ids == Ids{0});
    out = f.push(1, "d S");
    CHECK(out.text == "d ");
    CHECK(out.ids.empty());
    out = f.push(2, "T");
    CHECK(out.text.empty());
    CHECK(out.ids.empty());
    SECTION("no stop after all") {
        out = f.push(3, "x");
        CHECK(out.text == "STx");
        CHECK(out.ids == Ids{1, 2, 3});
        CHECK(f.finish().ids.empty());
    }
    SECTION("the end comes first") {
        out = f.finish();
        CHECK(out.text == "ST");
        CHECK(out.ids == Ids{1, 2});
    }
    SECTION("the stop is completed inside a token") {
        out = f.push(3, "OP and more");
        CHECK(out.stopped);
        CHECK(out.text.empty());
        CHECK(out.ids.empty());
        CHECK(out.fragment == "d ");
    }
}

TEST_CASE("the stop string completed first wins, of those the longest", "[generate][text_filter]") {
    CHECK(run({"abc", "b"}, {"xabc"}).text == "xa");
    CHECK(run({"bc", "abc"}, {"xabc"}).text == "x");
    CHECK(run({"aab"}, {"aaaab!"}).text == "aa");
    CHECK(run({""}, {"text"}).text == "text");
    CHECK_FALSE(run({""}, {"text"}).stopped);
    CHECK(run({"text"}, {"text"}).text.empty());
}

TEST_CASE("characters come out whole and their ids with them", "[generate][text_filter]") {
    TextFilter f({});
    CHECK(f.push(0, "a").ids == Ids{0});
    CHECK(f.push(1, "\xF0\x9F").ids.empty());
    CHECK(f.push(2, "\x98").text.empty());
    const auto out = f.push(3, "\x80!");
    CHECK(out.text == "\xF0\x9F\x98\x80!");
    CHECK(out.ids == Ids{1, 2, 3});
    SECTION("a token without text is handed out at once") { CHECK(f.push(4, "").ids == Ids{4}); }
    SECTION("an incomplete end becomes one replacement character") {
        CHECK(f.push(4, "\xE4\xBD").text.empty());
        const auto last = f.finish();
        CHECK(last.text == "\xEF\xBF\xBD");
        CHECK(last.ids == Ids{4});
    }
}

TEST_CASE("a stop right after a character that was split keeps its first token out",
          "[generate][text_filter]") {
    const Shown s = run({"STOP"}, {"a", "\xC3", "\xA9STOP", "b"});
    CHECK(s.stopped);
    CHECK(s.text == "a\xC3\xA9");
    CHECK(s.ids == Ids{0});
    CHECK(s.fragment == "\xC3\xA9");
}

}  // namespace hearth
