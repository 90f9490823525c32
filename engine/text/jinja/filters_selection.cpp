// map, select, reject and their attribute forms: filters that take filters and tests by name.

#include <array>

#include "engine/text/jinja/filter_tables.h"

namespace hearth::jinja {
namespace {

/// The name that argument `i` gives, and the arguments after it.
bool take_name(Evaluator& evaluator, const Arguments& arguments, std::size_t i,
               std::string_view& name, Arguments& rest) {
    if (!arguments.positional[i].is(Kind::string)) {
        evaluator.fail("the name of a filter or test must be a string");
        return false;
    }
    name = arguments.positional[i].view();
    rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                           arguments.positional.end());
    rest.keyword = arguments.keyword;
    return true;
}

Value map_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    std::vector<Value> items;
    if (!evaluator.iterate(input, items)) return {};
    if (arguments.positional.empty()) {
        const Bound bound(evaluator, "map", arguments, {"attribute", "default"}, 1);
        if (!bound.ok()) return {};
        for (Value& item : items) item = attribute_path(evaluator, item, bound[0], bound[1]);
    } else {
        std::string_view name;
        Arguments rest;
        if (!take_name(evaluator, arguments, 0, name, rest)) return {};
        for (Value& item : items) item = evaluator.call_filter(name, item, rest);
    }
    return Value::list(std::move(items), Flavor::generator);
}

/// select (by_attribute false) and selectattr, keeping what passes, or what fails.
template <bool by_attribute, bool wanted>
Value select_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    std::vector<Value> items, kept;
    if (!evaluator.iterate(input, items)) return {};
    constexpr std::size_t kName = by_attribute ? 1 : 0;
    if (by_attribute && arguments.positional.empty()) {
        return evaluator.fail("selectattr and rejectattr need the name of an attribute");
    }
    const Value* attribute = by_attribute ? &arguments.positional[0] : nullptr;
    std::string_view test;
    Arguments rest;
    const bool has_test = arguments.positional.size() > kName;
    if (has_test && !take_name(evaluator, arguments, kName, test, rest)) return {};
    for (const Value& item : items) {
        const Value value = attribute_path(evaluator, item, attribute);
        const bool passes = has_test ? evaluator.call_test(test, value, rest) : truth(value);
        if (evaluator.failed()) return {};
        if (passes == wanted) kept.push_back(item);
    }
    return Value::list(std::move(kept), Flavor::generator);
}

constexpr std::array<Filter, 5> kTable = {{
    {"map", map_filter},
    {"reject", select_filter<false, false>},
    {"rejectattr", select_filter<true, false>},
    {"select", select_filter<false, true>},
    {"selectattr", select_filter<true, true>},
}};

}  // namespace

std::span<const Filter> selection_filters() { return kTable; }

}  // namespace hearth::jinja
