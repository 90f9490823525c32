#pragma once
// Global functions of a template (range, namespace, raise_exception …) and the methods of strings,
// lists and dicts.

#include <string_view>

#include "engine/text/jinja/value.h"

namespace hearth::jinja {

class Evaluator;
struct Arguments;

using FunctionPointer = Value (*)(Evaluator&, const Arguments&);
struct Function final : Object {
    FunctionPointer function = nullptr;
};

/// The global function of that name, or undefined.
Value find_function(std::string_view name);

using MethodPointer = Value (*)(Evaluator&, const Value& self, const Arguments&);
/// Null where the value's type has no such method.
MethodPointer find_method(const Value& self, std::string_view name);
/// Methods that change their object: refused, as in Jinja's immutable sandbox.
bool is_mutating_method(const Value& self, std::string_view name);

/// Methods of str (string_methods.cpp).
MethodPointer find_string_method(std::string_view name);

/// `value` % arguments, printf style; str.format.
Value format_percent(Evaluator& evaluator, const Text& format, const Value& values);
Value format_braces(Evaluator& evaluator, const Text& format, const Arguments& arguments);

}  // namespace hearth::jinja
