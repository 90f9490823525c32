#pragma once
// Detokenizer: tokens one by one -> complete UTF-8 (text.md section 6). Never shows half a
// character: incomplete bytes wait; invalid ones become U+FFFD.

#include <string>
#include <string_view>

namespace hearth {

/// Bytes in, longest complete valid UTF-8 prefix out. Any split of the input into pushes gives the
/// same concatenated output.
class Utf8Stream {
  public:
    std::string push(std::string_view bytes);
    /// What is left becomes one U+FFFD (or nothing).
    std::string finish();

  private:
    std::string pending_;
};

}  // namespace hearth
