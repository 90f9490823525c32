#pragma once
// Tokenizers for tests: the real vocabularies, read once, and small made ones.

#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/model/weight_file.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/nfc.h"
#include "engine/text/token_text.h"
#include "engine/text/tokenizer.h"
#include "tests/support/reference.h"

namespace hearth::test {

inline std::string model_file(const std::string& name) {
    static const std::map<std::string, std::string> files = {
        {"smollm2", "smollm2-135m-q4_1.gguf"},
        {"gemma3", "gemma3-270m-q4_k_m.gguf"},
        {"qwen2", "qwen2.5-coder-0.5b-q4_k_m.gguf"},
    };
    return model_path(files.at(name));
}

inline const Tokenizer& real_tokenizer(const std::string& name) {
    static std::map<std::string, std::unique_ptr<Tokenizer>> made;
    std::unique_ptr<Tokenizer>& tokenizer = made[name];
    if (!tokenizer) {
        auto file = WeightFile::open(model_file(name));
        if (!file) FAIL(file.error().what);
        auto vocabulary = (*file)->vocabulary();
        if (!vocabulary) FAIL(vocabulary.error().what);
        auto result = Tokenizer::make(std::move(*vocabulary));
        if (!result) FAIL(result.error().what);
        tokenizer = std::move(*result);
    }
    return *tokenizer;
}

/// What decode(encode(text)) gives: Qwen's tokenizers normalise.
inline std::string spelled_text(const std::string& name, const std::string& text) {
    std::string buffer;
    return name == "qwen2" ? std::string(nfc(text, buffer)) : text;
}

/// 256 bytes, some merges (see `merge`), two control tokens and one user-defined.
/// Ids: byte b = b, merges from 256 on, then <|im_start|> <|im_end|> <tool_call>.
inline Vocabulary bpe_vocabulary(const std::vector<std::string>& merges = {"h e", "l l", "he ll",
                                                                           "hell o"}) {
    Vocabulary v;
    v.source = "test.gguf";
    v.model = "gpt2";
    v.pre = "gpt-2";
    for (unsigned byte = 0; byte < 256; ++byte) v.tokens.push_back(byte_alphabet()[byte]);
    for (const std::string& merge : merges) {
        const std::size_t space = merge.find(' ');
        v.tokens.push_back(merge.substr(0, space) + merge.substr(space + 1));
    }
    v.merges = merges;
    v.types.assign(v.tokens.size(), 1);
    for (const char* text : {"<|im_start|>", "<|im_end|>"}) {
        v.tokens.emplace_back(text);
        v.types.push_back(3);
    }
    v.tokens.emplace_back("<tool_call>");
    v.types.push_back(4);
    return v;
}

/// <unk> <s> </s>, 256 byte tokens (id = byte + 3), a few pieces, <|user|>-like user-defined <tag>.
inline Vocabulary spm_vocabulary() {
    Vocabulary v;
    v.source = "test.gguf";
    v.model = "llama";
    const auto add = [&](std::string text, float score, int type) {
        v.tokens.push_back(std::move(text));
        v.scores.push_back(score);
        v.types.push_back(type);
    };
    add("<unk>", 0, 2);
    add("<s>", 0, 3);
    add("</s>", 0, 3);
    for (unsigned byte = 0; byte < 256; ++byte) add(byte_token_text(byte), 0, 6);
    const std::string space = "\xE2\x96\x81";
    float score = -1;
    for (const std::string& piece :
         {space + "h", std::string("el"), std::string("lo"), space + "hel", space + "hello",
          space + space, std::string("ab"), std::string("bc"), std::string("abc"), space,
          std::string("h"), std::string("e"), std::string("l"), std::string("o"), std::string("a"),
          std::string("b"), std::string("c"), std::string("\xE4\xBD\xA0")}) {
        add(piece, score, 1);
        score -= 1;
    }
    add("<tag>", 0, 4);
    v.unk = 0;
    v.bos = 1;
    v.eos = 2;
    return v;
}

inline std::unique_ptr<Tokenizer> make_tokenizer(Vocabulary vocabulary) {
    auto made = Tokenizer::make(std::move(vocabulary));
    if (!made) FAIL(made.error().what);
    return std::move(*made);
}

/// Random text from scraps that pre-tokenizers and merges care about; `raw` adds arbitrary bytes.
inline std::string random_text(std::mt19937& random, bool raw) {
    static const std::vector<std::string> scraps = {" ",
                                                    "  ",
                                                    "\n",
                                                    "\r\n",
                                                    "\t",
                                                    "a",
                                                    "b",
                                                    "abc",
                                                    "Hello",
                                                    "world",
                                                    "'s",
                                                    "'LL",
                                                    "1",
                                                    "23",
                                                    "4567",
                                                    "!",
                                                    "...",
                                                    "{}",
                                                    "\xC3\xA9",
                                                    "\xCC\x81",
                                                    "\xE4\xBD\xA0\xE5\xA5\xBD",
                                                    "\xED\x95\x9C",
                                                    "\xF0\x9F\x98\x80",
                                                    "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xA7",
                                                    "\xE3\x80\x80",
                                                    "\xC2\xA0",
                                                    "\xC2\xB2",
                                                    "<table>",
                                                    "<tool_call>",
                                                    "<|im_end|>",
                                                    "<end_of_turn>",
                                                    "</s>",
                                                    "the",
                                                    " the",
                                                    "ing",
                                                    "_",
                                                    "\xEF\xBF\xBD"};
    std::uniform_int_distribution<std::size_t> pick(0, scraps.size() - 1);
    std::uniform_int_distribution<int> byte(0, 255), count(0, 12), kind(0, 3);
    std::string text;
    for (int n = count(random); n > 0; --n) {
        if (raw && kind(random) == 0) {
            text += static_cast<char>(byte(random));
        } else {
            text += scraps[pick(random)];
        }
    }
    return text;
}

}  // namespace hearth::test
