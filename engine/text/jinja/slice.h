#pragma once
// Slices by Python's rules.

#include <cstdint>
#include <optional>

#include "engine/text/jinja/value.h"

namespace hearth::jinja {

class Evaluator;

struct Slice {
    std::optional<std::int64_t> start, stop, step;  ///< step is not 0
};

/// value[start:stop:step] of a string (in characters, origins kept), list, tuple or range.
Value slice_value(Evaluator& evaluator, const Value& value, const Slice& slice);

}  // namespace hearth::jinja
