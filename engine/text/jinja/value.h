#pragma once
// Value: what a template computes with, as Python would: none, bool, int (64 bits), float, string
// with provenance, list, tuple, dict in insertion order and the objects of Jinja. Values are
// immutable (namespaces excepted) and shared. Knows no evaluation and no budget, but every object
// knows its depth and what walking it costs, so that the evaluator can refuse monsters up front.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/text/jinja/text.h"

namespace hearth::jinja {

enum class Kind : std::uint8_t {
    undefined,
    none,
    boolean,
    integer,
    real,
    string,
    list,  ///< list, tuple, generator, dict view: see Flavor
    dict,
    range,
    name_space,
    macro,
    loop,
    cycler,
    joiner,
    method,    ///< bound method of a string, list, dict
    function,  ///< global function
};

struct Object {
    Object() = default;
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    virtual ~Object() = default;
    int depth = 0;          ///< levels of objects below, namespaces and macros not entered
    std::size_t cost = 32;  ///< bytes that a walk over all of it touches, shared parts each time
};

struct List;
struct Dict;
struct Range;
enum class Flavor : std::uint8_t { list, tuple, generator, keys, values, items, group };

class Value {
  public:
    Value() = default;  ///< undefined
    /// `message`: what an error says when the value is used, "'x' is undefined".
    static Value undefined(std::string message);
    static Value none();
    static Value boolean(bool b);
    static Value integer(std::int64_t i);
    static Value real(double d);
    static Value string(Text text);
    static Value string(std::string bytes, Origin origin = kLiteral);
    static Value list(std::vector<Value> items, Flavor flavor = Flavor::list);
    static Value object(Kind kind, std::shared_ptr<const Object> object);

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is_number() const { return kind_ >= Kind::boolean && kind_ <= Kind::real; }
    bool is_integral() const { return kind_ == Kind::boolean || kind_ == Kind::integer; }
    bool is_list(Flavor flavor) const;

    /// Each accessor demands its kind (integral: bool or int; number: those and float).
    std::int64_t integral() const;
    double number() const;
    const Text& text() const;
    std::string_view view() const { return text().view(); }
    const List& list() const;
    const Dict& dict() const;
    const Range& range() const;
    /// The undefined value's message.
    std::string_view undefined_message() const;
    const Object* object() const { return object_.get(); }
    template <typename T>
    const T& as() const {
        return static_cast<const T&>(*object_);
    }

    int depth() const { return object_ ? object_->depth : 0; }
    std::size_t cost() const { return object_ ? object_->cost : 16; }

  private:
    Kind kind_ = Kind::undefined;
    union {
        std::int64_t integer_ = 0;
        double real_;
    };
    std::shared_ptr<const Object> object_;
};

struct String final : Object {
    Text text;
};

struct List final : Object {
    Flavor flavor = Flavor::list;
    std::vector<Value> items;
    mutable std::size_t taken = 0;  ///< items that a generator has given away
};

/// Keys compare as in Python: 1, 1.0 and true are one key; an entry keeps its first key and place.
struct Dict final : Object {
    const Value* find(const Value& key) const;
    const Value* find(std::string_view key) const;
    void set(const Value& key, const Value& value);
    const std::vector<std::pair<Value, Value>>& items() const { return items_; }
    void clear();

  private:
    const std::size_t* place(const Value& key) const;
    std::vector<std::pair<Value, Value>> items_;
    std::unordered_multimap<std::size_t, std::size_t> index_;  ///< hash -> place in items_
};

struct Range final : Object {
    std::int64_t start = 0, stop = 0, step = 1;
    std::int64_t size() const;  ///< number of integers
};

struct Namespace final : Object {
    mutable Dict values;
};

struct Method final : Object {
    Value self;
    std::string name;
};

struct Cycler final : Object {
    std::vector<Value> items;
    mutable std::size_t position = 0;
};

struct Joiner final : Object {
    Text separator;
    mutable bool used = false;
};

/// Name of the Python type, for messages: "str", "NoneType", "dict".
std::string_view type_name(const Value& value);
bool truth(const Value& value);
bool equal(const Value& a, const Value& b);
/// Negative, 0, positive; nothing where Python has no order (1 < 'a').
std::optional<int> order(const Value& a, const Value& b);
/// Nothing for unhashable values (list, dict).
std::optional<std::size_t> hash(const Value& value);
/// str(): a string as it is, numbers and containers as Python prints them.
Text to_text(const Value& value);
/// Appends repr(); sets `input` where a part came from the caller.
void append_repr(std::string& out, bool& input, const Value& value);
/// Shortest digits that read back equal, in Python's form: 1e-05, 100.0, 1e+16, inf.
std::string real_repr(double d);

}  // namespace hearth::jinja
