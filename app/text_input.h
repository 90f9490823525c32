#pragma once
// Text that comes from outside: always valid UTF-8 afterwards, never NUL; and documents before a
// prompt.

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace hearth {

/// Bytes that are no UTF-8 become U+FFFD (one mark each), NUL becomes U+2400: both visible.
/// `replaced` counts them. A byte order mark at the start is taken off.
std::string valid_utf8(std::string_view bytes, std::size_t* replaced = nullptr);

/// The whole file as it is. Errors: failed, with the system's reason.
Result<std::string> read_text_file(const std::string& path);
/// Standard input to its end.
Result<std::string> read_standard_input();

/// A document with its name, fenced so that the model sees where it ends. "" name: as it is.
std::string as_document(const std::string& name, const std::string& text);

}  // namespace hearth
