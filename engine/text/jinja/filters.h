#pragma once
// The tables of filters and tests that templates may name.

#include <string_view>
#include <vector>

#include "engine/text/jinja/value.h"

namespace hearth::jinja {

class Evaluator;
struct Arguments;

using FilterFunction = Value (*)(Evaluator&, const Value& input, const Arguments&);
struct Filter {
    std::string_view name;
    FilterFunction function;
};
/// Null for an unknown name.
const Filter* find_filter(std::string_view name);

using TestFunction = bool (*)(Evaluator&, const Value& input, const Arguments&);
struct Test {
    std::string_view name;
    TestFunction function;
};
const Test* find_test(std::string_view name);

}  // namespace hearth::jinja
