#pragma once
// Text: a string whose every byte knows where it came from. A template renders one Text; ranges
// that the template wrote may become control tokens, ranges of the caller's data never do.
// Knows bytes and origins; knows no Jinja value. Offsets are bytes.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::jinja {

/// Where a range came from: kLiteral, kInput, or (>= 0) the caller's id of one input string.
using Origin = std::int32_t;
constexpr Origin kLiteral = -1;  ///< written by the template
constexpr Origin kInput = -2;  ///< the caller's data, changed on the way (upper, escape, repr …)

/// One range of a Text: bytes from the end of the run before it up to `end`.
struct Run {
    std::size_t end = 0;
    Origin origin = kLiteral;
    std::size_t offset = 0;  ///< where the range begins in the input string (origin >= 0)
};

class Text {
  public:
    Text() = default;
    explicit Text(std::string bytes, Origin origin = kLiteral);

    std::string_view view() const { return bytes_; }
    std::size_t size() const { return bytes_.size(); }
    bool empty() const { return bytes_.empty(); }
    const std::vector<Run>& runs() const { return runs_; }
    /// True where the template wrote all of it (the empty text included).
    bool is_literal() const;
    /// kLiteral or kInput: the origin of something computed from this text as a whole.
    Origin blended() const { return is_literal() ? kLiteral : kInput; }
    /// Bytes that a copy costs, for the budget.
    std::size_t cost() const { return bytes_.size() + runs_.size() * sizeof(Run); }

    /// Appends; a range that continues the last run (in its source, too) joins it.
    void append(std::string_view bytes, Origin origin, std::size_t offset = 0);
    void append(const Text& text) { append(text, 0, text.size()); }
    /// Appends the bytes [begin, end) of `text` with their origins.
    void append(const Text& text, std::size_t begin, std::size_t end);
    Text slice(std::size_t begin, std::size_t end) const;
    /// Origin of the byte at `at` once its content is changed: kLiteral or kInput.
    Origin changed_origin(std::size_t at) const;

  private:
    std::string bytes_;
    std::vector<Run> runs_;  ///< ascending `end`, no empty runs, the last ends at bytes_.size()
};

using SharedText = std::shared_ptr<const Text>;

}  // namespace hearth::jinja
