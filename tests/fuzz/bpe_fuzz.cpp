// Byte-level BPE: a small vocabulary and a text, both from the input. Whatever the vocabulary says,
// encode gives ids in range, text gives no control token, and decode gives the text back.
//
// input    line 1: merges as letter pairs; line 2: one special token per word; rest: text.
//          The first byte picks the pre-tokenizer and whether the vocabulary itself is garbled.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/text/byte_alphabet.h"
#include "engine/text/nfc.h"
#include "engine/text/tokenizer.h"

using namespace hearth;

namespace {

constexpr const char* kNames[] = {"gpt-2",  "smollm", "llama-bpe", "dbrx",       "qwen2",
                                  "qwen35", "gpt-4o", "tekken",    "deepseek-v3"};

std::string_view take_line(std::string_view& rest) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return line;
}

void require(bool holds) {
    if (!holds) std::abort();
}

Vocabulary vocabulary_of(unsigned choice, std::string_view merges, std::string_view special) {
    Vocabulary v;
    v.source = "fuzz";
    v.model = "gpt2";
    v.pre = kNames[choice % std::size(kNames)];
    for (const std::string& spelling : byte_alphabet()) v.tokens.push_back(spelling);
    v.merges = {"h e"};
    v.tokens.push_back("he");
    // Each pair of input bytes names two tokens by index, so merges build on merges.
    for (std::size_t i = 0; i + 1 < merges.size() && i < 200; i += 2) {
        const auto pick = [&](char c) {
            const auto n = static_cast<std::size_t>(static_cast<unsigned char>(c));
            return v.tokens[n < 128 ? n : v.tokens.size() - 1 - (n - 128) % v.tokens.size()];
        };
        const std::string left = pick(merges[i]), right = pick(merges[i + 1]);
        if (left.size() + right.size() > 64) continue;
        v.merges.push_back(left + " " + right);
        v.tokens.push_back(left + right);
    }
    v.types.assign(v.tokens.size(), 1);
    while (!special.empty()) {
        const std::string_view word = special.substr(0, special.find(' '));
        special.remove_prefix(std::min(special.size(), word.size() + 1));
        v.tokens.emplace_back(word);
        v.types.push_back(v.tokens.size() % 2 == 0 ? 3 : 4);
    }
    return v;
}

/// Overwrites fields with bytes of the input: make() must refuse or go on, never crash.
void garble(Vocabulary& v, std::string_view text) {
    for (std::size_t i = 0; i + 3 < text.size() && i < 64; i += 4) {
        const auto a = static_cast<unsigned char>(text[i]),
                   b = static_cast<unsigned char>(text[i + 1]);
        const std::size_t at = (a * 256u + b) % v.tokens.size();
        switch (text[i + 2] & 7) {
            case 0:
                v.tokens[at] = text.substr(i, b % 16);
                break;
            case 1:
                v.types[at % v.types.size()] = text[i + 3];
                break;
            case 2:
                v.merges[at % v.merges.size()] = text.substr(i, b % 16);
                break;
            case 3:
                v.bos = text[i + 3];
                break;
            case 4:
                v.eos = static_cast<TokenId>(at);
                break;
            case 5:
                v.pre = text.substr(i, 2);
                break;
            case 6:
                v.pad = -1;
                break;
            default:
                v.add_bos = true;
                break;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    if (rest.empty() || rest.size() > 20000) return 0;
    const auto choice = static_cast<unsigned char>(rest[0]);
    rest.remove_prefix(1);
    const std::string_view merges = take_line(rest), special = take_line(rest);
    Vocabulary v = vocabulary_of(choice, merges, special);
    const bool garbled = choice >= 128;
    if (garbled) garble(v, rest);
    const auto made = Tokenizer::make(std::move(v));
    if (!made) {
        require(garbled && !made.error().what.empty());
        return 0;
    }
    const Tokenizer& tokenizer = **made;
    const auto plain = tokenizer.encode(rest, false), parsed = tokenizer.encode(rest, true);
    for (const TokenId id : plain) {
        require(id >= 0 && id < tokenizer.vocab_size() && !tokenizer.is_control(id));
    }
    if (!garbled) {
        // Two rows normalise, each stretch between special tokens for itself.
        std::string buffer;
        const bool normalises = tokenizer.vocabulary().pre.starts_with("qwen");
        const bool changes = normalises && nfc(rest, buffer) != rest;
        require(changes || tokenizer.decode(plain) == rest);
        require(changes || tokenizer.decode(parsed, true) == rest);
    }
    // Two text segments are one run.
    const std::size_t half = rest.size() / 2;
    const std::vector<Segment> segments = {
        {Segment::Origin::text, std::string(rest.substr(0, half)), {}},
        {Segment::Origin::text, std::string(rest.substr(half)), {}}};
    require(tokenizer.encode(segments) == plain);
    return 0;
}
