// Equality, order and hash of values by Python's rules.

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/text/jinja/value.h"

namespace hearth::jinja {
namespace {

bool tuple_like(Flavor flavor) { return flavor == Flavor::tuple || flavor == Flavor::group; }

/// Lists equal lists, tuples tuples; a view or generator is equal to itself only.
bool comparable(const List& a, const List& b) {
    if (tuple_like(a.flavor) && tuple_like(b.flavor)) return true;
    return a.flavor == Flavor::list && b.flavor == Flavor::list;
}

bool equal_lists(const List& a, const List& b) {
    if (&a == &b) return true;
    if (!comparable(a, b) || a.items.size() != b.items.size()) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (!equal(a.items[i], b.items[i])) return false;
    }
    return true;
}

bool equal_dicts(const Dict& a, const Dict& b) {
    if (&a == &b) return true;
    if (a.items().size() != b.items().size()) return false;
    for (const auto& [key, value] : a.items()) {
        const Value* other = b.find(key);
        if (!other || !equal(value, *other)) return false;
    }
    return true;
}

bool equal_numbers(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return a.integral() == b.integral();
    return a.number() == b.number();
}

template <typename T>
int three_way(const T& a, const T& b) {
    return a < b ? -1 : (b < a ? 1 : 0);
}

std::optional<int> order_lists(const List& a, const List& b) {
    if (!comparable(a, b)) return std::nullopt;
    const std::size_t n = std::min(a.items.size(), b.items.size());
    for (std::size_t i = 0; i < n; ++i) {
        if (!equal(a.items[i], b.items[i])) return order(a.items[i], b.items[i]);
    }
    return three_way(a.items.size(), b.items.size());
}

}  // namespace

bool equal(const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) return equal_numbers(a, b);
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::undefined:
        case Kind::none:
            return true;
        case Kind::string:
            return a.view() == b.view();
        case Kind::list:
            return equal_lists(a.list(), b.list());
        case Kind::dict:
            return equal_dicts(a.dict(), b.dict());
        case Kind::range:
            return a.range().start == b.range().start && a.range().stop == b.range().stop &&
                   a.range().step == b.range().step;
        default:
            return a.object() == b.object();
    }
}

std::optional<int> order(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return three_way(a.integral(), b.integral());
    if (a.is_number() && b.is_number()) return three_way(a.number(), b.number());
    if (a.is(Kind::string) && b.is(Kind::string)) return a.view().compare(b.view());
    if (a.is(Kind::list) && b.is(Kind::list)) return order_lists(a.list(), b.list());
    return std::nullopt;
}

std::optional<std::size_t> hash(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return 1;
        case Kind::none:
            return 2;
        case Kind::boolean:
        case Kind::integer:
            // Through double, so that 1 and 1.0 meet; neighbours above 2^53 share a bucket.
            return std::hash<double>{}(static_cast<double>(value.integral()));
        case Kind::real:
            return std::hash<double>{}(value.number());
        case Kind::string:
            return std::hash<std::string_view>{}(value.view());
        case Kind::list: {
            if (!tuple_like(value.list().flavor)) {
                if (value.is_list(Flavor::list)) return std::nullopt;
                return std::hash<const void*>{}(value.object());
            }
            std::size_t code = 3;
            for (const Value& item : value.list().items) {
                const auto part = hash(item);
                if (!part) return std::nullopt;
                code = code * 1000003U + *part;
            }
            return code;
        }
        case Kind::dict:
            return std::nullopt;
        case Kind::range:
            return std::hash<std::int64_t>{}(value.range().size());
        default:
            return std::hash<const void*>{}(value.object());
    }
}

}  // namespace hearth::jinja
