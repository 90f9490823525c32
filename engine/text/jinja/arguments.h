#pragma once
// Reading the arguments of a filter, test, method or function by position or name.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "engine/text/jinja/evaluator.h"

namespace hearth::jinja {

/// Arguments matched to parameter names; too many, unknown, doubled or missing ones are a failure
/// of the evaluator, after which everything reads as absent.
class Bound {
  public:
    static constexpr std::size_t kMax = 6;
    /// `what` names the callee in messages; the first `n_required` parameters must be given.
    Bound(Evaluator& evaluator, std::string_view what, const Arguments& arguments,
          std::initializer_list<std::string_view> names, std::size_t n_required = 0);

    bool ok() const { return ok_; }
    const Value* operator[](std::size_t i) const { return values_[i]; }
    /// Given and not none.
    bool has(std::size_t i) const { return values_[i] && !values_[i]->is(Kind::none); }
    /// Absent: the fallback; of another type: a failure.
    std::int64_t integer(std::size_t i, std::int64_t fallback);
    std::string_view view(std::size_t i, std::string_view fallback);
    bool flag(std::size_t i, bool fallback) const;
    /// Origin of what is computed with the texts given: kInput when one is the caller's.
    Origin blend(Origin origin) const;

  private:
    void wrong_type(std::size_t i, std::string_view expected);
    Evaluator& evaluator_;
    std::string_view what_;
    std::array<const Value*, kMax> values_{};
    bool ok_ = true;
};

}  // namespace hearth::jinja
