// The two vocabularies of tiny models. Both have kTinyVocabularySize tokens.

#include "engine/base/check.h"
#include "tests/support/tiny_model.h"

namespace hearth::test {

const char* const kTinyChatTemplate =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

namespace {

std::string utf8(std::uint32_t c) {
    if (c < 0x80) return {static_cast<char>(c)};
    HEARTH_CHECK(c < 0x800);
    return {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
}

/// GPT-2's printable stand-in for a byte (Radford et al. 2019, encoder.py): printable Latin-1
/// stands for itself, the others take U+0100 and up in order.
std::string byte_symbol(int byte) {
    const auto printable = [](int b) {
        return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
    };
    if (printable(byte)) return utf8(static_cast<std::uint32_t>(byte));
    std::uint32_t n = 256;
    for (int b = 0; b < byte; ++b) n += printable(b) ? 0 : 1;
    return utf8(n);
}

struct Pair {
    const char* left;
    const char* right;
};

/// Merges in rank order; "_" is the space. Every operand is a letter or an earlier result.
constexpr Pair kMerges[] = {
    {"_", "t"},        {"_", "a"},    {"h", "e"},  {"i", "n"},    {"r", "e"},     {"o", "n"},
    {"_t", "he"},      {"e", "r"},    {"a", "t"},  {"_", "s"},    {"e", "n"},     {"i", "s"},
    {"o", "r"},        {"e", "s"},    {"_", "w"},  {"a", "n"},    {"_", "c"},     {"i", "t"},
    {"o", "u"},        {"in", "g"},   {"_a", "n"}, {"_an", "d"},  {"l", "l"},     {"_", "o"},
    {"_o", "f"},       {"_t", "o"},   {"_", "i"},  {"_i", "n"},   {"e", "l"},     {"l", "o"},
    {"H", "el"},       {"Hel", "lo"}, {"_", "h"},  {"_h", "el"},  {"s", "t"},     {"u", "s"},
    {"us", "er"},      {"a", "s"},    {"as", "s"}, {"ass", "is"}, {"assis", "t"}, {"assist", "an"},
    {"assistan", "t"},
};

std::string spelled(const char* piece, const std::string& space) {
    std::string out;
    for (const char* p = piece; *p; ++p) out += *p == '_' ? space : std::string(1, *p);
    return out;
}

void add_common(GgufWriter& w, const std::vector<std::string>& tokens,
                const std::vector<std::int32_t>& types) {
    HEARTH_CHECK(tokens.size() == kTinyVocabularySize && types.size() == tokens.size());
    w.set("tokenizer.ggml.tokens", GgufValue::texts(tokens));
    w.set("tokenizer.ggml.token_type", GgufValue::i32s(types));
}

void add_bpe(GgufWriter& w) {
    std::vector<std::string> tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
    std::vector<std::int32_t> types = {3, 3, 3};
    for (int b = 0; b < 256; ++b) tokens.push_back(byte_symbol(b));
    std::vector<std::string> merges;
    const std::string space = byte_symbol(' ');
    for (const Pair& m : kMerges) {
        const std::string left = spelled(m.left, space);
        const std::string right = spelled(m.right, space);
        merges.push_back(left + " " + right);
        tokens.push_back(left + right);
    }
    types.resize(tokens.size(), 1);
    for (int i = 0; static_cast<int>(tokens.size()) < kTinyVocabularySize; ++i) {
        tokens.push_back("<unused" + std::to_string(i) + ">");
        types.push_back(5);
    }
    w.set("tokenizer.ggml.model", GgufValue::text("gpt2"));
    w.set("tokenizer.ggml.pre", GgufValue::text("smollm"));
    add_common(w, tokens, types);
    w.set("tokenizer.ggml.merges", GgufValue::texts(merges));
    w.set("tokenizer.ggml.bos_token_id", GgufValue::u32(1));
    w.set("tokenizer.ggml.eos_token_id", GgufValue::u32(2));
    w.set("tokenizer.ggml.unknown_token_id", GgufValue::u32(0));
    w.set("tokenizer.ggml.padding_token_id", GgufValue::u32(2));
    w.set("tokenizer.ggml.add_bos_token", GgufValue::boolean(false));
}

void add_spm(GgufWriter& w) {
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<std::int32_t> types = {2, 3, 3};
    std::vector<float> scores = {0, 0, 0};
    const char* digits = "0123456789ABCDEF";
    for (int b = 0; b < 256; ++b) {
        tokens.push_back(std::string("<0x") + digits[b >> 4] + digits[b & 15] + ">");
        types.push_back(6);
        scores.push_back(0);
    }
    const std::string space = "\xe2\x96\x81";  // U+2581
    float score = 0;
    for (const Pair& m : kMerges) {
        tokens.push_back(spelled(m.left, space) + spelled(m.right, space));
        scores.push_back(score -= 1);
    }
    tokens.push_back(space);
    scores.push_back(score -= 1);
    for (const char* p = "etaoinsrhldcumfpgwybvkxjqzTHEIAS.,?!'-0123456789"; *p; ++p) {
        tokens.push_back(std::string(1, *p));
        scores.push_back(score -= 1);
    }
    types.resize(tokens.size(), 1);
    for (const char* special : {"<|im_start|>", "<|im_end|>"}) {
        tokens.push_back(special);
        types.push_back(3);
        scores.push_back(0);
    }
    for (int i = 0; static_cast<int>(tokens.size()) < kTinyVocabularySize; ++i) {
        tokens.push_back("<unused" + std::to_string(i) + ">");
        types.push_back(5);
        scores.push_back(0);
    }
    w.set("tokenizer.ggml.model", GgufValue::text("llama"));
    w.set("tokenizer.ggml.pre", GgufValue::text("default"));
    add_common(w, tokens, types);
    w.set("tokenizer.ggml.scores", GgufValue::f32s(scores));
    w.set("tokenizer.ggml.bos_token_id", GgufValue::u32(1));
    w.set("tokenizer.ggml.eos_token_id", GgufValue::u32(2));
    w.set("tokenizer.ggml.unknown_token_id", GgufValue::u32(0));
    w.set("tokenizer.ggml.add_bos_token", GgufValue::boolean(true));
    w.set("tokenizer.ggml.add_eos_token", GgufValue::boolean(false));
}

}  // namespace

void add_tiny_vocabulary(GgufWriter& w, TinyVocabulary vocabulary) {
    if (vocabulary == TinyVocabulary::bpe) add_bpe(w);
    if (vocabulary == TinyVocabulary::spm) add_spm(w);
}

}  // namespace hearth::test
