#pragma once
// The spelling of byte tokens, and token texts in messages.

#include <optional>
#include <string>
#include <string_view>

namespace hearth {

/// "<0x0A>" for 10: the text of the byte token of `byte` (0 … 255).
std::string byte_token_text(unsigned byte);
/// The byte that a byte token spells: exactly <0xNN>, two hex digits; anything else is nothing.
std::optional<unsigned char> byte_of_token(std::string_view token_text);
/// A token text for a message: control characters and bytes above 0x7E as \xNN, 60 bytes at most.
std::string printable_token(std::string_view token_text);

}  // namespace hearth
