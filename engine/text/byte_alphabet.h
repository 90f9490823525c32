#pragma once
// GPT-2's byte alphabet: vocabularies of byte-level BPE spell every byte as one printable character
// (Radford et al. 2019, encoder.py: bytes_to_unicode). Printable bytes stand for themselves, the
// other 68 are U+0100 … U+0143 in order.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

/// byte -> its character in UTF-8 (1 or 2 bytes).
const std::array<std::string, 256>& byte_alphabet();

/// Bytes that a token text spells. Characters outside of the alphabet stand for themselves.
std::string spelled_bytes(std::string_view token_text);

}  // namespace hearth
