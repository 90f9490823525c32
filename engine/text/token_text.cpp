#include "engine/text/token_text.h"

#include <fmt/format.h>

namespace hearth {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

std::string byte_token_text(unsigned byte) { return fmt::format("<0x{:02X}>", byte); }

std::optional<unsigned char> byte_of_token(std::string_view token_text) {
    if (token_text.size() != 6 || !token_text.starts_with("<0x") || token_text[5] != '>') return {};
    const int high = hex_digit(token_text[3]), low = hex_digit(token_text[4]);
    if (high < 0 || low < 0) return {};
    return static_cast<unsigned char>(high * 16 + low);
}

std::string printable_token(std::string_view token_text) {
    std::string out;
    for (const char c : token_text.substr(0, 60)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) {
            out += c;
        } else {
            out += fmt::format("\\x{:02X}", byte);
        }
    }
    if (token_text.size() > 60) out += "...";
    return out;
}

}  // namespace hearth
