#pragma once
// Text comparison without case, for search and titles: simple case folding per code point, any
// script, no word boundaries (Chinese and Japanese words have none to offer).

#include <string>
#include <string_view>

namespace hearth::store {

/// Lower case, code point by code point; bytes that are no UTF-8 stay as they are.
std::string fold(std::string_view text);

/// Looks for one text in many.
class Finder {
  public:
    explicit Finder(std::string_view needle);
    /// An empty needle is in every text.
    bool in(std::string_view text) const;

  private:
    std::string needle_;  ///< folded
};

/// The first line with something in it, without space around, at most 80 code points.
std::string first_line(std::string_view text);

}  // namespace hearth::store
