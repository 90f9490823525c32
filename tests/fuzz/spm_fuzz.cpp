// SentencePiece vocabularies: pieces, scores and a text, all from the input. Ids are those of the
// sentencepiece library, no control token comes from text, and decode gives the text back.
//
// input    byte 0: bit 0 unused pieces, bit 1 a missing byte token, bit 2 raw bytes in the text;
//          line 1: pairs of bytes, each a piece that joins two others; rest: text.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/spm.h"
#include "engine/text/token_text.h"
#include "engine/text/utf8.h"
#include "tests/engine/text/spm_library.h"

using namespace hearth;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

Vocabulary vocabulary_of(unsigned choice, std::string_view joins) {
    Vocabulary v;
    v.source = "fuzz";
    v.model = "llama";
    v.add_space_prefix = false;
    const auto add = [&](std::string text, float score, int type) {
        v.tokens.push_back(std::move(text));
        v.scores.push_back(score);
        v.types.push_back(type);
    };
    add("<unk>", 0, 2);
    add("<s>", 0, 3);
    add("</s>", 0, 3);
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bool missing = (choice & 2) != 0 && byte == 'Z';
        add(byte_token_text(byte), 0, missing ? 3 : 6);
    }
    const std::size_t first = v.tokens.size();
    for (const char* letter : {"\xE2\x96\x81", "a", "b", "c", "<", "\xC3\xA9", "\xE4\xBD\xA0"}) {
        add(letter, -50, 1);
    }
    // The byte picks both an older piece and, by its high bits, the score: ties are common.
    for (std::size_t i = 0; i + 1 < joins.size() && i < 200; i += 2) {
        const auto pick = [&](char c) {
            const auto n = static_cast<unsigned char>(c);
            return v.tokens[first + n % (v.tokens.size() - first)];
        };
        const std::string text = pick(joins[i]) + pick(joins[i + 1]);
        if (text.size() > 40) continue;
        const int score = (static_cast<unsigned char>(joins[i]) >> 5) - 20;
        const bool unused = (choice & 1) != 0 && joins[i + 1] % 4 == 0;
        add(text, static_cast<float>(score), unused ? 5 : 1);
    }
    return v;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0 || size > 4000) return 0;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    const auto choice = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    const std::string_view joins = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), joins.size() + 1));
    const Vocabulary v = vocabulary_of(choice, joins);

    const auto made = Tokenizer::make(v);
    require(made.has_value());
    const Tokenizer& tokenizer = **made;
    const auto ids = tokenizer.encode(rest, false);
    for (const TokenId id : ids) {
        require(id >= 0 && id < tokenizer.vocab_size());
        require(id == 0 ? (choice & 2) != 0 : !tokenizer.is_control(id));
    }
    const bool escaped_space = rest.find("\xE2\x96\x81") != std::string_view::npos;
    if ((choice & 2) == 0 && !escaped_space) require(tokenizer.decode(ids) == rest);

    std::string valid;
    for (std::size_t at = 0; at < rest.size();) {
        const std::size_t length = utf8_character(rest, at);
        if (length > 0 && rest[at] != '\0') valid += rest.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    std::vector<TokenType> types;
    for (const auto type : v.types) types.push_back(static_cast<TokenType>(type));
    require(tokenizer.encode(valid, false) == test::SpmLibrary(v, types).encode(valid));
    return 0;
}
