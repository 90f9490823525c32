// The table of pre-tokenizers (text.md section 2) and the rules that recognise a vocabulary whose
// file does not name one.

#include <algorithm>
#include <array>

#include "engine/text/pretokenizer.h"

namespace hearth {
namespace {

// White space is Unicode's White_Space: PCRE2's own \s also takes U+180E.
const std::string kSpace = R"(\p{White_Space})";
const std::string kSpaceRun = kSpace + R"(+(?!\P{White_Space})|)" + kSpace + "+";
// The last newline of a run of white space ends a piece; the rest as everywhere.
const std::string kNewlineRun = kSpace + R"(*[\r\n]+|)" + kSpaceRun;
const std::string kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const std::string kWordLead = R"([^\r\n\p{L}\p{N}]?)";
const std::string kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])";
const std::string kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
const std::string kSymbols = " ?[^" + kSpace + R"(\p{L}\p{N}]++)";

std::string gpt2() {
    return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}++| ?\p{N}++|)" + kSymbols + "|" + kSpaceRun;
}

std::string llama_bpe(const std::string& numbers) {
    return kContraction + "|" + kWordLead + R"(\p{L}++|)" + numbers + "|" + kSymbols +
           R"([\r\n]*+|)" + kNewlineRun;
}

std::string qwen35() {
    return kContraction + "|" + kWordLead + R"([\p{L}\p{M}]++|\p{N}| ?[^)" + kSpace +
           R"(\p{L}\p{M}\p{N}]++[\r\n]*+|)" + kNewlineRun;
}

/// Words by case; `suffix` is the contraction that may end them.
std::string case_aware(const std::string& suffix, const std::string& numbers) {
    return kWordLead + kUpper + "*" + kLower + "+" + suffix + "|" + kWordLead + kUpper + "+" +
           kLower + "*" + suffix + "|" + numbers + "|" + kSymbols + R"([\r\n/]*+|)" + kNewlineRun;
}

std::string deepseek_words() {
    return R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]++|)re"
           R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]++| ?[\p{P}\p{S}]++[\r\n]*+|)" +
           kNewlineRun;
}

const std::string kOneDigit = R"(\p{N})";
const std::string kThreeDigits = R"(\p{N}{1,3})";
const std::string kCjk = R"([\x{4e00}-\x{9fa5}\x{3040}-\x{309f}\x{30a0}-\x{30ff}]++)";

const std::vector<PreTokenizerRow>& rows() {
    static const std::vector<PreTokenizerRow> table = {
        {"gpt-2", " gpt-2 gpt2 mpt olmo jais phi-2 trillion ", {gpt2()}},
        {"smollm", " smollm starcoder refact command-r codeshell exaone ", {kOneDigit, gpt2()}},
        {"llama-bpe", " llama-bpe llama3 llama-v3 falcon3 ", {llama_bpe(kThreeDigits)}, true, true},
        {"dbrx", " dbrx smaug-bpe smaug chatglm-bpe ", {llama_bpe(kThreeDigits)}},
        {"qwen2", " qwen2 ", {llama_bpe(kOneDigit)}, false, false, true},
        {"stablelm2", " stablelm2 deepseek-r1-qwen megrez hunyuan ", {llama_bpe(kOneDigit)}},
        {"qwen35", " qwen35 ", {qwen35()}, false, false, true},
        {"gpt-4o", " gpt-4o o200k llama4 ", {case_aware(kContraction + "?", kThreeDigits)}},
        {"tekken", " tekken pixtral ", {case_aware("", kOneDigit)}, true, true},
        {"deepseek-v3", " deepseek-v3 ", {kThreeDigits, kCjk, deepseek_words()}},
    };
    return table;
}

/// Longest token made of digits only, as far as the probes tell: what the split rule allows.
enum class Digits { any, single, upto_three };

/// A vocabulary is the family's when it has the marker, its size fits and its digits do.
struct Fingerprint {
    std::string_view marker;
    std::size_t min_tokens, max_tokens;
    Digits digits;
    std::string_view name;
};

constexpr std::array<Fingerprint, 12> kFingerprints = {{
    {"<|eot_id|>", 128000, 129000, Digits::upto_three, "llama-bpe"},
    {"<|header_start|>", 200000, 203000, Digits::upto_three, "gpt-4o"},
    {"<|channel|>", 199990, 202000, Digits::upto_three, "gpt-4o"},
    {"<|im_sep|>", 100000, 101000, Digits::upto_three, "dbrx"},
    {"<|im_start|>", 151640, 152100, Digits::single, "qwen2"},
    {"<|im_start|>", 248000, 249000, Digits::single, "qwen35"},
    {"<|im_start|>", 49100, 49300, Digits::single, "smollm"},
    {"<gh_stars>", 49100, 49300, Digits::single, "smollm"},
    {"<|END_OF_TURN_TOKEN|>", 255000, 257000, Digits::single, "smollm"},
    {"[TOOL_CALLS]", 130900, 131200, Digits::single, "tekken"},
    {"<\xEF\xBD\x9C"
     "begin\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
     128000, 129500, Digits::upto_three, "deepseek-v3"},
    {"<|endoftext|>", 50257, 50304, Digits::any, "gpt-2"},
}};

bool has(const Vocabulary& vocabulary, std::string_view token) {
    return std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token) !=
           vocabulary.tokens.end();
}

bool digits_fit(const Vocabulary& vocabulary, Digits digits) {
    switch (digits) {
        case Digits::any:
            return true;
        case Digits::single:
            return !has(vocabulary, "12") && !has(vocabulary, "20");
        case Digits::upto_three:
            return has(vocabulary, "12") && has(vocabulary, "123") && !has(vocabulary, "1234");
    }
    return false;
}

}  // namespace

const PreTokenizerRow* find_pretokenizer(std::string_view pre) {
    if (pre.empty() || pre.find(' ') != std::string_view::npos) return nullptr;
    const std::string wanted = " " + std::string(pre) + " ";
    for (const PreTokenizerRow& row : rows()) {
        if (row.aliases.find(wanted) != std::string_view::npos) return &row;
    }
    return nullptr;
}

const PreTokenizerRow* guess_pretokenizer(const Vocabulary& vocabulary) {
    const std::size_t n = vocabulary.tokens.size();
    for (const Fingerprint& print : kFingerprints) {
        if (n >= print.min_tokens && n <= print.max_tokens && has(vocabulary, print.marker) &&
            digits_fit(vocabulary, print.digits)) {
            return find_pretokenizer(print.name);
        }
    }
    return nullptr;
}

std::string pretokenizer_names() {
    std::string names;
    for (const PreTokenizerRow& row : rows()) {
        if (!names.empty()) names += ", ";
        names += row.name;
    }
    return names;
}

}  // namespace hearth
