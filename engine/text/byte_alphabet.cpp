#include "engine/text/byte_alphabet.h"

namespace hearth {
namespace {

bool is_printable(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
           (byte >= 0xAE && byte <= 0xFF);
}

constexpr unsigned kAlphabetEnd = 0x144;  // one after the last character of the alphabet

/// byte -> code point.
std::array<std::uint16_t, 256> code_points() {
    std::array<std::uint16_t, 256> points{};
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        points[byte] = static_cast<std::uint16_t>(is_printable(byte) ? byte : next++);
    }
    return points;
}

/// code point -> byte, or -1.
std::array<std::int16_t, kAlphabetEnd> bytes_of_points() {
    std::array<std::int16_t, kAlphabetEnd> bytes{};
    bytes.fill(-1);
    const auto points = code_points();
    for (unsigned byte = 0; byte < 256; ++byte) {
        bytes[points[byte]] = static_cast<std::int16_t>(byte);
    }
    return bytes;
}

}  // namespace

const std::array<std::string, 256>& byte_alphabet() {
    static const std::array<std::string, 256> alphabet = [] {
        std::array<std::string, 256> made;
        const auto points = code_points();
        for (unsigned byte = 0; byte < 256; ++byte) {
            const unsigned point = points[byte];
            if (point < 0x80) {
                made[byte].push_back(static_cast<char>(point));
            } else {
                made[byte].push_back(static_cast<char>(0xC0 | (point >> 6)));
                made[byte].push_back(static_cast<char>(0x80 | (point & 0x3F)));
            }
        }
        return made;
    }();
    return alphabet;
}

std::string spelled_bytes(std::string_view token_text) {
    static const auto bytes = bytes_of_points();
    std::string out;
    out.reserve(token_text.size());
    for (std::size_t i = 0; i < token_text.size(); ++i) {
        const auto first = static_cast<unsigned char>(token_text[i]);
        unsigned point = first;
        std::size_t length = 1;
        if (first >= 0xC2 && first <= 0xC5 && i + 1 < token_text.size()) {
            const auto second = static_cast<unsigned char>(token_text[i + 1]);
            if (second >= 0x80 && second <= 0xBF) {
                point = ((first & 0x1Fu) << 6) | (second & 0x3Fu);
                length = 2;
            }
        }
        const bool spelled =
            (first < 0x80 || length == 2) && point < bytes.size() && bytes[point] >= 0;
        if (spelled) {
            out += static_cast<char>(bytes[point]);
        } else {
            out += token_text.substr(i, length);
        }
        i += length - 1;
    }
    return out;
}

}  // namespace hearth
