#pragma once
// Unicode normalisation form C, which the published Qwen tokenizers apply before anything else.

#include <string>
#include <string_view>

namespace hearth {

/// `text` in NFC: `text` itself where nothing changes, else a view of `buffer`. Bytes that are not
/// UTF-8 stay; so does a base with more than about 200 marks, whose ordering would take long.
std::string_view nfc(std::string_view text, std::string& buffer);

}  // namespace hearth
