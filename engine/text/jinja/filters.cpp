#include "engine/text/jinja/filters.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "engine/text/jinja/filter_tables.h"
#include "engine/text/jinja/text_ops.h"

namespace hearth::jinja {

const Filter* find_filter(std::string_view name) {
    for (const auto table :
         {text_filters(), value_filters(), sequence_filters(), selection_filters()}) {
        for (const Filter& filter : table) {
            if (filter.name == name) return &filter;
        }
    }
    return nullptr;
}

Value attribute_path(Evaluator& evaluator, const Value& value, const Value* attribute,
                     const Value* fallback) {
    if (!attribute || attribute->is(Kind::none)) return value;
    Value result = value;
    if (!attribute->is(Kind::string)) {
        result = evaluator.item(value, *attribute);
    } else {
        std::string_view path = attribute->view();
        while (!evaluator.failed()) {
            const std::string_view part = path.substr(0, path.find('.'));
            std::int64_t index = 0;
            const char* const end = part.data() + part.size();
            const auto number = std::from_chars(part.data(), end, index);
            const bool is_index = !part.empty() && number.ec == std::errc{} && number.ptr == end;
            result = evaluator.item(
                result, is_index ? Value::integer(index) : Value::string(std::string(part)));
            if (part.size() == path.size() || !evaluator.charge_items(1)) break;
            path.remove_prefix(part.size() + 1);
        }
    }
    return fallback && result.is(Kind::undefined) ? *fallback : result;
}

Value comparison_key(const Value& value, bool case_sensitive) {
    if (case_sensitive || !value.is(Kind::string)) return value;
    return Value::string(lower(value.text()));
}

std::vector<std::size_t> sorted_order(Evaluator& evaluator, const std::vector<Value>& keys,
                                      bool descending) {
    std::vector<std::size_t> indices(keys.size());
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    std::size_t cost = 0;
    for (const Value& key : keys) cost += key.cost();
    if (!evaluator.charge_bytes(16 * cost)) return {};
    std::stable_sort(indices.begin(), indices.end(), [&](std::size_t a, std::size_t b) {
        if (evaluator.failed()) return false;
        const auto result = order(keys[a], keys[b]);
        if (!result) {
            evaluator.fail(fmt::format("values of types {} and {} have no order",
                                       type_name(keys[a]), type_name(keys[b])));
            return false;
        }
        return descending ? *result > 0 : *result < 0;
    });
    if (evaluator.failed()) return {};
    return indices;
}

}  // namespace hearth::jinja
