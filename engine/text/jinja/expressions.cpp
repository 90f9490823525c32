// Expressions of the evaluator.

#include <algorithm>

#include <fmt/format.h>

#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/filters.h"
#include "engine/text/jinja/slice.h"

namespace hearth::jinja {

Value Evaluator::eval(const Expr& expr) {
    const Level level(*this);
    if (failed_ || !charge_items(1)) return {};
    if (expr.kind == ExprKind::constant) return expr.constant;
    line_ = expr.line;
    Value value = eval_node(expr);
    if (failed_ || !check_size(value)) return {};
    return value;
}

/// Bounds what recursive walks (print, compare, hash, destruction) can cost.
bool Evaluator::check_size(const Value& value) {
    if (value.depth() > limits_.n_value_levels) {
        fail(fmt::format("a value is nested more than {} levels deep", limits_.n_value_levels));
        return false;
    }
    if (value.cost() > 4 * limits_.n_bytes) {
        fail(fmt::format("a value grows beyond {} MiB", 4 * limits_.n_bytes >> 20));
        return false;
    }
    return true;
}

Value Evaluator::eval_node(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::constant:
            return expr.constant;
        case ExprKind::name:
            return eval_name(expr);
        case ExprKind::list:
            return eval_list(expr, Flavor::list);
        case ExprKind::tuple:
            return eval_list(expr, Flavor::tuple);
        case ExprKind::dict:
            return eval_dict(expr);
        case ExprKind::attribute:
            return attribute(eval(*expr.items[0]), expr.text);
        case ExprKind::subscript:
            return eval_subscript(expr);
        case ExprKind::slice:
            return fail("a slice may stand only between brackets");
        case ExprKind::call:
            return eval_call(expr, nullptr);
        case ExprKind::filter:
            return eval_filter(expr);
        case ExprKind::test:
            return eval_test(expr);
        case ExprKind::body:
            return body_;
        case ExprKind::negative:
        case ExprKind::positive:
            return eval_sign(expr);
        case ExprKind::logical_not:
            return Value::boolean(!truth(eval(*expr.items[0])));
        case ExprKind::logical_and: {
            Value left = eval(*expr.items[0]);
            return truth(left) ? eval(*expr.items[1]) : left;
        }
        case ExprKind::logical_or: {
            Value left = eval(*expr.items[0]);
            return truth(left) ? left : eval(*expr.items[1]);
        }
        case ExprKind::binary: {
            const Value left = eval(*expr.items[0]);
            const Value right = eval(*expr.items[1]);
            return failed_ ? Value() : binary(expr.operators[0], left, right);
        }
        case ExprKind::concat:
            return eval_concat(expr);
        case ExprKind::compare:
            return eval_compare(expr);
        case ExprKind::conditional: {
            if (truth(eval(*expr.items[1]))) return eval(*expr.items[0]);
            if (expr.items[2]) return eval(*expr.items[2]);
            return Value::undefined("an inline if without else gave no value");
        }
    }
    return {};
}

Value Evaluator::eval_name(const Expr& expr) {
    for (const Scope* scope = scope_; scope; scope = scope->parent) {
        for (const auto& [name, value] : scope->variables) {
            if (name == expr.name) return value;
        }
    }
    return Value::undefined(
        fmt::format("'{}' is undefined", program_.names[static_cast<std::size_t>(expr.name)]));
}

Value Evaluator::eval_list(const Expr& expr, Flavor flavor) {
    std::vector<Value> items;
    items.reserve(expr.items.size());
    for (const auto& item : expr.items) items.push_back(eval(*item));
    return Value::list(std::move(items), flavor);
}

Value Evaluator::eval_dict(const Expr& expr) {
    auto dict = std::make_shared<Dict>();
    for (std::size_t i = 0; i + 1 < expr.items.size(); i += 2) {
        const Value key = eval(*expr.items[i]);
        const Value value = eval(*expr.items[i + 1]);
        if (failed_ || !charge_bytes(key.cost())) return {};
        if (!hash(key)) return fail(fmt::format("a {} cannot be a key of a dict", type_name(key)));
        dict->set(key, value);
    }
    return Value::object(Kind::dict, std::move(dict));
}

Value Evaluator::eval_subscript(const Expr& expr) {
    const Value value = eval(*expr.items[0]);
    if (failed_) return {};
    if (expr.items[1]->kind == ExprKind::slice) return eval_slice(value, *expr.items[1]);
    const Value key = eval(*expr.items[1]);
    return failed_ ? Value() : item(value, key);
}

Value Evaluator::eval_slice(const Value& value, const Expr& slice) {
    Slice bounds;
    std::optional<std::int64_t>* const parts[] = {&bounds.start, &bounds.stop, &bounds.step};
    for (std::size_t i = 0; i < 3; ++i) {
        if (!slice.items[i]) continue;
        const Value part = eval(*slice.items[i]);
        if (failed_) return {};
        if (part.is_integral()) {
            *parts[i] = part.integral();
        } else if (!part.is(Kind::none)) {
            return fail(
                fmt::format("the bounds of a slice must be integers, found {}", type_name(part)));
        }
    }
    if (bounds.step == 0) return fail("the step of a slice cannot be zero");
    return slice_value(*this, value, bounds);
}

bool Evaluator::eval_arguments(const CallArguments& source, Arguments& arguments) {
    for (const auto& expr : source.positional) arguments.positional.push_back(eval(*expr));
    if (source.star) {
        const Value more = eval(*source.star);
        std::vector<Value> items;
        if (failed_ || !iterate(more, items)) return false;
        for (Value& value : items) arguments.positional.push_back(std::move(value));
    }
    for (const auto& [name, expr] : source.keyword)
        arguments.keyword.emplace_back(name, eval(*expr));
    if (source.double_star) {
        const Value more = eval(*source.double_star);
        if (failed_) return false;
        if (!more.is(Kind::dict)) {
            fail(fmt::format("** needs a dict, found {}", type_name(more)));
            return false;
        }
        if (!charge_items(more.dict().items().size())) return false;
        for (const auto& [key, value] : more.dict().items()) {
            if (!key.is(Kind::string)) {
                fail("** needs a dict whose keys are strings");
                return false;
            }
            arguments.keyword.emplace_back(key.view(), value);
        }
    }
    return !failed_;
}

Value Evaluator::eval_call(const Expr& expr, const Value* caller) {
    const Value callee = eval(*expr.items[0]);
    Arguments arguments;
    if (failed_ || !eval_arguments(expr.arguments, arguments)) return {};
    if (caller) arguments.keyword.emplace_back("caller", *caller);
    line_ = expr.line;
    return call(callee, arguments);
}

Value Evaluator::eval_filter(const Expr& expr) {
    const Value input = eval(*expr.items[0]);
    Arguments arguments;
    if (failed_ || !eval_arguments(expr.arguments, arguments)) return {};
    line_ = expr.line;
    if (!expr.filter) return fail(fmt::format("there is no filter '{}'", expr.text));
    return expr.filter->function(*this, input, arguments);
}

Value Evaluator::eval_test(const Expr& expr) {
    const Value input = eval(*expr.items[0]);
    Arguments arguments;
    if (failed_ || !eval_arguments(expr.arguments, arguments)) return {};
    line_ = expr.line;
    if (!expr.test) return fail(fmt::format("there is no test '{}'", expr.text));
    return Value::boolean(expr.test->function(*this, input, arguments));
}

Value Evaluator::call_filter(std::string_view name, const Value& input,
                             const Arguments& arguments) {
    const Filter* filter = find_filter(name);
    if (!filter) return fail(fmt::format("there is no filter '{}'", name));
    if (failed_ || !charge_items(1)) return {};
    Value value = filter->function(*this, input, arguments);
    return check_size(value) ? value : Value();
}

bool Evaluator::call_test(std::string_view name, const Value& input, const Arguments& arguments) {
    const Test* test = find_test(name);
    if (!test) {
        fail(fmt::format("there is no test '{}'", name));
        return false;
    }
    return !failed_ && charge_items(1) && test->function(*this, input, arguments);
}

Value Evaluator::eval_sign(const Expr& expr) {
    const Value value = eval(*expr.items[0]);
    if (failed_) return {};
    const bool negative = expr.kind == ExprKind::negative;
    if (value.is(Kind::real)) return Value::real(negative ? -value.number() : value.number());
    if (value.is_integral()) {
        if (!negative) return Value::integer(value.integral());
        return binary(Operator::subtract, Value::integer(0), value);
    }
    if (value.is(Kind::undefined)) return fail(std::string(value.undefined_message()));
    return fail(
        fmt::format("bad operand type for unary {}: '{}'", negative ? '-' : '+', type_name(value)));
}

Value Evaluator::eval_concat(const Expr& expr) {
    Text result;
    for (const auto& item : expr.items) {
        const Value value = eval(*item);
        if (failed_) return {};
        if (value.is(Kind::string)) {
            if (!room(result.size() + value.text().size())) return {};
            result.append(value.text());
        } else {
            result.append(print(value));
        }
    }
    return text(std::move(result));
}

Value Evaluator::eval_compare(const Expr& expr) {
    Value left = eval(*expr.items[0]);
    for (std::size_t i = 0; i < expr.operators.size(); ++i) {
        const Value right = eval(*expr.items[i + 1]);
        if (failed_) return {};
        if (!compare(expr.operators[i], left, right)) return Value::boolean(false);
        left = right;
    }
    return Value::boolean(!failed_);
}

}  // namespace hearth::jinja
