#pragma once
// The parts of the filter table, one per file, and what they share.

#include <span>
#include <string_view>
#include <vector>

#include "engine/text/jinja/arguments.h"
#include "engine/text/jinja/filters.h"

namespace hearth::jinja {

std::span<const Filter> text_filters();       ///< filters_text.cpp
std::span<const Filter> value_filters();      ///< filters_value.cpp
std::span<const Filter> sequence_filters();   ///< filters_sequence.cpp
std::span<const Filter> selection_filters();  ///< filters_selection.cpp

/// value.a.b.0 for the attribute "a.b.0" (or an integer); `fallback` (may be null) replaces what is
/// undefined. An attribute that is absent or none gives the value itself.
Value attribute_path(Evaluator& evaluator, const Value& value, const Value* attribute,
                     const Value* fallback = nullptr);
/// What values are compared by: strings in lower case unless `case_sensitive`.
Value comparison_key(const Value& value, bool case_sensitive);
/// Indices of `keys` in ascending (or descending) order, equal ones in place. Fails on values
/// without common order.
std::vector<std::size_t> sorted_order(Evaluator& evaluator, const std::vector<Value>& keys,
                                      bool descending);

}  // namespace hearth::jinja
