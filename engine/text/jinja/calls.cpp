// Calls: macros, recursive loops, methods and functions.

#include <algorithm>

#include <fmt/format.h>

#include "engine/text/jinja/arguments.h"
#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/functions.h"

namespace hearth::jinja {
namespace {

Value call_loop_method(Evaluator& evaluator, const Loop& loop, std::string_view name,
                       const Arguments& arguments) {
    if (name == "cycle") {
        if (arguments.positional.empty()) return evaluator.fail("loop.cycle needs an argument");
        return arguments.positional[loop.index0 % arguments.positional.size()];
    }
    bool changed = !loop.has_changed || loop.last_changed.size() != arguments.positional.size();
    for (std::size_t i = 0; !changed && i < loop.last_changed.size(); ++i) {
        changed = !evaluator.same(loop.last_changed[i], arguments.positional[i]);
    }
    // Only what cannot refer back to this loop is remembered by value.
    if (changed) {
        for (const Value& value : arguments.positional) {
            if (value.is(Kind::loop) || value.is(Kind::method) || value.depth() > 1) {
                return evaluator.fail("loop.changed takes plain values only");
            }
        }
        loop.last_changed = arguments.positional;
        loop.has_changed = true;
    }
    return Value::boolean(changed);
}

Value call_cycler(const Cycler& cycler, std::string_view name) {
    if (name == "reset") {
        cycler.position = 0;
        return Value::none();
    }
    const Value value = cycler.items[cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size();
    return value;
}

}  // namespace

Value Evaluator::call(const Value& callee, const Arguments& arguments) {
    const Level level(*this);
    if (failed_ || !charge_items(1 + arguments.positional.size() + arguments.keyword.size())) {
        return {};
    }
    switch (callee.kind()) {
        case Kind::undefined:
            return fail(std::string(callee.undefined_message()));
        case Kind::macro:
            return call_macro(callee.as<Macro>(), arguments);
        case Kind::loop:
            return call_loop(callee.as<Loop>(), arguments);
        case Kind::function:
            return callee.as<Function>().function(*this, arguments);
        case Kind::joiner: {
            const Joiner& joiner = callee.as<Joiner>();
            return std::exchange(joiner.used, true) ? text(joiner.separator) : Value::string("");
        }
        case Kind::method: {
            const Method& method = callee.as<Method>();
            if (method.self.is(Kind::cycler)) {
                return call_cycler(method.self.as<Cycler>(), method.name);
            }
            if (method.self.is(Kind::loop)) {
                return call_loop_method(*this, method.self.as<Loop>(), method.name, arguments);
            }
            return find_method(method.self, method.name)(*this, method.self, arguments);
        }
        default:
            return fail(fmt::format("a value of type {} cannot be called", type_name(callee)));
    }
}

/// Sets the parameters in the scope at hand.
bool Evaluator::bind_macro(const Stmt& stmt, const Arguments& arguments) {
    const Signature& signature = stmt.signature;
    std::vector<bool> used(arguments.keyword.size(), false);
    const auto keyword = [&](std::string_view name) -> const Value* {
        for (std::size_t i = 0; i < used.size(); ++i) {
            if (!used[i] && arguments.keyword[i].first == name) {
                used[i] = true;
                return &arguments.keyword[i].second;
            }
        }
        return nullptr;
    };
    for (std::size_t i = 0; i < signature.parameters.size() && !failed_; ++i) {
        const int name = signature.parameters[i];
        const std::string& spelling = signature.spellings[i];
        if (i < arguments.positional.size()) {
            set_variable(name, arguments.positional[i]);
        } else if (const Value* value = keyword(spelling)) {
            set_variable(name, *value);
        } else if (signature.defaults[i]) {
            set_variable(name, eval(*signature.defaults[i]));
        } else {
            set_variable(
                name, Value::undefined(fmt::format("parameter '{}' was not provided", spelling)));
        }
    }
    if (signature.uses_caller) {
        const Value* caller = keyword("caller");
        set_variable(kNameCaller, caller ? *caller : Value::undefined("No caller defined"));
    }
    auto extra = std::make_shared<Dict>();
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i]) continue;
        if (!signature.uses_kwargs) {
            fail(fmt::format("macro '{}' takes no argument '{}'", signature.name,
                             arguments.keyword[i].first));
            return false;
        }
        extra->set(Value::string(arguments.keyword[i].first), arguments.keyword[i].second);
    }
    if (signature.uses_kwargs)
        set_variable(kNameKwargs, Value::object(Kind::dict, std::move(extra)));
    const std::size_t n = std::min(signature.parameters.size(), arguments.positional.size());
    std::vector<Value> rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(n),
                            arguments.positional.end());
    if (!rest.empty() && !signature.uses_varargs) {
        fail(fmt::format("macro '{}' takes not more than {} arguments", signature.name,
                         signature.parameters.size()));
        return false;
    }
    if (signature.uses_varargs) {
        set_variable(kNameVarargs, Value::list(std::move(rest), Flavor::tuple));
    }
    return !failed_;
}

Value Evaluator::call_macro(const Macro& macro, const Arguments& arguments) {
    Text result;
    Text* const outer = std::exchange(out_, &result);
    {
        const ScopeGuard scope(*this, macro.scope);
        if (bind_macro(*macro.stmt, arguments)) run_block(macro.stmt->blocks[0]);
    }
    out_ = outer;
    return failed_ ? Value() : text(std::move(result));
}

Value Evaluator::call_loop(const Loop& loop, const Arguments& arguments) {
    if (!loop.stmt->recursive)
        return fail("the loop is not marked 'recursive': it cannot be called");
    const Bound bound(*this, "loop()", arguments, {"iterable"}, 1);
    if (!bound.ok()) return {};
    Text result;
    Text* const outer = std::exchange(out_, &result);
    Scope* const scope = std::exchange(scope_, loop.scope);
    run_loop(*loop.stmt, *bound[0], loop.depth0 + 1);
    scope_ = scope;
    out_ = outer;
    return failed_ ? Value() : text(std::move(result));
}

}  // namespace hearth::jinja
