#include "engine/text/jinja/functions.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "engine/text/jinja/arguments.h"
#include "engine/text/jinja/clock.h"
#include "engine/text/jinja/evaluator.h"

namespace hearth::jinja {
namespace {

/// Jinja's sandbox refuses longer ranges as well.
constexpr std::int64_t kMaxRange = 100'000;

Value range_function(Evaluator& evaluator, const Arguments& arguments) {
    Bound bound(evaluator, "range()", arguments, {"start", "stop", "step"}, 1);
    const std::int64_t first = bound.integer(0, 0);
    const std::int64_t second = bound.integer(1, 0);
    const std::int64_t step = bound.integer(2, 1);
    if (!bound.ok()) return {};
    for (std::size_t i = 0; i < 3; ++i) {
        if (bound[i] && !bound[i]->is_integral()) return evaluator.fail("range() needs integers");
    }
    if (step == 0) return evaluator.fail("range(): the step is zero");
    auto range = std::make_shared<Range>();
    range->start = bound[1] ? first : 0;
    range->stop = bound[1] ? second : first;
    range->step = step;
    // Bounds this small keep the arithmetic of the range within 64 bits.
    constexpr std::int64_t kFar = std::int64_t{1} << 60;
    const auto far = [](std::int64_t i) { return i < -kFar || i > kFar; };
    if (far(range->start) || far(range->stop) || far(step) || range->size() > kMaxRange) {
        return evaluator.fail(fmt::format("range() of more than {} numbers", kMaxRange));
    }
    range->cost = static_cast<std::size_t>(range->size()) * 8 + 32;
    return Value::object(Kind::range, std::move(range));
}

/// dict(mapping or pairs, key=value …) into `dict`.
bool fill_dict(Evaluator& evaluator, const Arguments& arguments, Dict& dict) {
    const auto set = [&](const Value& key, const Value& value) {
        if (!hash(key)) {
            evaluator.fail(fmt::format("a {} cannot be a key of a dict", type_name(key)));
            return false;
        }
        dict.set(key, value);
        return evaluator.charge_items(1);
    };
    if (arguments.positional.size() > 1) {
        evaluator.fail("dict() takes at most one argument without name");
        return false;
    }
    for (const Value& source : arguments.positional) {
        if (source.is(Kind::dict)) {
            for (const auto& [key, value] : source.dict().items()) {
                if (!set(key, value)) return false;
            }
            continue;
        }
        std::vector<Value> pairs;
        if (!evaluator.iterate(source, pairs)) return false;
        for (const Value& pair : pairs) {
            std::vector<Value> parts;
            if (!evaluator.iterate(pair, parts)) return false;
            if (parts.size() != 2) {
                evaluator.fail("dict() needs pairs of key and value");
                return false;
            }
            if (!set(parts[0], parts[1])) return false;
        }
    }
    for (const auto& [name, value] : arguments.keyword) {
        if (!set(Value::string(name), value)) return false;
    }
    return true;
}

Value dict_function(Evaluator& evaluator, const Arguments& arguments) {
    auto dict = std::make_shared<Dict>();
    if (!fill_dict(evaluator, arguments, *dict)) return {};
    return Value::object(Kind::dict, std::move(dict));
}

Value namespace_function(Evaluator& evaluator, const Arguments& arguments) {
    const auto space = evaluator.make_namespace();
    if (!fill_dict(evaluator, arguments, space->values)) return {};
    return Value::object(Kind::name_space, space);
}

Value cycler_function(Evaluator& evaluator, const Arguments& arguments) {
    if (arguments.positional.empty()) return evaluator.fail("cycler() needs at least one value");
    auto cycler = std::make_shared<Cycler>();
    for (const Value& item : arguments.positional) {
        cycler->depth = std::max(cycler->depth, item.depth() + 1);
        cycler->cost += item.cost();
    }
    cycler->items = arguments.positional;
    return Value::object(Kind::cycler, std::move(cycler));
}

Value joiner_function(Evaluator& evaluator, const Arguments& arguments) {
    const Bound bound(evaluator, "joiner()", arguments, {"sep"});
    if (!bound.ok()) return {};
    auto joiner = std::make_shared<Joiner>();
    joiner->separator = bound[0] ? evaluator.print(*bound[0]) : Text(", ");
    return Value::object(Kind::joiner, std::move(joiner));
}

Value raise_function(Evaluator& evaluator, const Arguments& arguments) {
    const Bound bound(evaluator, "raise_exception()", arguments, {"message"}, 1);
    if (!bound.ok()) return {};
    const Text message = evaluator.print(*bound[0]);
    return evaluator.fail(std::string(message.view()), Failure::Kind::raised);
}

Value strftime_function(Evaluator& evaluator, const Arguments& arguments) {
    Bound bound(evaluator, "strftime_now()", arguments, {"format"}, 1);
    const std::string_view format = bound.view(0, "");
    if (!bound.ok() || !evaluator.room(32 * format.size())) return {};
    return Value::string(format_time(format, evaluator.now()), bound.blend(kLiteral));
}

constexpr std::array<std::pair<std::string_view, FunctionPointer>, 7> kFunctions = {{
    {"range", range_function},
    {"dict", dict_function},
    {"namespace", namespace_function},
    {"cycler", cycler_function},
    {"joiner", joiner_function},
    {"raise_exception", raise_function},
    {"strftime_now", strftime_function},
}};

template <Flavor flavor>
Value dict_view(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "a method of dict", arguments, {});
    if (!bound.ok() || !evaluator.charge_items(self.dict().items().size())) return {};
    std::vector<Value> items;
    for (const auto& [key, value] : self.dict().items()) {
        if (flavor == Flavor::keys) items.push_back(key);
        if (flavor == Flavor::values) items.push_back(value);
        if (flavor == Flavor::items) items.push_back(Value::list({key, value}, Flavor::tuple));
    }
    return Value::list(std::move(items), flavor);
}

Value dict_get(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "get()", arguments, {"key", "default"}, 1);
    if (!bound.ok() || !evaluator.charge_bytes(bound[0]->cost())) return {};
    if (!hash(*bound[0])) {
        return evaluator.fail(fmt::format("a {} cannot be a key of a dict", type_name(*bound[0])));
    }
    if (const Value* found = self.dict().find(*bound[0])) return *found;
    return bound[1] ? *bound[1] : Value::none();
}

Value copy_method(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "copy()", arguments, {});
    return bound.ok() ? self : Value();  // values never change: the copy is the thing itself
}

Value list_count(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "count()", arguments, {"value"}, 1);
    if (!bound.ok()) return {};
    std::int64_t n = 0;
    for (const Value& item : self.list().items) {
        if (!evaluator.charge_items(1)) return {};
        n += evaluator.same(item, *bound[0]) ? 1 : 0;
    }
    return Value::integer(n);
}

Value list_index(Evaluator& evaluator, const Value& self, const Arguments& arguments) {
    const Bound bound(evaluator, "index()", arguments, {"value"}, 1);
    if (!bound.ok()) return {};
    const auto& items = self.list().items;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (!evaluator.charge_items(1)) return {};
        if (evaluator.same(items[i], *bound[0]))
            return Value::integer(static_cast<std::int64_t>(i));
    }
    return evaluator.fail("index(): the value is not in the list");
}

bool is_plain_list(const Value& value) {
    return value.is_list(Flavor::list) || value.is_list(Flavor::tuple) ||
           value.is_list(Flavor::group);
}

}  // namespace

Value find_function(std::string_view name) {
    for (const auto& [known, function] : kFunctions) {
        if (known != name) continue;
        auto object = std::make_shared<Function>();
        object->function = function;
        return Value::object(Kind::function, std::move(object));
    }
    return {};
}

MethodPointer find_method(const Value& self, std::string_view name) {
    if (self.is(Kind::string)) return find_string_method(name);
    if (self.is(Kind::dict)) {
        if (name == "items") return dict_view<Flavor::items>;
        if (name == "keys") return dict_view<Flavor::keys>;
        if (name == "values") return dict_view<Flavor::values>;
        if (name == "get") return dict_get;
        if (name == "copy") return copy_method;
    }
    if (is_plain_list(self)) {
        if (name == "count") return list_count;
        if (name == "index") return list_index;
        if (name == "copy" && self.is_list(Flavor::list)) return copy_method;
    }
    return nullptr;
}

bool is_mutating_method(const Value& self, std::string_view name) {
    const auto one_of = [name](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (self.is(Kind::dict)) return one_of({"clear", "pop", "popitem", "setdefault", "update"});
    return self.is_list(Flavor::list) &&
           one_of({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"});
}

}  // namespace hearth::jinja
