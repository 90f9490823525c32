// The tests of `value is name(arguments)`.

#include <array>

#include <fmt/format.h>

#include "engine/text/jinja/arguments.h"
#include "engine/text/jinja/filters.h"
#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

using Predicate = bool (*)(const Value&);

template <Predicate predicate>
bool simple(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "a test", arguments, {});
    return bound.ok() && predicate(input);
}

template <Operator op>
bool comparison(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "a comparing test", arguments, {"other"}, 1);
    return bound.ok() && evaluator.compare(op, input, *bound[0]);
}

bool remainder(Evaluator& evaluator, const Value& input, const Value& divisor,
               std::int64_t wanted) {
    const Value rest = evaluator.binary(Operator::modulo, input, divisor);
    return !evaluator.failed() && equal(rest, Value::integer(wanted));
}

template <std::int64_t wanted>
bool parity(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "even or odd", arguments, {});
    return bound.ok() && remainder(evaluator, input, Value::integer(2), wanted);
}

bool divisible(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "divisibleby", arguments, {"num"}, 1);
    return bound.ok() && remainder(evaluator, input, *bound[0], 0);
}

bool same_object(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "sameas", arguments, {"other"}, 1);
    if (!bound.ok() || input.kind() != bound[0]->kind()) return false;
    if (input.is(Kind::string)) return input.view() == bound[0]->view();
    return input.object() ? input.object() == bound[0]->object() : equal(input, *bound[0]);
}

bool known_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "filter", arguments, {});
    return bound.ok() && input.is(Kind::string) && find_filter(input.view());
}

bool known_test(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "test", arguments, {});
    return bound.ok() && input.is(Kind::string) && find_test(input.view());
}

template <bool upper>
bool has_case(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "lower or upper", arguments, {});
    if (!bound.ok()) return false;
    const Text text = evaluator.print(input);
    bool seen = false;
    for (std::size_t at = 0; at < text.size(); at += decode(text.view(), at).n_bytes) {
        const std::int32_t c = decode(text.view(), at).value;
        if (upper ? is_lower(c) : is_upper(c)) return false;
        seen = seen || (upper ? is_upper(c) : is_lower(c));
    }
    return seen;
}

bool is_defined(const Value& v) { return !v.is(Kind::undefined); }
bool is_undefined(const Value& v) { return v.is(Kind::undefined); }
bool is_none(const Value& v) { return v.is(Kind::none); }
bool is_boolean(const Value& v) { return v.is(Kind::boolean); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && truth(v); }
bool is_false(const Value& v) { return v.is(Kind::boolean) && !truth(v); }
bool is_integer(const Value& v) { return v.is(Kind::integer); }
bool is_float(const Value& v) { return v.is(Kind::real); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is(Kind::string); }
bool is_mapping(const Value& v) { return v.is(Kind::dict); }
bool is_callable(const Value& v) {
    return v.is(Kind::macro) || v.is(Kind::method) || v.is(Kind::function) || v.is(Kind::joiner) ||
           v.is(Kind::loop);
}
bool is_iterable(const Value& v) {
    return v.is(Kind::undefined) || v.is(Kind::string) || v.is(Kind::list) || v.is(Kind::dict) ||
           v.is(Kind::range) || v.is(Kind::loop);
}
bool is_sequence(const Value& v) {
    return v.is(Kind::undefined) || v.is(Kind::string) || v.is(Kind::dict) || v.is(Kind::range) ||
           v.is_list(Flavor::list) || v.is_list(Flavor::tuple) || v.is_list(Flavor::group);
}
bool is_escaped(const Value&) { return false; }

constexpr std::array<Test, 39> kTests = {{
    {"!=", comparison<Operator::not_equal>},
    {"<", comparison<Operator::less>},
    {"<=", comparison<Operator::less_equal>},
    {"==", comparison<Operator::equal>},
    {">", comparison<Operator::greater>},
    {">=", comparison<Operator::greater_equal>},
    {"boolean", simple<is_boolean>},
    {"callable", simple<is_callable>},
    {"defined", simple<is_defined>},
    {"divisibleby", divisible},
    {"eq", comparison<Operator::equal>},
    {"equalto", comparison<Operator::equal>},
    {"escaped", simple<is_escaped>},
    {"even", parity<0>},
    {"false", simple<is_false>},
    {"filter", known_filter},
    {"float", simple<is_float>},
    {"ge", comparison<Operator::greater_equal>},
    {"greaterthan", comparison<Operator::greater>},
    {"gt", comparison<Operator::greater>},
    {"in", comparison<Operator::in>},
    {"integer", simple<is_integer>},
    {"iterable", simple<is_iterable>},
    {"le", comparison<Operator::less_equal>},
    {"lessthan", comparison<Operator::less>},
    {"lower", has_case<false>},
    {"lt", comparison<Operator::less>},
    {"mapping", simple<is_mapping>},
    {"ne", comparison<Operator::not_equal>},
    {"none", simple<is_none>},
    {"number", simple<is_number>},
    {"odd", parity<1>},
    {"sameas", same_object},
    {"sequence", simple<is_sequence>},
    {"string", simple<is_string>},
    {"test", known_test},
    {"true", simple<is_true>},
    {"undefined", simple<is_undefined>},
    {"upper", has_case<true>},
}};

}  // namespace

const Test* find_test(std::string_view name) {
    for (const Test& test : kTests) {
        if (test.name == name) return &test;
    }
    return nullptr;
}

}  // namespace hearth::jinja
