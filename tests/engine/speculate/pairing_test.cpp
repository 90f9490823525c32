// Which vocabularies may draft for which: by content, with a sentence for every refusal.

#include "engine/speculate/pairing.h"

#include <catch2/catch.hpp>

namespace hearth {
namespace {

constexpr int kText = 2000;

/// Two letters and their pair, made-up words, then control tokens, then unused rows.
Vocabulary words(int n_unused = 10) {
    Vocabulary v;
    v.source = "test.gguf";
    v.model = "gpt2";
    v.pre = "gpt-2";
    const auto add = [&](std::string text, TokenType type) {
        v.tokens.push_back(std::move(text));
        v.types.push_back(static_cast<std::int32_t>(type));
    };
    for (const char* c : {"a", "b", "ab"}) add(c, TokenType::normal);
    for (int i = 3; i < kText; ++i) add("word" + std::to_string(i), TokenType::normal);
    v.merges = {"a b"};
    for (const char* c : {"<|im_start|>", "<|im_end|>", "<|box|>"}) add(c, TokenType::control);
    for (int i = 0; i < n_unused; ++i) add("[PAD" + std::to_string(i) + "]", TokenType::unused);
    v.eos = kText + 1;
    return v;
}

std::unique_ptr<Tokenizer> tokenizer(Vocabulary v) {
    auto made = Tokenizer::make(std::move(v));
    if (!made) FAIL(made.error().what);
    return std::move(*made);
}

constexpr const char* kTemplate = "{{ '<|im_start|>' }}{{ '<|im_end|>' }}";

Result<Pairing> pair(Vocabulary draft) {
    const auto target = tokenizer(words());
    return pair_vocabularies(*target, *tokenizer(std::move(draft)), kTemplate);
}

}  // namespace

TEST_CASE("equal vocabularies pair, also with other numbers of unused rows",
          "[speculate][pairing]") {
    for (const int n_unused : {0, 3, 10, 300}) {
        const auto p = pair(words(n_unused));
        REQUIRE(p);
        CHECK(p->differing.empty());
        CHECK(p->note.empty());
        CHECK(p->n_common == kText + 3 + std::min(10, n_unused));
    }
}

TEST_CASE("a few tokens that differ are never drafted", "[speculate][pairing]") {
    Vocabulary v = words();
    v.tokens[17] = "other";
    v.tokens[kText + 2] = "<|other box|>";  // a control token that nothing depends on
    v.tokens[kText + 5] = "[PAD other]";
    const auto p = pair(v);
    REQUIRE(p);
    CHECK(p->differing == std::vector<std::int32_t>{17, kText + 2, kText + 5});
    CHECK(p->note == "3 of 2013 tokens differ and are never drafted");
}

TEST_CASE("vocabularies that differ are refused with the first difference",
          "[speculate][pairing]") {
    SECTION("many words") {
        Vocabulary v = words();
        for (int i = 100; i < 110; ++i) v.tokens[static_cast<std::size_t>(i)] += "x";
        const auto p = pair(v);
        REQUIRE_FALSE(p);
        CHECK(p.error().what ==
              "10 of 2000 tokens of text differ, the first one, 100, is 'word100' in one and "
              "'word100x' in the other");
    }
    SECTION("words that are missing") {
        Vocabulary v = words(0);
        v.tokens.resize(1500);
        v.types.resize(1500);
        v.eos = std::nullopt;
        const auto p = pair(v);
        REQUIRE_FALSE(p);
        CHECK(p.error().what.find("missing") != std::string::npos);
    }
    SECTION("the token that ends an answer") {
        Vocabulary v = words();
        v.tokens[kText + 1] = "<|stop|>";
        const auto p = pair(v);
        REQUIRE_FALSE(p);
        CHECK(p.error().what ==
              "the control token 2001 is '<|im_end|>' in one and '<|stop|>' in the other");
    }
    SECTION("a token of the chat template") {
        Vocabulary v = words();
        v.tokens[kText] = "<|begin|>";
        CHECK_FALSE(pair(v));
    }
    SECTION("another kind") {
        Vocabulary v = words();
        const auto target = tokenizer(words());
        v.model = "llama";
        v.pre.clear();
        v.scores.assign(v.tokens.size(), 0.0f);
        const auto other = Tokenizer::make(v);
        REQUIRE(other);
        const auto p = pair_vocabularies(*target, **other, kTemplate);
        REQUIRE_FALSE(p);
        CHECK(p.error().what == "the vocabularies are of different kinds ('gpt2' and 'llama')");
    }
}

}  // namespace hearth
