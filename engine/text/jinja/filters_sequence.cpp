// Filters on lists, dicts and other sequences.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/text/jinja/filter_tables.h"
#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

Value length_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "length", arguments, {});
    if (!bound.ok()) return {};
    const auto count = [](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
    switch (input.kind()) {
        case Kind::undefined:
            return Value::integer(0);
        case Kind::string:
            if (!evaluator.charge_characters(input.text().size())) return {};
            return count(count_characters(input.view()));
        case Kind::dict:
            return count(input.dict().items().size());
        case Kind::range:
            return Value::integer(input.range().size());
        case Kind::loop:
            return count(input.as<Loop>().items.size());
        case Kind::list:
            if (!input.is_list(Flavor::generator)) return count(input.list().items.size());
            break;
        default:
            break;
    }
    return evaluator.fail(fmt::format("a value of type {} has no length", type_name(input)));
}

Value first_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "first", arguments, {});
    if (!bound.ok()) return {};
    if (input.is_list(Flavor::generator) && input.list().taken < input.list().items.size()) {
        return input.list().items[input.list().taken++];
    }
    std::vector<Value> items;
    if (!evaluator.iterate(input, items)) return {};
    return items.empty() ? Value::undefined("the first item of nothing is undefined") : items[0];
}

Value last_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "last", arguments, {});
    std::vector<Value> items;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    return items.empty() ? Value::undefined("the last item of nothing is undefined") : items.back();
}

Value list_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "list", arguments, {});
    std::vector<Value> items;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    return Value::list(std::move(items));
}

Value items_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "items", arguments, {});
    if (!bound.ok()) return {};
    std::vector<Value> items;
    if (input.is(Kind::dict)) {
        if (!evaluator.charge_items(input.dict().items().size())) return {};
        for (const auto& [key, value] : input.dict().items()) {
            items.push_back(Value::list({key, value}, Flavor::tuple));
        }
    } else if (!input.is(Kind::undefined)) {
        return evaluator.fail(fmt::format("items needs a dict, found {}", type_name(input)));
    }
    return Value::list(std::move(items), Flavor::generator);
}

Value join_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "join", arguments, {"d", "attribute"});
    std::vector<Value> items;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    const Text separator = bound[0] ? evaluator.print(*bound[0]) : Text();
    Text result;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Text item = evaluator.print(attribute_path(evaluator, items[i], bound[1]));
        if (i) result.append(separator);
        result.append(item);
        if (!evaluator.fits(result.size()) || !evaluator.charge_bytes(separator.cost())) return {};
    }
    return evaluator.text(std::move(result));
}

Value reverse_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "reverse", arguments, {});
    std::vector<Value> items;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    std::reverse(items.begin(), items.end());
    if (!input.is(Kind::string)) return Value::list(std::move(items), Flavor::generator);
    Text result;
    for (const Value& item : items) result.append(item.text());
    return evaluator.text(std::move(result));
}

Value sort_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
    std::vector<Value> items, keys;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    for (const Value& item : items) {
        keys.push_back(
            comparison_key(attribute_path(evaluator, item, bound[2]), bound.flag(1, false)));
    }
    std::vector<Value> sorted;
    for (const std::size_t i : sorted_order(evaluator, keys, bound.flag(0, false))) {
        sorted.push_back(items[i]);
    }
    return Value::list(std::move(sorted));
}

Value dictsort_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
    const std::string_view by = bound.view(1, "key");
    if (!bound.ok()) return {};
    if (!input.is(Kind::dict)) {
        return evaluator.fail(fmt::format("dictsort needs a dict, found {}", type_name(input)));
    }
    if (by != "key" && by != "value")
        return evaluator.fail("dictsort: by must be 'key' or 'value'");
    const auto& entries = input.dict().items();
    std::vector<Value> keys;
    for (const auto& [key, value] : entries) {
        keys.push_back(comparison_key(by == "key" ? key : value, bound.flag(0, false)));
    }
    std::vector<Value> sorted;
    for (const std::size_t i : sorted_order(evaluator, keys, bound.flag(2, false))) {
        sorted.push_back(Value::list({entries[i].first, entries[i].second}, Flavor::tuple));
    }
    return Value::list(std::move(sorted));
}

Value unique_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "unique", arguments, {"case_sensitive", "attribute"});
    std::vector<Value> items, kept;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    Dict seen;
    for (const Value& item : items) {
        const Value key =
            comparison_key(attribute_path(evaluator, item, bound[1]), bound.flag(0, false));
        if (evaluator.failed() || !evaluator.charge_bytes(key.cost())) return {};
        if (!hash(key)) {
            return evaluator.fail(fmt::format("unique: a {} cannot be hashed", type_name(key)));
        }
        if (seen.find(key)) continue;
        seen.set(key, Value::none());
        kept.push_back(item);
    }
    return Value::list(std::move(kept), Flavor::generator);
}

Value groupby_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "groupby", arguments, {"attribute", "default", "case_sensitive"},
                      1);
    std::vector<Value> items, names, keys, groups, members;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    for (const Value& item : items) {
        names.push_back(attribute_path(evaluator, item, bound[0], bound[1]));
        keys.push_back(comparison_key(names.back(), bound.flag(2, false)));
    }
    const auto indices = sorted_order(evaluator, keys, false);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        members.push_back(items[indices[i]]);
        const bool last =
            i + 1 == indices.size() || !evaluator.same(keys[indices[i]], keys[indices[i + 1]]);
        if (!last) continue;
        const Value& name = names[indices[i + 1 - members.size()]];
        groups.push_back(Value::list({name, Value::list(std::move(members))}, Flavor::group));
        members.clear();
    }
    return Value::list(std::move(groups));
}

template <bool greatest>
Value extreme_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, greatest ? "max" : "min", arguments,
                      {"case_sensitive", "attribute"});
    std::vector<Value> items, keys;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    if (items.empty()) return Value::undefined("there is no extreme of an empty sequence");
    std::size_t best = 0;
    for (const Value& item : items) {
        keys.push_back(
            comparison_key(attribute_path(evaluator, item, bound[1]), bound.flag(0, false)));
        const bool better =
            keys.size() > 1 && evaluator.compare(greatest ? Operator::greater : Operator::less,
                                                 keys.back(), keys[best]);
        if (better) best = keys.size() - 1;
        if (evaluator.failed()) return {};
    }
    return items[best];
}

Value sum_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    const Bound bound(evaluator, "sum", arguments, {"attribute", "start"});
    std::vector<Value> items;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    Value total = bound[1] ? *bound[1] : Value::integer(0);
    if (total.is(Kind::string)) return evaluator.fail("sum adds no strings: use join");
    for (const Value& item : items) {
        total = evaluator.binary(Operator::add, total, attribute_path(evaluator, item, bound[0]));
    }
    return total;
}

Value batch_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "batch", arguments, {"linecount", "fill_with"}, 1);
    const std::int64_t size = bound.integer(0, 1);
    std::vector<Value> items, rows;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    if (size < 1) return evaluator.fail("batch: the size must be positive");
    for (std::size_t at = 0; at < items.size(); at += rows.back().list().items.size()) {
        const std::size_t n = std::min(static_cast<std::size_t>(size), items.size() - at);
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
        std::vector<Value> row(begin, begin + static_cast<std::ptrdiff_t>(n));
        if (bound.has(1) && row.size() < static_cast<std::size_t>(size)) {
            if (!evaluator.charge_items(static_cast<std::size_t>(size))) return {};
            row.resize(static_cast<std::size_t>(size), *bound[1]);
        }
        rows.push_back(Value::list(std::move(row)));
    }
    return Value::list(std::move(rows), Flavor::generator);
}

Value slice_filter(Evaluator& evaluator, const Value& input, const Arguments& arguments) {
    Bound bound(evaluator, "slice", arguments, {"slices", "fill_with"}, 1);
    const std::int64_t n_slices = bound.integer(0, 1);
    std::vector<Value> items, columns;
    if (!bound.ok() || !evaluator.iterate(input, items)) return {};
    if (n_slices < 1) return evaluator.fail("slice: the number of slices must be positive");
    const auto n = static_cast<std::size_t>(n_slices);
    if (!evaluator.charge_items(n)) return {};
    std::size_t at = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t take = items.size() / n + (i < items.size() % n ? 1 : 0);
        const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
        std::vector<Value> column(begin, begin + static_cast<std::ptrdiff_t>(take));
        if (bound.has(1) && i >= items.size() % n) column.push_back(*bound[1]);
        columns.push_back(Value::list(std::move(column)));
        at += take;
    }
    return Value::list(std::move(columns), Flavor::generator);
}

constexpr std::array<Filter, 17> kTable = {{
    {"batch", batch_filter},
    {"count", length_filter},
    {"dictsort", dictsort_filter},
    {"first", first_filter},
    {"groupby", groupby_filter},
    {"items", items_filter},
    {"join", join_filter},
    {"last", last_filter},
    {"length", length_filter},
    {"list", list_filter},
    {"max", extreme_filter<true>},
    {"min", extreme_filter<false>},
    {"reverse", reverse_filter},
    {"slice", slice_filter},
    {"sort", sort_filter},
    {"sum", sum_filter},
    {"unique", unique_filter},
}};

}  // namespace

std::span<const Filter> sequence_filters() { return kTable; }

}  // namespace hearth::jinja
