#include "engine/models/gguf_name.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace hearth::models {
namespace {

constexpr std::string_view kExtension = ".gguf";
constexpr std::size_t kPartDigits = 5;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_'; }

/// The number in five digits at `at`, -1 when there is none.
int five_digits(std::string_view text, std::size_t at) {
    int number = 0;
    for (std::size_t i = at; i < at + kPartDigits; ++i) {
        if (i >= text.size() || !is_digit(text[i])) return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/// Length of the quantization name at the start of `text` (lower case), 0 when there is none.
std::size_t quant_length(std::string_view text) {
    constexpr std::array<std::string_view, 4> kWhole = {"bf16", "f16", "f32", "mxfp4"};
    std::size_t end = 0;
    for (const std::string_view whole : kWhole)
        if (text.substr(0, whole.size()) == whole) end = whole.size();
    if (end == 0) {
        const std::size_t q = text.substr(0, 2) == "iq" || text.substr(0, 2) == "tq" ? 1 : 0;
        if (q + 1 >= text.size() || text[q] != 'q' || !is_digit(text[q + 1])) return 0;
        end = q + 2;
        while (end < text.size() && is_word(text[end])) ++end;
    }
    return end == text.size() || !is_word(text[end]) ? end : 0;
}

}  // namespace

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    return out;
}

bool is_model_file_name(std::string_view file_name) {
    const std::string name = lower(file_name);
    return name.size() > kExtension.size() && name.front() != '.' &&
           name.compare(name.size() - kExtension.size(), kExtension.size(), kExtension) == 0 &&
           name.find("mmproj") == std::string::npos;
}

std::string without_extension(std::string_view name) {
    const std::string folded = lower(name);
    if (folded.size() > kExtension.size() &&
        folded.compare(folded.size() - kExtension.size(), kExtension.size(), kExtension) == 0)
        name.remove_suffix(kExtension.size());
    return std::string(name);
}

ShardName parse_shard_name(std::string_view file_name) {
    ShardName shard;
    shard.stem = without_extension(file_name);
    constexpr std::string_view kOf = "-of-";
    constexpr std::size_t kSuffix = 1 + kPartDigits + kOf.size() + kPartDigits;
    if (shard.stem.size() <= kSuffix) return shard;
    const std::size_t at = shard.stem.size() - kSuffix;
    const int part = five_digits(shard.stem, at + 1);
    const int n_parts = five_digits(shard.stem, at + 1 + kPartDigits + kOf.size());
    if (shard.stem[at] != '-' || shard.stem.compare(at + 1 + kPartDigits, kOf.size(), kOf) != 0 ||
        part < 1 || n_parts < part)
        return shard;
    shard.stem.resize(at);
    shard.part = part;
    shard.n_parts = n_parts;
    return shard;
}

std::string shard_file_name(const ShardName& shard, int part) {
    return fmt::format("{}-{:05}-of-{:05}.gguf", shard.stem, part, shard.n_parts);
}

std::string quant_of(std::string_view stem) {
    const std::string name = lower(stem);
    for (std::size_t i = name.size(); i-- > 0;) {
        if (i > 0 && is_word(name[i - 1]) && name[i - 1] != '_') continue;
        const std::size_t n = quant_length(std::string_view(name).substr(i));
        if (n == 0) continue;
        // "iq4_nl" seen from its q is not a start, but "q4" inside "my_q4_0" is.
        std::string quant = name.substr(i, n);
        for (char& c : quant)
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
        return quant;
    }
    return {};
}

}  // namespace hearth::models
