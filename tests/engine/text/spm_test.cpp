// SentencePiece vocabularies: the library against the second implementation of spm_own.h.

#include "engine/text/spm.h"

#include "tests/engine/text/spm_own.h"
#include "tests/engine/text/vocabularies.h"

using namespace hearth;
using namespace hearth::test;

namespace {

std::vector<TokenType> types_of(const Vocabulary& v) {
    std::vector<TokenType> types;
    for (const auto type : v.types) types.push_back(static_cast<TokenType>(type));
    return types;
}

std::unique_ptr<Spm> make_spm(const Vocabulary& v) {
    std::vector<std::string> warnings;
    auto made = Spm::make(v, types_of(v), warnings);
    if (!made) FAIL(made.error().what);
    return std::move(*made);
}

void compare(const Spm& library, const OwnSpm& own, const std::string& text) {
    std::vector<TokenId> ids;
    library.encode(text, ids);
    const std::vector<TokenId> expected = own.encode(text);
    if (ids == expected) return;
    INFO(printable_token(text));
    CHECK(ids == expected);
}

/// Two- and three-letter pieces over a b c and space, with random scores, ties and unused pieces.
Vocabulary random_vocabulary(std::mt19937& random) {
    Vocabulary v = spm_vocabulary();
    std::uniform_int_distribution<int> score(-20, -1), kind(0, 5), letter(0, 3), length(2, 4);
    const std::string letters[] = {"a", "b", "c", "\xE2\x96\x81"};
    for (int i = 0; i < 40; ++i) {
        std::string text;
        for (int n = length(random); n > 0; --n) text += letters[letter(random)];
        if (std::find(v.tokens.begin(), v.tokens.end(), text) != v.tokens.end()) continue;
        v.tokens.push_back(text);
        v.scores.push_back(static_cast<float>(score(random)));
        v.types.push_back(kind(random) == 0 ? 5 : 1);
    }
    return v;
}

}  // namespace

TEST_CASE("the library and the second implementation agree on made vocabularies", "[text][spm]") {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> pick(0, 7), length(0, 24);
    const std::string units[] = {"a", "b", "c", " ", "a", "b", "\xE4\xBD\xA0", "\n"};
    for (int round = 0; round < 100; ++round) {
        const Vocabulary v = random_vocabulary(random);
        const auto library = make_spm(v);
        const SpmModel model = make_spm_model(v, types_of(v));
        const OwnSpm own(model);
        for (int i = 0; i < 1000; ++i) {
            std::string text;
            for (int n = length(random); n > 0; --n) text += units[pick(random)];
            compare(*library, own, text);
        }
    }
    SUCCEED();
}

TEST_CASE("the library and the second implementation agree on Gemma's vocabulary", "[text][spm]") {
    const Vocabulary& v = real_tokenizer("gemma3").vocabulary();
    const auto library = make_spm(v);
    const SpmModel model = make_spm_model(v, types_of(v));
    const OwnSpm own(model);
    std::mt19937 random(2);
    for (int i = 0; i < 20000; ++i) compare(*library, own, random_text(random, false));
    SUCCEED();
}

TEST_CASE("long text is cut where no piece can span", "[text][spm]") {
    const Tokenizer& gemma = real_tokenizer("gemma3");
    std::mt19937 random(3);
    std::string text;
    std::vector<TokenId> expected;
    // Words end in a letter and begin with a space, so ids of the whole are those of the words.
    while (text.size() < 400'000) {
        const std::string word = " word" + std::to_string(random() % 1000) + "x";
        const auto ids = gemma.encode(word, false);
        expected.insert(expected.end(), ids.begin(), ids.end());
        text += word;
    }
    CHECK(gemma.encode(text, false) == expected);
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
