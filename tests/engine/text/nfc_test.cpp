// Normalisation form C; expectations from Python's unicodedata.

#include "engine/text/nfc.h"

#include <chrono>

#include "tests/engine/text/vocabularies.h"

using namespace hearth;
using namespace hearth::test;

namespace {

std::string composed(std::string_view text) {
    std::string buffer;
    return std::string(nfc(text, buffer));
}

}  // namespace

TEST_CASE("bases and marks are composed as Unicode says", "[text][nfc]") {
    struct Row {
        std::string text, expected;
    };
    const Row rows[] = {
        {"plain ASCII", "plain ASCII"},
        {"e\u0301", "\u00e9"},                                     // e, acute
        {"a\u0323\u0302", "\u1ead"},                               // dot below, circumflex
        {"a\u0302\u0323", "\u1ead"},                               // the other way round
        {"q\u0307\u0323 x", "q\u0323\u0307 x"},                    // only put in order
        {"\u1100\u1161\u11a8\u1112\u1161\u11ab", "\uac01\ud55c"},  // Hangul
        {"\uac00\u11a8", "\uac01"},                                // a syllable and a final
        {"\u212b \u2126 \u212a \u037e", "\u00c5 \u03a9 K ;"},      // characters with one spelling
        {"\uf900 \ufa0c", "\u8c48 \u5140"},                        // compatibility ideographs
        {"\u0958", "\u0915\u093c"},                                // never composed
        {"\u30ab\u3099\u306f\u309a", "\u30ac\u3071"},              // voiced kana
        {"\u0301x", "\u0301x"},                                    // a mark without base
        {"\u4f60\u597d\uff0c\u4e16\u754c", "\u4f60\u597d\uff0c\u4e16\u754c"},
        {"\xFF"
         "e\u0301\xCC",
         "\xFF"
         "\u00e9\xCC"},  // bytes that are not UTF-8
        {"", ""},
    };
    for (const Row& row : rows) {
        INFO(printable_token(row.text));
        CHECK(composed(row.text) == row.expected);
        CHECK(composed(row.expected) == row.expected);
    }
}

TEST_CASE("many marks on one base take linear time", "[text][nfc]") {
    std::string text = "a";
    while (text.size() < 4'000'000) text += "\u0301\u0316";
    const auto begin = std::chrono::steady_clock::now();
    CHECK(composed(text) == text);  // too many to be put in order
    std::string words;
    while (words.size() < 4'000'000) words += "o\u031b\u0301 ";
    CHECK(composed(words).substr(0, 4) == "\u1edb ");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("Qwen's tokenizer normalises, others take text as it is", "[text][nfc]") {
    const Tokenizer& qwen = real_tokenizer("qwen2");
    CHECK(qwen.encode("cafe\u0301", false) == qwen.encode("caf\u00e9", false));
    const Tokenizer& smollm = real_tokenizer("smollm2");
    CHECK(smollm.encode("cafe\u0301", false) != smollm.encode("caf\u00e9", false));
    // A name that shares the split rules shares nothing else.
    Vocabulary v = bpe_vocabulary();
    v.pre = "stablelm2";
    CHECK(make_tokenizer(v)->decode(make_tokenizer(v)->encode("e\u0301", false)) == "e\u0301");
    v.pre = "qwen2";
    CHECK(make_tokenizer(v)->decode(make_tokenizer(v)->encode("e\u0301", false)) == "\u00e9");
}

TEST_CASE("normalisation cannot spell a special token", "[text][nfc][injection]") {
    // Characters whose NFC is ASCII: K, ` and ; among them. User-defined tokens were cut out
    // before.
    Vocabulary v = bpe_vocabulary();
    v.pre = "qwen2";
    v.tokens.emplace_back("<K>");
    v.types.push_back(4);
    const auto id = static_cast<TokenId>(v.tokens.size() - 1);
    const auto t = make_tokenizer(v);
    const auto ids = t->encode("<\u212a>", false);
    CHECK(std::count(ids.begin(), ids.end(), id) == 0);
    CHECK(t->decode(ids) == "<K>");
}
