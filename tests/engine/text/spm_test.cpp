// SentencePiece vocabularies: own merges against the sentencepiece library.

#include "engine/text/spm.h"

#include "tests/engine/text/spm_library.h"
#include "tests/engine/text/vocabularies.h"

using namespace hearth;
using namespace hearth::test;

namespace {

std::vector<TokenType> types_of(const Vocabulary& v) {
    std::vector<TokenType> types;
    for (const auto type : v.types) types.push_back(static_cast<TokenType>(type));
    return types;
}

/// Own merges beside the library, over one vocabulary.
struct Pair {
    explicit Pair(const Vocabulary& from)
        : vocabulary(from),
          types(types_of(vocabulary)),
          own(Spm::make(vocabulary, types, warnings)),
          library(vocabulary, types) {}

    void compare(const std::string& text) const {
        std::vector<TokenId> ids;
        own->encode(text, ids);
        std::vector<TokenId> expected = library.encode(text);
        std::erase(expected, -1);
        if (ids == expected) return;
        INFO(printable_token(text));
        CHECK(ids == expected);
    }

    Vocabulary vocabulary;
    std::vector<TokenType> types;
    std::vector<std::string> warnings;
    std::unique_ptr<Spm> own;
    SpmLibrary library;
};

/// Pieces of two to four letters a b c and space, with random scores, ties and unused pieces.
Vocabulary random_vocabulary(std::mt19937& random, bool with_unused) {
    Vocabulary v = spm_vocabulary();
    std::uniform_int_distribution<int> score(-20, -1), kind(0, 5), letter(0, 3), length(2, 4);
    const std::string letters[] = {"a", "b", "c", "\xE2\x96\x81"};
    for (int i = 0; i < 40; ++i) {
        std::string text;
        for (int n = length(random); n > 0; --n) text += letters[letter(random)];
        if (std::find(v.tokens.begin(), v.tokens.end(), text) != v.tokens.end()) continue;
        v.tokens.push_back(text);
        v.scores.push_back(static_cast<float>(score(random)));
        v.types.push_back(with_unused && kind(random) == 0 ? 5 : 1);
    }
    return v;
}

}  // namespace

TEST_CASE("own merges equal the library's on made vocabularies", "[text][spm]") {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> pick(0, 7), length(0, 24);
    const std::string units[] = {"a", "b", "c", " ", "a", "b", "\xE4\xBD\xA0", "\n"};
    for (int round = 0; round < 100; ++round) {
        // Without unused pieces a text goes word by word.
        Vocabulary v = random_vocabulary(random, round % 2 == 0);
        if (round % 5 == 3) v.types[3 + 'Z'] = 1;  // one byte is missing: no fallback to bytes
        if (round % 5 == 4) v.unk.reset(), v.types[0] = 3, v.types[3 + 'Z'] = 1;
        if (round % 7 == 5) v.remove_extra_whitespaces = true, v.add_space_prefix = false;
        const Pair pair(v);
        for (int i = 0; i < 1000; ++i) {
            std::string text;
            for (int n = length(random); n > 0; --n) text += units[pick(random)];
            pair.compare(text);
        }
    }
    SUCCEED();
}

TEST_CASE("own merges equal the library's on Gemma's vocabulary", "[text][spm]") {
    const Pair pair(real_tokenizer("gemma3").vocabulary());
    std::mt19937 random(2);
    for (int i = 0; i < 20000; ++i) pair.compare(random_text(random, false));
    // The one piece of this vocabulary with a space inside.
    pair.compare("<b> </b> > </i>>  </");
    std::string text;
    while (text.size() < 1'000'000) text += random_text(random, false) + " word> </p>";
    pair.compare(text);
}

TEST_CASE("a run without spaces is cut after a MiB, at a character", "[text][spm]") {
    const Tokenizer& gemma = real_tokenizer("gemma3");
    const std::string unit =
        "\xE4\xBD\xA0\xE5\xA5\xBD\xE4\xB8\x96\xE7\x95\x8C";  // no divisor of a MiB
    std::string text;
    while (text.size() < 2'500'000) text += unit;
    const auto ids = gemma.encode(text, false);
    CHECK(gemma.decode(ids) == text);
    // Nothing but whole characters: no token of a single byte.
    for (const TokenId id : ids) {
        if (gemma.piece(id).size() % 3 != 0) FAIL("a character was cut");
    }
}

TEST_CASE("a space prefix is added once per run and taken off again", "[text][spm]") {
    Vocabulary v = spm_vocabulary();
    const std::string space = "\xE2\x96\x81";
    SECTION("with prefix, the default") {
        const auto t = make_tokenizer(v);
        const TokenId hello = *t->find(space + "hello");
        CHECK(t->encode("hello", false) == std::vector<TokenId>{hello});
        CHECK(t->decode(t->encode("hello", false)) == "hello");
        CHECK(t->decode(t->encode(" hello", false)) == " hello");
        CHECK(t->encode("", false).empty());
        // After a control token again, after a user-defined one not.
        CHECK(t->encode("hello</s>hello", true) == std::vector<TokenId>{hello, 2, hello});
        CHECK(t->encode("<tag>hello", false).front() == *t->find(space));
        CHECK(t->decode(t->encode("<tag>hello", false)) == "<tag>hello");
        CHECK(t->wants_bos());
        // Stored ids end inside a turn: what follows continues it.
        const std::vector<Segment> segments = {{Segment::Origin::ids, "", {hello}},
                                               {Segment::Origin::text, "lo", {}}};
        CHECK(t->encode(segments) == std::vector<TokenId>{hello, *t->find("lo")});
    }
    SECTION("without") {
        v.add_space_prefix = false;
        const auto t = make_tokenizer(v);
        CHECK(t->encode("hello", false).size() > 1);
        CHECK(t->decode(t->encode(" hello", false)) == " hello");
    }
}

TEST_CASE("bytes that are not UTF-8 become byte tokens", "[text][spm]") {
    const auto t = make_tokenizer(spm_vocabulary());
    CHECK(t->encode("\xFF", false) == std::vector<TokenId>{*t->find("\xE2\x96\x81"), 3 + 0xFF});
    std::mt19937 random(4);
    for (int i = 0; i < 5000; ++i) {
        const std::string text = random_text(random, true);
        if (t->decode(t->encode(text, false)) != text) FAIL(printable_token(text));
    }
}

TEST_CASE("a control token that spells one character does not swallow it", "[text][spm]") {
    Vocabulary v = spm_vocabulary();
    const auto letter = std::find(v.tokens.begin(), v.tokens.end(), "a") - v.tokens.begin();
    v.types[static_cast<std::size_t>(letter)] = 3;
    const auto t = make_tokenizer(v);
    const auto ids = t->encode("abc", false);
    CHECK(t->decode(ids) == "abc");
    CHECK(std::count(ids.begin(), ids.end(), static_cast<TokenId>(letter)) == 0);
}

TEST_CASE("pieces that the library would refuse do no harm", "[text][spm]") {
    Vocabulary v = spm_vocabulary();
    const auto add = [&](std::string text, int type) {
        v.tokens.push_back(std::move(text));
        v.scores.push_back(-5);
        v.types.push_back(type);
    };
    add("", 1);
    add("abc", 1);  // a second time
    add("\xFF\xFE", 1);
    add(std::string("a\0b", 3), 4);
    add("<unk2>", 2);
    const auto t = make_tokenizer(v);
    CHECK(t->decode(t->encode("abc hello", false)) == "abc hello");
    CHECK(t->encode(std::string("a\0b", 3), false).back() == *t->find(std::string("a\0b", 3)));
}
