#pragma once
// Text comparison without case, for search and titles: simple case folding per code point, any
// script, no word boundaries (Chinese and Japanese words have none to offer).

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::store {

/// Lower case, code point by code point; bytes that are no UTF-8 stay as they are.
std::string fold(std::string_view text);

/// Looks for one text in many.
class Finder {
  public:
    explicit Finder(std::string_view needle);
    /// An empty needle is in every text.
    bool in(std::string_view text) const;
    /// The first place in `text`, as bytes [begin, end) of it; nullopt when it is nowhere.
    std::optional<std::pair<std::size_t, std::size_t>> where(std::string_view text) const;
    const std::string& folded() const { return needle_; }

  private:
    std::string needle_;  ///< folded
};

/// The first line with something in it, without space around, at most 80 code points.
std::string first_line(std::string_view text);

}  // namespace hearth::store
