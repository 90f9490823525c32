#include "engine/store/fold.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <utf8proc.h>

namespace hearth::store {
namespace {

constexpr int kTitleCodePoints = 80;

char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Length in bytes of the character at the start of `text`, 1 for a byte that is no UTF-8.
std::size_t character_bytes(std::string_view text, utf8proc_int32_t* code_point) {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    const utf8proc_ssize_t n =
        utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), code_point);
    if (n > 0) return static_cast<std::size_t>(n);
    *code_point = -1;
    return 1;
}

}  // namespace

namespace {

/// Appends the folded character at the start of `text`; returns its length in `text`.
std::size_t fold_one(std::string_view text, std::string* out) {
    if (is_ascii(text[0])) {
        *out += lower_ascii(text[0]);
        return 1;
    }
    utf8proc_int32_t code_point = -1;
    const std::size_t n = character_bytes(text, &code_point);
    const utf8proc_int32_t low = code_point < 0 ? -1 : utf8proc_tolower(code_point);
    if (low < 0 || low == code_point) {
        out->append(text.substr(0, n));
    } else {
        utf8proc_uint8_t encoded[4];
        const auto m = utf8proc_encode_char(low, encoded);
        out->append(reinterpret_cast<const char*>(encoded), static_cast<std::size_t>(m));
    }
    return n;
}

}  // namespace

std::string fold(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) i += fold_one(text.substr(i), &out);
    return out;
}

Finder::Finder(std::string_view needle) : needle_(fold(needle)) {}

bool Finder::in(std::string_view text) const {
    if (needle_.empty()) return true;
    if (text.empty()) return false;
    const std::string folded = fold(text);
    return ::memmem(folded.data(), folded.size(), needle_.data(), needle_.size()) != nullptr;
}

std::optional<std::pair<std::size_t, std::size_t>> Finder::where(std::string_view text) const {
    std::string folded;
    folded.reserve(text.size());
    std::vector<std::size_t> from;  // of each folded byte: where its character begins in `text`
    from.reserve(text.size() + 1);
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t n = fold_one(text.substr(i), &folded);
        from.resize(folded.size(), i);
        i += n;
    }
    from.push_back(text.size());
    const std::size_t at = folded.find(needle_);
    if (at == std::string::npos) return std::nullopt;
    return std::pair(from[at], from[at + needle_.size()]);
}

std::string first_line(std::string_view text) {
    constexpr std::string_view space = " \t\r\n\v\f";
    const std::size_t begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    text = text.substr(0, text.find_first_of("\r\n"));
    text = text.substr(0, text.find_last_not_of(space) + 1);
    std::size_t i = 0;
    for (int n = 0; i < text.size(); ++n) {
        if (n == kTitleCodePoints) return std::string(text.substr(0, i)) + "…";
        utf8proc_int32_t code_point = -1;
        i += character_bytes(text.substr(i), &code_point);
    }
    return std::string(text);
}

}  // namespace hearth::store
