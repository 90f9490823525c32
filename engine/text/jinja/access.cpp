// Attributes, items, slices, iteration and membership: what Python's object model does here.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/text/jinja/evaluator.h"
#include "engine/text/jinja/functions.h"
#include "engine/text/jinja/slice.h"
#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

Value bound_method(const Value& self, std::string_view name) {
    auto method = std::make_shared<Method>();
    method->self = self;
    method->name = name;
    method->depth = self.depth() + 1;
    method->cost = self.cost() + 32;
    return Value::object(Kind::method, std::move(method));
}

Value loop_attribute(const Value& self, std::string_view name) {
    const Loop& loop = self.as<Loop>();
    const auto n = static_cast<std::int64_t>(loop.items.size());
    const auto i = static_cast<std::int64_t>(loop.index0);
    if (name == "index") return Value::integer(i + 1);
    if (name == "index0") return Value::integer(i);
    if (name == "revindex") return Value::integer(n - i);
    if (name == "revindex0") return Value::integer(n - i - 1);
    if (name == "first") return Value::boolean(i == 0);
    if (name == "last") return Value::boolean(i + 1 == n);
    if (name == "length") return Value::integer(n);
    if (name == "depth") return Value::integer(loop.depth0 + 1);
    if (name == "depth0") return Value::integer(loop.depth0);
    if (name == "previtem") {
        return i > 0 ? loop.items[loop.index0 - 1] : Value::undefined("there is no previous item");
    }
    if (name == "nextitem") {
        return i + 1 < n ? loop.items[loop.index0 + 1] : Value::undefined("there is no next item");
    }
    if (name == "cycle" || name == "changed") return bound_method(self, name);
    return Value::undefined(fmt::format("the loop has no attribute '{}'", name));
}

Value macro_attribute(const Macro& macro, std::string_view name) {
    const Signature& signature = macro.stmt->signature;
    if (name == "name") return Value::string(signature.name);
    if (name == "arguments") {
        std::vector<Value> names;
        for (const auto& spelling : signature.spellings) names.push_back(Value::string(spelling));
        return Value::list(std::move(names), Flavor::tuple);
    }
    if (name == "caller") return Value::boolean(signature.uses_caller);
    if (name == "catch_varargs") return Value::boolean(signature.uses_varargs);
    if (name == "catch_kwargs") return Value::boolean(signature.uses_kwargs);
    return Value::undefined(fmt::format("a macro has no attribute '{}'", name));
}

Value missing(const Value& value, std::string_view name) {
    return Value::undefined(
        fmt::format("'{} object' has no attribute '{}'", type_name(value), name));
}

/// Attributes that are not items; nothing where the type has none of that name.
std::optional<Value> own_attribute(const Value& value, std::string_view name) {
    if (find_method(value, name)) return bound_method(value, name);
    if (is_mutating_method(value, name)) {
        return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe",
                                            name, type_name(value)));
    }
    switch (value.kind()) {
        case Kind::loop:
            return loop_attribute(value, name);
        case Kind::macro:
            return macro_attribute(value.as<Macro>(), name);
        case Kind::cycler: {
            const Cycler& cycler = value.as<Cycler>();
            if (name == "current") return cycler.items[cycler.position];
            if (name == "next" || name == "reset") return bound_method(value, name);
            return std::nullopt;
        }
        case Kind::list:
            if (!value.is_list(Flavor::group)) return std::nullopt;
            if (name == "grouper") return value.list().items[0];
            if (name == "list") return value.list().items[1];
            return std::nullopt;
        case Kind::name_space: {
            const Value* found = value.as<Namespace>().values.find(name);
            return found ? std::optional<Value>(*found) : std::nullopt;
        }
        case Kind::range:
            if (name == "start") return Value::integer(value.range().start);
            if (name == "stop") return Value::integer(value.range().stop);
            if (name == "step") return Value::integer(value.range().step);
            return std::nullopt;
        default:
            return std::nullopt;
    }
}

/// The place that index `i` of `n` means, negative ones from the end.
std::optional<std::size_t> position(std::int64_t i, std::size_t n) {
    const auto count = static_cast<std::int64_t>(n);
    if (i < 0) i += count;
    if (i < 0 || i >= count) return std::nullopt;
    return static_cast<std::size_t>(i);
}

Value character(Evaluator& evaluator, const Text& text, std::int64_t index) {
    if (!evaluator.charge_bytes(text.size())) return {};
    const auto offsets = character_offsets(text.view());
    const auto at = position(index, offsets.size() - 1);
    if (!at) return Value::undefined("the index lies beyond the string");
    return Value::string(text.slice(offsets[*at], offsets[*at + 1]));
}

std::optional<Value> indexed(Evaluator& evaluator, const Value& value, const Value& key) {
    if (value.is(Kind::dict)) {
        if (!evaluator.charge_bytes(key.cost())) return Value();
        const Value* found = value.dict().find(key);
        return found ? std::optional<Value>(*found) : std::nullopt;
    }
    if (!key.is_integral()) return std::nullopt;
    if (value.is(Kind::string)) return character(evaluator, value.text(), key.integral());
    if (value.is(Kind::range)) {
        const auto at = position(key.integral(), static_cast<std::size_t>(value.range().size()));
        if (!at) return std::nullopt;
        return Value::integer(value.range().start +
                              static_cast<std::int64_t>(*at) * value.range().step);
    }
    const bool sequence =
        value.is_list(Flavor::list) || value.is_list(Flavor::tuple) || value.is_list(Flavor::group);
    if (!sequence) return std::nullopt;
    const auto at = position(key.integral(), value.list().items.size());
    return at ? std::optional<Value>(value.list().items[*at]) : std::nullopt;
}

/// Indices that a slice takes out of `n` items, as Python's slice.indices does.
std::vector<std::size_t> slice_indices(const Slice& slice, std::size_t n_items) {
    const auto n = static_cast<std::int64_t>(n_items);
    const std::int64_t step = slice.step.value_or(1);
    const std::int64_t low = step > 0 ? 0 : -1;
    const std::int64_t high = step > 0 ? n : n - 1;
    const auto clamp = [&](std::optional<std::int64_t> bound, std::int64_t fallback) {
        if (!bound) return fallback;
        return std::clamp(*bound < 0 ? std::max(*bound, -n - 1) + n : *bound, low, high);
    };
    const std::int64_t start = clamp(slice.start, step > 0 ? low : high);
    const std::int64_t stop = clamp(slice.stop, step > 0 ? high : low);
    std::vector<std::size_t> indices;
    for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
        indices.push_back(static_cast<std::size_t>(i));
        const bool last = step > 0 ? step >= stop - i : step <= stop - i;
        if (last) break;
        i += step;
    }
    return indices;
}

Value slice_text(Evaluator& evaluator, const Text& text, const Slice& slice) {
    if (!evaluator.charge_bytes(16 * text.size())) return {};
    const auto offsets = character_offsets(text.view());
    Text result;
    for (const std::size_t i : slice_indices(slice, offsets.size() - 1)) {
        result.append(text, offsets[i], offsets[i + 1]);
    }
    return evaluator.text(std::move(result));
}

}  // namespace

Value slice_value(Evaluator& evaluator, const Value& value, const Slice& slice) {
    if (value.is(Kind::string)) return slice_text(evaluator, value.text(), slice);
    const bool sequence = value.is_list(Flavor::list) || value.is_list(Flavor::tuple) ||
                          value.is_list(Flavor::group) || value.is(Kind::range);
    if (!sequence) {
        if (value.is(Kind::undefined))
            return evaluator.fail(std::string(value.undefined_message()));
        return evaluator.fail(fmt::format("a value of type {} cannot be sliced", type_name(value)));
    }
    std::vector<Value> items;
    if (!evaluator.iterate(value, items)) return {};
    std::vector<Value> result;
    for (const std::size_t i : slice_indices(slice, items.size())) result.push_back(items[i]);
    return Value::list(std::move(result),
                       value.is_list(Flavor::tuple) || value.is_list(Flavor::group) ? Flavor::tuple
                                                                                    : Flavor::list);
}

Value Evaluator::attribute(const Value& value, std::string_view name) {
    if (failed_) return {};
    if (value.is(Kind::undefined)) return fail(std::string(value.undefined_message()));
    if (auto found = own_attribute(value, name)) return std::move(*found);
    if (value.is(Kind::dict)) {
        if (const Value* found = value.dict().find(name)) return *found;
    }
    return missing(value, name);
}

Value Evaluator::item(const Value& value, const Value& key) {
    if (failed_) return {};
    if (value.is(Kind::undefined)) return fail(std::string(value.undefined_message()));
    if (auto found = indexed(*this, value, key)) return std::move(*found);
    if (key.is(Kind::string)) {
        if (auto found = own_attribute(value, key.view())) return std::move(*found);
        return missing(value, key.view());
    }
    return Value::undefined(fmt::format("'{} object' has no such element of type {}",
                                        type_name(value), type_name(key)));
}

bool Evaluator::iterate(const Value& value, std::vector<Value>& items) {
    switch (value.kind()) {
        case Kind::undefined:
            return !failed_;
        case Kind::list: {
            const List& list = value.list();
            const std::size_t begin = std::min(list.taken, list.items.size());
            if (!charge_items(list.items.size() - begin)) return false;
            items.assign(list.items.begin() + static_cast<std::ptrdiff_t>(begin), list.items.end());
            if (list.flavor == Flavor::generator) list.taken = list.items.size();
            return true;
        }
        case Kind::dict:
            if (!charge_items(value.dict().items().size())) return false;
            for (const auto& entry : value.dict().items()) items.push_back(entry.first);
            return true;
        case Kind::range: {
            const auto n = static_cast<std::size_t>(value.range().size());
            if (!charge_items(n)) return false;
            for (std::size_t i = 0; i < n; ++i) {
                items.push_back(Value::integer(value.range().start +
                                               static_cast<std::int64_t>(i) * value.range().step));
            }
            return true;
        }
        case Kind::string: {
            const auto offsets = character_offsets(value.view());
            if (!charge_items(offsets.size())) return false;
            for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
                items.push_back(Value::string(value.text().slice(offsets[i], offsets[i + 1])));
            }
            return true;
        }
        default:
            fail(fmt::format("a value of type {} cannot be iterated", type_name(value)));
            return false;
    }
}

bool Evaluator::same(const Value& a, const Value& b) {
    return charge_bytes(std::min(a.cost(), b.cost())) && equal(a, b);
}

bool Evaluator::contains(const Value& container, const Value& value) {
    if (container.is(Kind::string)) {
        if (!value.is(Kind::string)) {
            fail(fmt::format("'in <string>' needs a string on the left, found {}",
                             type_name(value)));
            return false;
        }
        return charge_bytes(container.cost()) &&
               container.view().find(value.view()) != std::string_view::npos;
    }
    if (container.is(Kind::dict)) {
        if (!charge_bytes(value.cost())) return false;
        if (!hash(value)) fail(fmt::format("a {} cannot be a key of a dict", type_name(value)));
        return !failed_ && container.dict().find(value) != nullptr;
    }
    if (!container.is(Kind::undefined) && !container.is(Kind::list) && !container.is(Kind::range)) {
        fail(fmt::format("a value of type {} contains nothing: 'in' needs a list, dict or string",
                         type_name(container)));
        return false;
    }
    std::vector<Value> items;
    if (!iterate(container, items)) return false;
    for (const Value& item : items) {
        if (same(item, value)) return true;
        if (failed_) return false;
    }
    return false;
}

}  // namespace hearth::jinja
