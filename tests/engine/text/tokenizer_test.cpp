// Tokenizer on small made vocabularies: merges, special tokens, segments, errors of the file.

#include <cmath>
#include <limits>
#include <thread>

#include "engine/text/special_tokens.h"
#include "tests/engine/text/vocabularies.h"

using namespace hearth;
using namespace hearth::test;

namespace {

using Ids = std::vector<TokenId>;
using Origin = Segment::Origin;

constexpr TokenId kHello = 259, kStart = 260, kEnd = 261, kCall = 262;

/// Quadratic BPE by the definition: merge the leftmost pair of the lowest rank until none is left.
Ids oracle(const Vocabulary& v, const std::string& piece) {
    std::vector<std::string> symbols;
    for (const char c : piece) symbols.push_back(byte_alphabet()[static_cast<unsigned char>(c)]);
    for (;;) {
        std::size_t best = symbols.size(), best_rank = v.merges.size();
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const std::string merge = symbols[i] + " " + symbols[i + 1];
            const auto found = std::find(v.merges.begin(), v.merges.end(), merge);
            const auto rank = static_cast<std::size_t>(found - v.merges.begin());
            if (rank < best_rank) {
                best = i;
                best_rank = rank;
            }
        }
        if (best == symbols.size()) break;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    Ids ids;
    for (const std::string& symbol : symbols) {
        const auto found = std::find(v.tokens.begin(), v.tokens.end(), symbol);
        ids.push_back(static_cast<TokenId>(found - v.tokens.begin()));
    }
    return ids;
}

}  // namespace

TEST_CASE("merges go by rank, leftmost first", "[text][bpe]") {
    const auto t = make_tokenizer(bpe_vocabulary());
    CHECK(t->encode("hello", false) == Ids{kHello});
    CHECK(t->encode("lll", false) == Ids{257, 'l'});
    CHECK(t->encode("he lo", false) == Ids{256, ' ', 'l', 'o'});
    std::mt19937 random(6);
    const std::string letters = "abc";
    for (int round = 0; round < 200; ++round) {
        std::vector<std::string> merges, words = {"a", "b", "c"};
        for (int i = 0; i < 12; ++i) {
            const std::string left = words[random() % words.size()],
                              right = words[random() % words.size()];
            const bool known = std::find(words.begin(), words.end(), left + right) != words.end();
            if (known) continue;
            merges.push_back(left + " " + right);
            words.push_back(left + right);
        }
        const Vocabulary v = bpe_vocabulary(merges);
        const auto made = make_tokenizer(v);
        for (int i = 0; i < 50; ++i) {
            std::string text;
            for (std::size_t n = random() % 30; n > 0; --n) text += letters[random() % 3];
            if (made->encode(text, false) != oracle(v, text)) FAIL(text << " round " << round);
        }
    }
}

TEST_CASE("a whole piece of the vocabulary is taken where merges are ignored", "[text][bpe]") {
    Vocabulary v = bpe_vocabulary({"h e", "l l", "he ll"});
    v.tokens.push_back("hello");
    v.types.push_back(1);
    const auto id = static_cast<TokenId>(v.tokens.size() - 1);
    CHECK(make_tokenizer(v)->encode("hello", false) == Ids{258, 'o'});
    v.pre = "llama-bpe";
    CHECK(make_tokenizer(v)->encode("hello", false) == Ids{id});
    CHECK(make_tokenizer(v)->encode("hellohe", false) == Ids{258, 'o', 256});
}

TEST_CASE("any bytes come back", "[text][bpe]") {
    const auto t = make_tokenizer(bpe_vocabulary());
    std::mt19937 random(8);
    for (int i = 0; i < 5000; ++i) {
        const std::string text = random_text(random, true);
        if (t->decode(t->encode(text, false)) != text) FAIL(printable_token(text));
        if (t->decode(t->encode(text, true), true) != text) FAIL(printable_token(text));
    }
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(t->decode(t->encode(all, false)) == all);
}

TEST_CASE("the longest special token is found at the leftmost place", "[text][special]") {
    SpecialTokens special;
    special.add("<a>", 1);
    special.add("<a><b>", 2);
    special.add("<a>", 3);
    special.add("", 4);
    CHECK(special.longest_at("<a><b>", 0).id == 2);
    CHECK(special.longest_at("<a><c>", 0).id == 1);
    CHECK(special.longest_at("<a", 0).length_bytes == 0);
    CHECK(special.longest_at("x<a>", 1).id == 1);
    CHECK(special.longest_at("", 0).length_bytes == 0);
}

TEST_CASE("control tokens come from control segments only", "[text][special]") {
    const auto t = make_tokenizer(bpe_vocabulary());
    SECTION("user text is text, user-defined tokens are found in it") {
        for (const TokenId id : t->encode("<|im_end|>hello<tool_call>", false)) {
            CHECK(id != kEnd);
        }
        CHECK(t->encode("hello<tool_call>", false) == Ids{kHello, kCall});
    }
    SECTION("segments") {
        const std::vector<Segment> segments = {{Origin::control, "<|im_start|>", {}},
                                               {Origin::text, "<|im_end|>", {}},
                                               {Origin::control, "<|im_end|>", {}}};
        const Ids ids = t->encode(segments);
        CHECK(ids.front() == kStart);
        CHECK(std::count(ids.begin(), ids.end(), kEnd) == 1);
        CHECK(t->decode(ids, true) == "<|im_start|><|im_end|><|im_end|>");
    }
    SECTION("a spelling over a border is not matched") {
        const std::vector<Segment> split = {{Origin::control, "<|im_", {}},
                                            {Origin::control, "end|>", {}}};
        CHECK(t->encode(split) == t->encode("<|im_end|>", false));
        const std::vector<Segment> lent = {{Origin::text, "<|im_", {}},
                                           {Origin::control, "end|>", {}}};
        CHECK(t->encode(lent) == t->encode("<|im_end|>", false));
    }
    SECTION("merges go over the border of text and control") {
        const std::vector<Segment> segments = {{Origin::control, "he", {}},
                                               {Origin::text, "ll", {}},
                                               {Origin::control, "o<|im_end|>", {}}};
        CHECK(t->encode(segments) == Ids{kHello, kEnd});
    }
    SECTION("stored ids are taken as they are") {
        const std::vector<Segment> segments = {{Origin::text, "he", {}},
                                               {Origin::ids, "ignored", {'l', 'l'}},
                                               {Origin::text, "o", {}}};
        CHECK(t->encode(segments) == Ids{256, 'l', 'l', 'o'});
    }
    SECTION("text before a control token cannot swallow it") {
        Vocabulary v = bpe_vocabulary();
        v.tokens.push_back("<<");
        v.types.push_back(4);
        const auto u = make_tokenizer(v);
        const std::vector<Segment> segments = {{Origin::text, "<", {}},
                                               {Origin::control, "<|im_end|>", {}}};
        CHECK(u->encode(segments) == Ids{'<', kEnd});
    }
    CHECK(t->encode(std::span<const Segment>{}).empty());
}

TEST_CASE("a token that looks like control is control, whatever the file says", "[text][special]") {
    Vocabulary v = bpe_vocabulary();
    v.tokens.push_back("<|user|>");
    v.types.push_back(4);
    const auto id = static_cast<TokenId>(v.tokens.size() - 1);
    const auto t = make_tokenizer(v);
    CHECK(t->is_control(id));
    CHECK(t->warnings().size() == 1);
    const Ids ids = t->encode("<|user|>", false);
    CHECK(std::count(ids.begin(), ids.end(), id) == 0);
    CHECK(t->encode("<|user|>", true) == Ids{id});
}

TEST_CASE("merges cannot make a control token", "[text][special]") {
    Vocabulary v = bpe_vocabulary();
    v.types[kHello] = 3;
    const auto t = make_tokenizer(v);
    CHECK(t->encode("hello", false) == Ids{258, 'o'});
    CHECK(t->warnings().size() == 1);
}

TEST_CASE("end of generation and begin of text", "[text][tokenizer]") {
    Vocabulary v = bpe_vocabulary();
    SECTION("known texts, without ids of the file") {
        const auto t = make_tokenizer(v);
        CHECK(t->eog_ids() == Ids{kEnd});
        CHECK_FALSE(t->is_eog(0));  // a missing id is none, not 0
        CHECK_FALSE(t->wants_bos());
    }
    SECTION("ids of the file") {
        v.eos = kStart;
        v.eom = kCall;
        CHECK(make_tokenizer(v)->eog_ids() == Ids{kStart, kEnd, kCall});
    }
    SECTION("in harmony <|end|> ends a message only") {
        for (const char* text : {"<|end|>", "<|return|>", "<|call|>"}) {
            v.tokens.emplace_back(text);
            v.types.push_back(3);
        }
        const auto t = make_tokenizer(v);
        CHECK_FALSE(t->is_eog(*t->find("<|end|>")));
        CHECK(t->is_eog(*t->find("<|return|>")));
    }
    SECTION("BOS asked for but missing") {
        v.add_bos = true;
        const auto t = make_tokenizer(v);
        CHECK_FALSE(t->wants_bos());
        CHECK(t->warnings().size() == 1);
        v.bos = kStart;
        CHECK(make_tokenizer(v)->with_bos({}) == Ids{kStart});
    }
}

TEST_CASE("the hash is of everything that decides ids", "[text][tokenizer]") {
    const Vocabulary v = bpe_vocabulary();
    const std::string hash = make_tokenizer(v)->hash();
    CHECK(hash.size() == 32);
    CHECK(make_tokenizer(v)->hash() == hash);
    Vocabulary other = v;
    SECTION("merge order") { std::swap(other.merges[0], other.merges[1]); }
    SECTION("pre-tokenizer") { other.pre = "qwen2"; }
    SECTION("a type") { other.types[kCall] = 3; }
    SECTION("begin of text") { other.bos = kStart; }
    SECTION("a token") { other.tokens.push_back("x"), other.types.push_back(1); }
    CHECK(make_tokenizer(other)->hash() != hash);
    Vocabulary moved = v;
    moved.source = "elsewhere.gguf";
    CHECK(make_tokenizer(moved)->hash() == hash);
}

TEST_CASE("a tokenizer works from several threads", "[text][tokenizer]") {
    const auto bpe = make_tokenizer(bpe_vocabulary());
    const auto spm = make_tokenizer(spm_vocabulary());
    const std::string text = "hello hello <tool_call> 12 \xF0\x9F\x98\x80";
    const Ids a = bpe->encode(text, true), b = spm->encode(text, true);
    std::vector<int> wrong(4, 0);
    {
        std::vector<std::jthread> threads;
        for (int& count : wrong) {
            threads.emplace_back([&] {
                for (int i = 0; i < 500; ++i) {
                    count += bpe->encode(text, true) != a || spm->encode(text, true) != b;
                }
            });
        }
    }
    CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("a wrong vocabulary is refused with a sentence", "[text][tokenizer][errors]") {
    Vocabulary v = bpe_vocabulary();
    std::string expected;
    SECTION("unknown kind") { v.model = "rwkv", expected = "\"rwkv\" is not supported"; }
    SECTION("no kind") { v.model.clear(), expected = "is not supported"; }
    SECTION("no tokens") { v.tokens.clear(), v.types.clear(), expected = "no tokens"; }
    SECTION("types") { v.types.pop_back(), expected = "token_type has 262 entries"; }
    SECTION("type value") { v.types[5] = 9, expected = "token 5 has type 9"; }
    SECTION("scores") { v.scores.resize(3), expected = "scores has 3 entries"; }
    SECTION("bos") { v.bos = 263, expected = "bos_token_id is 263"; }
    SECTION("eos") { v.eos = -1, expected = "eos_token_id is -1"; }
    SECTION("eot") { v.eot = 1 << 30, expected = "eot_token_id"; }
    SECTION("no merges") { v.merges.clear(), expected = "no merges"; }
    SECTION("merge without space") { v.merges[2] = "hell", expected = "merge 2"; }
    SECTION("empty merge") { v.merges[1].clear(), expected = "merge 1"; }
    SECTION("merge with nothing right") { v.merges[0] = "h ", expected = "merge 0"; }
    SECTION("unknown pre-tokenizer") { v.pre = "x\n", expected = "pre-tokenizer \"x\\x0A\""; }
    SECTION("no pre-tokenizer") { v.pre.clear(), expected = "names no pre-tokenizer"; }
    SECTION("byte token") { v.types[0] = 6, expected = "expected a text like <0x0A>"; }
    SECTION("negative byte token") {
        v.tokens[0] = "<0x-1>", v.types[0] = 6;
        expected = "found \"<0x-1>\"";
    }
    SECTION("SPM without scores") {
        v = spm_vocabulary();
        v.scores.clear(), expected = "no scores";
    }
    SECTION("SPM with a score that is no number") {
        v = spm_vocabulary();
        v.scores[300 - 30] = std::numeric_limits<float>::quiet_NaN(),
                       expected = "score of token 270";
    }
    const auto made = Tokenizer::make(v);
    REQUIRE_FALSE(made);
    INFO(made.error().what);
    CHECK(made.error().code == Errc::model_invalid);
    CHECK(made.error().what.find(expected) != std::string::npos);
    CHECK(made.error().what.find("test.gguf") != std::string::npos);
}

TEST_CASE("a padding id of -1 means none", "[text][tokenizer]") {
    Vocabulary v = bpe_vocabulary();
    v.pad = -1;
    const auto t = make_tokenizer(v);
    CHECK_FALSE(t->vocabulary().pad);
    CHECK(t->warnings().size() == 1);
}
