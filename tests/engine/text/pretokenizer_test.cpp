// How each family of vocabularies splits text (text.md section 2).

#include "engine/text/pretokenizer.h"

#include "tests/engine/text/vocabularies.h"

using namespace hearth;
using namespace hearth::test;

namespace {

using Pieces = std::vector<std::string>;

PreTokenizer splitter(const std::string& name) {
    const PreTokenizerRow* row = find_pretokenizer(name);
    if (row == nullptr) FAIL("no row " << name);
    auto made = PreTokenizer::make(*row);
    if (!made) FAIL(made.error().what);
    return *made;
}

Pieces split(const std::string& name, const std::string& text) {
    Pieces pieces;
    splitter(name).split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
}

const std::vector<std::string> kNames = {"gpt-2",  "smollm", "llama-bpe", "dbrx",       "qwen2",
                                         "qwen35", "gpt-4o", "tekken",    "deepseek-v3"};

}  // namespace

TEST_CASE("pre-tokenizers split as their families do", "[text][pretokenizer]") {
    SECTION("gpt-2") {
        CHECK(split("gpt-2", "I'm 12, you've 345!  ok\n\n x") ==
              Pieces{"I", "'m", " 12", ",", " you", "'ve", " 345", "!", " ", " ok", "\n\n", " x"});
        CHECK(split("gpt-2", "I'M") == Pieces{"I", "'", "M"});
        CHECK(split("gpt-2", "a   ") == Pieces{"a", "   "});
    }
    SECTION("smollm isolates digits before anything else") {
        CHECK(split("smollm", "a 12  3") == Pieces{"a", " ", "1", "2", "  ", "3"});
        CHECK(split("smollm", "x\xC2\xB2") == Pieces{"x", "\xC2\xB2"});
    }
    SECTION("llama-bpe") {
        CHECK(split("llama-bpe", "I'M 12345 (ok)\n\n  y") ==
              Pieces{"I", "'M", " ", "123", "45", " (", "ok", ")\n\n", " ", " y"});
        CHECK(split("llama-bpe", " \n  \n z") == Pieces{" \n  \n", " z"});
        CHECK(split("llama-bpe", "\tfoo") == Pieces{"\tfoo"});
    }
    SECTION("qwen2 has single digits, qwen35 keeps marks with letters") {
        CHECK(split("qwen2", "v12") == Pieces{"v", "1", "2"});
        CHECK(split("qwen2", "e\xCC\x81t\xC3\xA9") == Pieces{"e", "\xCC\x81t\xC3\xA9"});
        CHECK(split("qwen35", "e\xCC\x81t\xC3\xA9 1") == Pieces{"e\xCC\x81t\xC3\xA9", " ", "1"});
    }
    SECTION("gpt-4o and tekken split words by case") {
        CHECK(split("gpt-4o", "fooBar HTTPServer don't 1234 a/b//\n") ==
              Pieces{"foo", "Bar", " HTTPServer", " don't", " ", "123", "4", " a", "/b", "//\n"});
        CHECK(split("tekken", "fooBar don't 12") ==
              Pieces{"foo", "Bar", " don", "'t", " ", "1", "2"});
        CHECK(split("gpt-4o", "ABC") == Pieces{"ABC"});
    }
    SECTION("deepseek-v3") {
        CHECK(split("deepseek-v3", "a1234\xE4\xBD\xA0\xE5\xA5\xBD.foo b!") ==
              Pieces{"a", "123", "4", "\xE4\xBD\xA0\xE5\xA5\xBD", ".foo", " b", "!"});
    }
    SECTION("U+180E is no white space, U+3000 is") {
        CHECK(split("gpt-2", "\xE1\xA0\x8E!") == Pieces{"\xE1\xA0\x8E!"});
        CHECK(split("gpt-2", "\xE3\x80\x80!") == Pieces{"\xE3\x80\x80", "!"});
    }
}

TEST_CASE("the pieces are the text, byte by byte", "[text][pretokenizer]") {
    const std::string name = GENERATE(from_range(kNames));
    const PreTokenizer s = splitter(name);
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
        const std::string text = random_text(random, true);
        std::string joined;
        bool empty = false;
        s.split(text, [&](std::string_view piece) {
            joined += piece;
            empty = empty || piece.empty();
        });
        if (joined != text || empty) FAIL(name << ": " << printable_token(text));
    }
    SUCCEED();
}

TEST_CASE("a byte that is not UTF-8 is a symbol", "[text][pretokenizer]") {
    CHECK(split("gpt-2",
                "a\xFF"
                "b") == Pieces{"a", "\xFF", "b"});
    CHECK(split("qwen2",
                "a \xFF\xFE"
                "1") == Pieces{"a", " \xFF\xFE", "1"});
    CHECK(split("gpt-2", "\xF0\x9F") == Pieces{"\xF0\x9F"});
}

TEST_CASE("no pattern recurses or goes quadratic on 10 MB runs", "[text][pretokenizer][long]") {
    const std::string name = GENERATE(from_range(kNames));
    const PreTokenizer s = splitter(name);
    for (const std::string unit :
         {"a", " ", "\xF0\x9F\x98\x80", "A", "\n", "\xCC\x81", "\xFF", " \n"}) {
        std::string text;
        while (text.size() < 10'000'000) text += unit;
        for (const std::string tail : {"", "x", "1"}) {
            std::size_t bytes = 0, longest = 0;
            s.split(text + tail, [&](std::string_view piece) {
                bytes += piece.size();
                longest = std::max(longest, piece.size());
            });
            CHECK(bytes == text.size() + tail.size());
            // One category, one piece (but for digits, marks and cut spaces).
            CHECK(longest + 8 >= text.size());
        }
    }
}

TEST_CASE("a vocabulary is recognised by its markers, size and digits", "[text][pretokenizer]") {
    Vocabulary v;
    const auto fill = [&](std::size_t n) {
        while (v.tokens.size() < n) v.tokens.push_back(std::to_string(v.tokens.size()) + "t");
    };
    SECTION("qwen2") {
        v.tokens = {"<|im_start|>"};
        fill(151936);
        REQUIRE(guess_pretokenizer(v) != nullptr);
        CHECK(guess_pretokenizer(v)->name == "qwen2");
        v.tokens[7] = "12";  // a family that joins digits splits otherwise
        CHECK(guess_pretokenizer(v) == nullptr);
    }
    SECTION("llama 3") {
        v.tokens = {"<|eot_id|>", "12", "123"};
        fill(128256);
        REQUIRE(guess_pretokenizer(v) != nullptr);
        CHECK(guess_pretokenizer(v)->name == "llama-bpe");
        CHECK(guess_pretokenizer(v)->ignore_merges);
    }
    SECTION("nothing known") {
        fill(1000);
        CHECK(guess_pretokenizer(v) == nullptr);
    }
    CHECK(find_pretokenizer("starcoder")->name == "smollm");
    CHECK(find_pretokenizer("olmo")->name == "gpt-2");
    CHECK(find_pretokenizer("falcon") == nullptr);
    CHECK(find_pretokenizer("") == nullptr);
    CHECK(find_pretokenizer("mpt olmo") == nullptr);
}

TEST_CASE("real vocabularies are recognised without their names", "[text][pretokenizer]") {
    for (const std::string name : {"smollm2", "qwen2"}) {
        Vocabulary v = real_tokenizer(name).vocabulary();
        const std::string right = v.pre;
        v.pre = GENERATE("", "default", "made-up");
        const auto t = make_tokenizer(v);
        CHECK(t->vocabulary().pre == right);
        REQUIRE(t->warnings().size() == 1);
        CHECK(t->warnings()[0].find(right) != std::string::npos);
        CHECK(t->hash() == real_tokenizer(name).hash());
    }
}
