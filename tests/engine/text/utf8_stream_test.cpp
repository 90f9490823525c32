#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/text/detokenizer.h"
#include "engine/text/utf8.h"

using hearth::Utf8Stream;

namespace {

const std::string kReplacement = "\xEF\xBF\xBD";

std::string in_one_push(const std::string& bytes) {
    Utf8Stream stream;
    std::string out = stream.push(bytes);
    return out + stream.finish();
}

/// Pushes `bytes` cut after each position whose bit is set; every output must be whole characters.
std::string cut_by_bits(const std::string& bytes, unsigned bits) {
    Utf8Stream stream;
    std::string out;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= bytes.size(); ++i) {
        if (i < bytes.size() && ((bits >> (i - 1)) & 1) == 0) continue;
        const std::string part = stream.push(bytes.substr(begin, i - begin));
        for (std::size_t at = 0; at < part.size();) {
            const std::size_t length = hearth::utf8_character(part, at);
            REQUIRE(length > 0);
            at += length;
        }
        out += part;
        begin = i;
    }
    return out + stream.finish();
}

}  // namespace

TEST_CASE("valid text comes out of the stream unchanged for every split", "[text][utf8]") {
    const std::string text = GENERATE(
        std::string("\xF0\x9F\x98\x80"), std::string("a\xC3\xA9\xE4\xBD\xA0z"),
        std::string("\xF0\x9F\x98\x80\xF0\x9F\x98\x80"),
        // woman, ZWJ, wrench: one family of a picture
        std::string("\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xA7"),
        // man, ZWJ, woman, ZWJ, girl
        std::string("\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7"),
        std::string("e\xCC\x81\0x", 5), std::string("\xEF\xBF\xBD\xF4\x8F\xBF\xBF"));
    const unsigned splits = 1u << (text.size() - 1);
    for (unsigned bits = 0; bits < splits; ++bits) {
        if (cut_by_bits(text, bits) != text) FAIL("split " << bits);
    }
    SUCCEED();
}

TEST_CASE("nothing of a character is shown before all of it is there", "[text][utf8]") {
    Utf8Stream stream;
    CHECK(stream.push("a\xF0\x9F") == "a");
    CHECK(stream.push("\x98").empty());
    CHECK(stream.push("\x80"
                      "b") ==
          "\xF0\x9F\x98\x80"
          "b");
    CHECK(stream.finish().empty());
    CHECK(stream.push("\xE4\xBD").empty());
    CHECK(stream.finish() == kReplacement);
    CHECK(stream.finish().empty());
    CHECK(stream.push("ok") == "ok");
}

TEST_CASE("invalid bytes become one mark for each maximal subpart", "[text][utf8]") {
    struct Case {
        std::string bytes;
        int marks;
        std::string rest;
    };
    const auto c = GENERATE(Case{"\x80", 1, ""}, Case{"\xFF", 1, ""}, Case{"\xC0\x80", 2, ""},
                            Case{"\xE0\x80\x80", 3, ""}, Case{"\xED\xA0\x80", 3, ""},
                            Case{"\xF0\x9F\x98", 1, ""}, Case{"\xF0\x9F\x98(", 1, "("},
                            Case{"\xF4\x90\x80\x80", 4, ""}, Case{"\xE2\x82\xE2\x82", 2, ""},
                            Case{"\xF0\x80", 2, ""}, Case{"\xC3\xC3", 2, ""});
    std::string expected;
    for (int i = 0; i < c.marks; ++i) expected += kReplacement;
    CHECK(in_one_push(c.bytes) == expected + c.rest);
    // The standard's own example, table 3-8.
    CHECK(in_one_push("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64") ==
          "a" + kReplacement + kReplacement + kReplacement + "b" + kReplacement + "c" +
              kReplacement + kReplacement + "d");
}

TEST_CASE("any split of any bytes gives the same text", "[text][utf8]") {
    std::mt19937 random(7);
    const std::string interesting = "a\x80\xBF\xC2\xC3\xE0\xE4\xED\xA0\x9F\xF0\x90\xF4\x8F\xFF";
    std::uniform_int_distribution<std::size_t> pick(0, interesting.size() - 1);
    for (int round = 0; round < 400; ++round) {
        std::string bytes;
        for (int i = 0; i < 9; ++i) bytes += interesting[pick(random)];
        const std::string whole = in_one_push(bytes);
        for (unsigned bits = 0; bits < 256; ++bits) {
            if (cut_by_bits(bytes, bits) != whole) FAIL("round " << round << " split " << bits);
        }
    }
    SUCCEED();
}
