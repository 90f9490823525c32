#include "engine/text/jinja/value.h"

#include <algorithm>
#include <limits>

#include "engine/base/check.h"

namespace hearth::jinja {
namespace {

struct UndefinedInfo final : Object {
    std::string message;
};

std::size_t saturating_add(std::size_t a, std::size_t b) {
    const std::size_t limit = std::numeric_limits<std::size_t>::max() / 2;
    return a > limit - std::min(b, limit) ? limit : a + b;
}

void account(Object& owner, const Value& part) {
    owner.depth = std::max(owner.depth, part.depth() + 1);
    owner.cost = saturating_add(owner.cost, saturating_add(part.cost(), 16));
}

}  // namespace

Value Value::undefined(std::string message) {
    auto info = std::make_shared<UndefinedInfo>();
    info->message = std::move(message);
    return object(Kind::undefined, std::move(info));
}

Value Value::none() {
    Value value;
    value.kind_ = Kind::none;
    return value;
}

Value Value::boolean(bool b) {
    Value value;
    value.kind_ = Kind::boolean;
    value.integer_ = b ? 1 : 0;
    return value;
}

Value Value::integer(std::int64_t i) {
    Value value;
    value.kind_ = Kind::integer;
    value.integer_ = i;
    return value;
}

Value Value::real(double d) {
    Value value;
    value.kind_ = Kind::real;
    value.real_ = d;
    return value;
}

Value Value::string(Text text) {
    auto string = std::make_shared<String>();
    string->cost = 32 + text.cost();
    string->text = std::move(text);
    return object(Kind::string, std::move(string));
}

Value Value::string(std::string bytes, Origin origin) {
    return string(Text(std::move(bytes), origin));
}

Value Value::list(std::vector<Value> items, Flavor flavor) {
    auto list = std::make_shared<List>();
    for (const Value& item : items) account(*list, item);
    list->flavor = flavor;
    list->items = std::move(items);
    return object(Kind::list, std::move(list));
}

Value Value::object(Kind kind, std::shared_ptr<const Object> object) {
    Value value;
    value.kind_ = kind;
    value.object_ = std::move(object);
    return value;
}

bool Value::is_list(Flavor flavor) const { return kind_ == Kind::list && list().flavor == flavor; }

std::int64_t Value::integral() const {
    HEARTH_CHECK(is_integral());
    return integer_;
}

double Value::number() const {
    HEARTH_CHECK(is_number());
    return kind_ == Kind::real ? real_ : static_cast<double>(integer_);
}

const Text& Value::text() const {
    HEARTH_CHECK(kind_ == Kind::string);
    return as<String>().text;
}

const List& Value::list() const {
    HEARTH_CHECK(kind_ == Kind::list);
    return as<List>();
}

const Dict& Value::dict() const {
    HEARTH_CHECK(kind_ == Kind::dict);
    return as<Dict>();
}

const Range& Value::range() const {
    HEARTH_CHECK(kind_ == Kind::range);
    return as<Range>();
}

std::string_view Value::undefined_message() const {
    if (!object_) return "the value is undefined";
    return as<UndefinedInfo>().message;
}

const std::size_t* Dict::place(const Value& key) const {
    const auto code = hash(key);
    if (!code) return nullptr;
    const auto [first, last] = index_.equal_range(*code);
    for (auto it = first; it != last; ++it) {
        if (equal(items_[it->second].first, key)) return &it->second;
    }
    return nullptr;
}

const Value* Dict::find(const Value& key) const {
    const std::size_t* at = place(key);
    return at ? &items_[*at].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
    const auto [first, last] = index_.equal_range(std::hash<std::string_view>{}(key));
    for (auto it = first; it != last; ++it) {
        const auto& item = items_[it->second];
        if (item.first.is(Kind::string) && item.first.view() == key) return &item.second;
    }
    return nullptr;
}

void Dict::set(const Value& key, const Value& value) {
    const auto code = hash(key);
    HEARTH_CHECK(code.has_value());
    account(*this, value);
    if (const std::size_t* at = place(key)) {
        items_[*at].second = value;
        return;
    }
    account(*this, key);
    index_.emplace(*code, items_.size());
    items_.emplace_back(key, value);
}

void Dict::clear() {
    items_.clear();
    index_.clear();
}

std::int64_t Range::size() const {
    if (step > 0) return stop > start ? (stop - start - 1) / step + 1 : 0;
    return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

std::string_view type_name(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
            return "Undefined";
        case Kind::none:
            return "NoneType";
        case Kind::boolean:
            return "bool";
        case Kind::integer:
            return "int";
        case Kind::real:
            return "float";
        case Kind::string:
            return "str";
        case Kind::list:
            break;
        case Kind::dict:
            return "dict";
        case Kind::range:
            return "range";
        case Kind::name_space:
            return "Namespace";
        case Kind::macro:
            return "Macro";
        case Kind::loop:
            return "LoopContext";
        case Kind::cycler:
            return "Cycler";
        case Kind::joiner:
            return "Joiner";
        case Kind::method:
        case Kind::function:
            return "builtin_function_or_method";
    }
    switch (value.list().flavor) {
        case Flavor::list:
            return "list";
        case Flavor::tuple:
        case Flavor::group:
            return "tuple";
        case Flavor::generator:
            return "generator";
        case Flavor::keys:
            return "dict_keys";
        case Flavor::values:
            return "dict_values";
        case Flavor::items:
            return "dict_items";
    }
    return "object";
}

bool truth(const Value& value) {
    switch (value.kind()) {
        case Kind::undefined:
        case Kind::none:
            return false;
        case Kind::boolean:
        case Kind::integer:
            return value.integral() != 0;
        case Kind::real:
            return value.number() != 0.0;
        case Kind::string:
            return !value.text().empty();
        case Kind::list:
            return value.is_list(Flavor::generator) || !value.list().items.empty();
        case Kind::dict:
            return !value.dict().items().empty();
        case Kind::range:
            return value.range().size() != 0;
        default:
            return true;
    }
}

}  // namespace hearth::jinja
