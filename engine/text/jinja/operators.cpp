// Arithmetic and comparison by Python's rules.

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/functions.h"

namespace hearth::jinja {
namespace {

std::string_view sign_of(Operator op) {
    switch (op) {
        case Operator::add:
            return "+";
        case Operator::subtract:
            return "-";
        case Operator::multiply:
            return "*";
        case Operator::divide:
            return "/";
        case Operator::floor_divide:
            return "//";
        case Operator::modulo:
            return "%";
        case Operator::power:
            return "**";
        case Operator::less:
            return "<";
        case Operator::less_equal:
            return "<=";
        case Operator::greater:
            return ">";
        case Operator::greater_equal:
            return ">=";
        default:
            return "==";
    }
}

bool is_sequence(const Value& value) {
    return value.is_list(Flavor::list) || value.is_list(Flavor::tuple) ||
           value.is_list(Flavor::group);
}

std::optional<std::int64_t> integer_power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
    }
    return result;
}

}  // namespace

Value Evaluator::operand_error(std::string_view sign, const Value& a, const Value& b) {
    for (const Value* value : {&a, &b}) {
        if (value->is(Kind::undefined)) return fail(std::string(value->undefined_message()));
    }
    return fail(fmt::format("unsupported operand types for {}: '{}' and '{}'", sign, type_name(a),
                            type_name(b)));
}

Value Evaluator::binary(Operator op, const Value& a, const Value& b) {
    if (failed_) return {};
    if (op == Operator::modulo && a.is(Kind::string)) return format_percent(*this, a.text(), b);
    if (a.is_number() && b.is_number()) return arithmetic(op, a, b);
    if (op == Operator::add) return add(a, b);
    if (op == Operator::multiply) return multiply(a, b);
    return operand_error(sign_of(op), a, b);
}

Value Evaluator::add(const Value& a, const Value& b) {
    if (a.is(Kind::string) && b.is(Kind::string)) {
        if (!room(a.text().size() + b.text().size())) return {};
        Text result = a.text();
        result.append(b.text());
        return text(std::move(result));
    }
    const bool tuples = !a.is_list(Flavor::list) && !b.is_list(Flavor::list);
    const bool lists = a.is_list(Flavor::list) && b.is_list(Flavor::list);
    if (!is_sequence(a) || !is_sequence(b) || !(tuples || lists)) return operand_error("+", a, b);
    if (!charge_items(a.list().items.size() + b.list().items.size())) return {};
    std::vector<Value> items = a.list().items;
    items.insert(items.end(), b.list().items.begin(), b.list().items.end());
    return Value::list(std::move(items), lists ? Flavor::list : Flavor::tuple);
}

Value Evaluator::multiply(const Value& a, const Value& b) {
    if (b.is_integral()) return repeat(a, b.integral());
    if (a.is_integral()) return repeat(b, a.integral());
    return operand_error("*", a, b);
}

Value Evaluator::repeat(const Value& value, std::int64_t times) {
    const auto n = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
    const auto product = [n](std::size_t size) {
        std::size_t result = 0;
        return __builtin_mul_overflow(size, n, &result) ? std::numeric_limits<std::size_t>::max()
                                                        : result;
    };
    if (value.is(Kind::string)) {
        if (value.text().empty()) return value;
        if (!room(product(value.text().cost()))) return {};
        Text result;
        for (std::size_t i = 0; i < n; ++i) result.append(value.text());
        return Value::string(std::move(result));
    }
    if (!is_sequence(value)) return operand_error("*", value, Value::integer(times));
    const auto& items = value.list().items;
    if (items.empty()) return value;
    if (!charge_items(product(items.size()))) return {};
    std::vector<Value> result;
    for (std::size_t i = 0; i < n; ++i) result.insert(result.end(), items.begin(), items.end());
    return Value::list(std::move(result),
                       value.is_list(Flavor::list) ? Flavor::list : Flavor::tuple);
}

Value Evaluator::arithmetic(Operator op, const Value& a, const Value& b) {
    const bool integral = a.is_integral() && b.is_integral();
    const bool fraction =
        op == Operator::divide || (op == Operator::power && integral && b.integral() < 0);
    if (integral && !fraction) return integer_arithmetic(op, a.integral(), b.integral());
    return real_arithmetic(op, a.number(), b.number());
}

Value Evaluator::integer_arithmetic(Operator op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool overflow = false;
    switch (op) {
        case Operator::add:
            overflow = __builtin_add_overflow(a, b, &result);
            break;
        case Operator::subtract:
            overflow = __builtin_sub_overflow(a, b, &result);
            break;
        case Operator::multiply:
            overflow = __builtin_mul_overflow(a, b, &result);
            break;
        case Operator::power: {
            const auto power = integer_power(a, b);
            overflow = !power;
            result = power.value_or(0);
            break;
        }
        default: {
            if (b == 0) return fail("integer division or modulo by zero");
            if (b == -1) {  // the smallest integer has no positive twin
                overflow = op == Operator::floor_divide && __builtin_sub_overflow(0, a, &result);
                break;
            }
            const bool round_down = a % b != 0 && (a % b < 0) != (b < 0);
            result = op == Operator::floor_divide ? a / b - (round_down ? 1 : 0)
                                                  : a % b + (round_down ? b : 0);
        }
    }
    if (overflow) return fail("an integer does not fit 64 bits");
    return Value::integer(result);
}

Value Evaluator::real_arithmetic(Operator op, double a, double b) {
    switch (op) {
        case Operator::add:
            return Value::real(a + b);
        case Operator::subtract:
            return Value::real(a - b);
        case Operator::multiply:
            return Value::real(a * b);
        case Operator::power: {
            if (a == 0 && b < 0) return fail("0.0 cannot be raised to a negative power");
            const double result = std::pow(a, b);
            if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) {
                return fail("a power of a negative number is not real");
            }
            return Value::real(result);
        }
        default:
            break;
    }
    if (b == 0) return fail("division by zero");
    if (op == Operator::divide) return Value::real(a / b);
    double rest = std::fmod(a, b);
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
    if (op == Operator::modulo) return Value::real(rest == 0 ? std::copysign(0.0, b) : rest);
    return Value::real(std::floor((a - rest) / b + 0.5));
}

bool Evaluator::compare(Operator op, const Value& a, const Value& b) {
    if (failed_) return false;
    switch (op) {
        case Operator::equal:
            return same(a, b);
        case Operator::not_equal:
            return !same(a, b);
        case Operator::in:
            return contains(b, a);
        case Operator::not_in:
            return !contains(b, a);
        default:
            break;
    }
    if (!charge_bytes(std::min(a.cost(), b.cost()))) return false;
    const bool nan = (a.is(Kind::real) && std::isnan(a.number())) ||
                     (b.is(Kind::real) && std::isnan(b.number()));
    const auto result = order(a, b);
    if (!result) {
        operand_error(sign_of(op), a, b);
        return false;
    }
    if (nan) return false;
    if (op == Operator::less) return *result < 0;
    if (op == Operator::less_equal) return *result <= 0;
    if (op == Operator::greater) return *result > 0;
    return *result >= 0;
}

}  // namespace hearth::jinja
