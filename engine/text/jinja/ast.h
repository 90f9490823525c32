#pragma once
// The syntax tree of a template, made by the parser, immutable afterwards. Which fields a node uses
// stands beside its kind. Depth is bounded by the parser, so walks may recurse.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/jinja/value.h"

namespace hearth::jinja {

struct Filter;
struct Test;
struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Block = std::vector<std::unique_ptr<Stmt>>;

enum class ExprKind : std::uint8_t {
    constant,     ///< constant
    name,         ///< name
    list,         ///< items
    tuple,        ///< items
    dict,         ///< items: key, value, key, value …
    attribute,    ///< items[0] . text
    subscript,    ///< items[0] [ items[1] ], which may be a slice
    slice,        ///< items[0..2]: start, stop, step; absent ones null
    call,         ///< items[0] ( arguments )
    filter,       ///< items[0] | text ( arguments ), filter
    test,         ///< items[0] is text ( arguments ), test
    body,         ///< the rendered body of the filter or set block around it
    negative,     ///< - items[0]
    positive,     ///< + items[0]
    logical_not,  ///< items[0]
    logical_and,  ///< items[0], items[1]
    logical_or,   ///< items[0], items[1]
    binary,       ///< items[0] operators[0] items[1]
    concat,       ///< items joined by ~
    compare,      ///< items[0] operators[0] items[1] operators[1] items[2] …
    conditional,  ///< items[0] if items[1] else items[2] (which may be null)
};

enum class Operator : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in,
};

struct CallArguments {
    std::vector<ExprPtr> positional;
    std::vector<std::pair<std::string, ExprPtr>> keyword;
    ExprPtr star;         ///< *items, or null
    ExprPtr double_star;  ///< **items, or null
};

struct Expr {
    ExprKind kind = ExprKind::constant;
    int line = 1;
    int depth = 1;  ///< levels of expressions, this one included
    int name = -1;  ///< index in Program::names
    std::vector<ExprPtr> items;
    std::vector<Operator> operators;
    Value constant;
    std::string text;
    CallArguments arguments;
    const Filter* filter = nullptr;  ///< null: unknown, an error when reached
    const Test* test = nullptr;      ///< null: unknown, an error when reached
};

/// What a macro, or the body of a call block, takes.
struct Signature {
    std::string name;
    std::vector<int> parameters;         ///< indices in Program::names
    std::vector<std::string> spellings;  ///< the same as text
    std::vector<ExprPtr> defaults;       ///< one per parameter, null without
    bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

enum class StmtKind : std::uint8_t {
    data,          ///< constant
    print,         ///< exprs[0]
    branch,        ///< if: exprs[i] guards blocks[i]; one block more is the else
    loop,          ///< for target in exprs[0] if exprs[1] (or null): blocks[0], else blocks[1]
    set,           ///< targets[0] = exprs[0]
    set_block,     ///< targets[0] = exprs[0] (filters over ExprKind::body, or null) of blocks[0]
    with,          ///< targets[i] = exprs[i] around blocks[0]
    macro,         ///< signature, blocks[0]; targets[0] is its name
    call,          ///< exprs[0] called with caller = signature, blocks[0]
    filter_block,  ///< exprs[0] over ExprKind::body, blocks[0]
    scope,         ///< blocks[0] with names of its own: generation, block, autoescape
    loop_break,
    loop_continue,
};

struct Stmt {
    StmtKind kind = StmtKind::data;
    int line = 1;
    bool recursive = false;  ///< loop: may call itself
    Value constant;
    std::vector<ExprPtr> targets;  ///< name, tuple of targets, or attribute of a namespace
    std::vector<ExprPtr> exprs;
    std::vector<Block> blocks;
    Signature signature;
};

/// Indices that every Program gives to the names with a meaning of their own.
enum SpecialName : int { kNameLoop, kNameCaller, kNameVarargs, kNameKwargs };

struct Program {
    Block body;
    std::vector<std::string> names;  ///< every name that the template mentions
};

}  // namespace hearth::jinja
