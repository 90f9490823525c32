// Statements, scopes and budgets of the evaluator.

#include "engine/text/jinja/evaluator.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/text/jinja/functions.h"

namespace hearth::jinja {

Evaluator::Evaluator(const Program& program, const Context& context)
    : program_(program),
      context_(context) {
    std::size_t context_bytes = 0;
    for (const auto& variable : context.variables) context_bytes += variable.second.cost();
    // A long conversation earns a larger budget; a small one with a wild template stays small.
    limits_.n_steps += static_cast<std::int64_t>(context_bytes / 2);
    limits_.n_bytes += 4 * context_bytes;
    steps_left_ = limits_.n_steps;
    for (std::size_t i = 0; i < program.names.size(); ++i) {
        const std::string& name = program.names[i];
        const auto found =
            std::find_if(context.variables.rbegin(), context.variables.rend(),
                         [&](const auto& variable) { return variable.first == name; });
        Value value = found == context.variables.rend() ? find_function(name) : found->second;
        if (found != context.variables.rend() || value.is(Kind::function)) {
            root_.variables.emplace_back(static_cast<int>(i), std::move(value));
        }
    }
}

Evaluator::~Evaluator() {
    for (const auto& space : namespaces_) space->values.clear();
}

tl::expected<Text, Failure> Evaluator::run() {
    Text out;
    out_ = &out;
    run_block(program_.body);
    out_ = nullptr;
    if (failed_) return tl::unexpected(failure_);
    return out;
}

Value Evaluator::fail(std::string message, Failure::Kind kind) {
    if (!failed_) failure_ = {kind, std::move(message), line_};
    failed_ = true;
    return {};
}

bool Evaluator::charge_items(std::size_t n_items) {
    const auto left = static_cast<std::size_t>(std::max<std::int64_t>(steps_left_, 0));
    if (failed_ || n_items > left) {
        fail(fmt::format("the template takes more than {} steps: an endless loop?",
                         limits_.n_steps));
        return false;
    }
    steps_left_ -= static_cast<std::int64_t>(n_items);
    return true;
}

bool Evaluator::charge_bytes(std::size_t n_bytes) { return charge_items(n_bytes / 128); }

bool Evaluator::fits(std::size_t n_bytes) {
    if (n_bytes > limits_.n_bytes) {
        fail(fmt::format("a text grows beyond {} MiB", limits_.n_bytes >> 20));
    }
    return !failed_;
}

bool Evaluator::room(std::size_t n_bytes) { return fits(n_bytes) && charge_bytes(n_bytes); }

Value Evaluator::text(Text text) {
    if (!room(text.cost())) return {};
    return Value::string(std::move(text));
}

Text Evaluator::print(const Value& value) {
    if (value.is(Kind::undefined) || !room(value.cost())) return {};
    if (!value.is(Kind::string) && !charge_characters(value.cost())) return {};
    return to_text(value);
}

std::shared_ptr<const Namespace> Evaluator::make_namespace() {
    namespaces_.push_back(std::make_shared<Namespace>());
    return namespaces_.back();
}

void Evaluator::write(const Text& text) {
    if (failed_ || !charge_bytes(text.cost())) return;
    if (out_->size() + text.size() > limits_.n_bytes) {
        fail(fmt::format("the output grows beyond {} MiB", limits_.n_bytes >> 20));
        return;
    }
    out_->append(text);
}

Evaluator::Flow Evaluator::run_block(const Block& block) {
    const Level level(*this);
    for (const auto& stmt : block) {
        if (failed_) return Flow::leave;
        const Flow flow = run_stmt(*stmt);
        if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
}

Evaluator::Flow Evaluator::run_stmt(const Stmt& stmt) {
    line_ = stmt.line;
    if (!charge_items(1)) return Flow::leave;
    switch (stmt.kind) {
        case StmtKind::data:
            write(stmt.constant.text());
            return Flow::normal;
        case StmtKind::print: {
            const Value value = eval(*stmt.exprs[0]);
            if (value.is(Kind::string)) {
                write(value.text());
            } else {
                write(print(value));
            }
            return Flow::normal;
        }
        case StmtKind::branch:
            return run_branch(stmt);
        case StmtKind::loop:
            return run_loop(stmt, eval(*stmt.exprs[0]), 0);
        case StmtKind::set:
            assign(*stmt.targets[0], eval(*stmt.exprs[0]));
            return Flow::normal;
        case StmtKind::set_block:
            run_set_block(stmt);
            return Flow::normal;
        case StmtKind::with:
            return run_with(stmt);
        case StmtKind::macro:
            run_macro(stmt);
            return Flow::normal;
        case StmtKind::call:
            run_call(stmt);
            return Flow::normal;
        case StmtKind::filter_block: {
            const Value outer = std::exchange(body_, Value::string(capture(stmt.blocks[0])));
            const Value value = eval(*stmt.exprs[0]);
            body_ = outer;
            write(print(value));
            return Flow::normal;
        }
        case StmtKind::scope: {
            const ScopeGuard scope(*this, scope_);
            return run_block(stmt.blocks[0]);
        }
        case StmtKind::loop_break:
            return Flow::leave;
        case StmtKind::loop_continue:
            return Flow::next;
    }
    return Flow::normal;
}

Evaluator::Flow Evaluator::run_branch(const Stmt& stmt) {
    for (std::size_t i = 0; i < stmt.exprs.size(); ++i) {
        const bool taken = truth(eval(*stmt.exprs[i]));
        if (failed_) return Flow::leave;
        if (taken) return run_block(stmt.blocks[i]);
    }
    if (stmt.blocks.size() > stmt.exprs.size()) return run_block(stmt.blocks.back());
    return Flow::normal;
}

/// The items that the loop will visit: those that pass its `if`.
bool Evaluator::loop_items(const Stmt& stmt, const Value& iterable, std::vector<Value>& items) {
    std::vector<Value> all;
    if (failed_ || !iterate(iterable, all)) return false;
    if (!stmt.exprs[1]) {
        items = std::move(all);
        return true;
    }
    for (Value& item : all) {
        const ScopeGuard scope(*this, scope_);
        assign(*stmt.targets[0], item);
        if (truth(eval(*stmt.exprs[1]))) items.push_back(std::move(item));
        if (failed_) return false;
    }
    return true;
}

Evaluator::Flow Evaluator::run_loop(const Stmt& stmt, const Value& iterable, int depth0) {
    const auto loop = std::make_shared<Loop>();
    if (!loop_items(stmt, iterable, loop->items)) return Flow::leave;
    for (const Value& item : loop->items) loop->depth = std::max(loop->depth, item.depth() + 1);
    loop->stmt = &stmt;
    loop->scope = scope_;
    loop->depth0 = depth0;
    if (stmt.recursive) keep_scopes();
    const Value loop_value = Value::object(Kind::loop, loop);
    for (std::size_t i = 0; i < loop->items.size() && !failed_; ++i) {
        const ScopeGuard scope(*this, scope_);
        loop->index0 = i;
        set_variable(kNameLoop, loop_value);
        assign(*stmt.targets[0], loop->items[i]);
        if (!charge_items(1) || run_block(stmt.blocks[0]) == Flow::leave) break;
    }
    if (loop->items.empty() && !stmt.blocks[1].empty()) {
        const ScopeGuard scope(*this, scope_);
        return run_block(stmt.blocks[1]);
    }
    return Flow::normal;
}

void Evaluator::run_set_block(const Stmt& stmt) {
    Value value = text(capture(stmt.blocks[0]));
    if (stmt.exprs[0]) {
        const Value outer = std::exchange(body_, value);
        value = eval(*stmt.exprs[0]);
        body_ = outer;
    }
    assign(*stmt.targets[0], value);
}

Evaluator::Flow Evaluator::run_with(const Stmt& stmt) {
    std::vector<Value> values;
    for (const auto& expr : stmt.exprs) values.push_back(eval(*expr));
    const ScopeGuard scope(*this, scope_);
    for (std::size_t i = 0; i < values.size(); ++i) assign(*stmt.targets[i], values[i]);
    return run_block(stmt.blocks[0]);
}

/// Marks the scopes at hand as referred to by a value that may outlive them.
void Evaluator::keep_scopes() {
    for (Scope* s = scope_; s && !s->captured; s = s->parent) s->captured = true;
}

Value Evaluator::make_macro(const Stmt& stmt) {
    auto macro = std::make_shared<Macro>();
    macro->stmt = &stmt;
    macro->scope = scope_;
    keep_scopes();
    return Value::object(Kind::macro, std::move(macro));
}

void Evaluator::run_macro(const Stmt& stmt) { assign(*stmt.targets[0], make_macro(stmt)); }

void Evaluator::run_call(const Stmt& stmt) {
    const Value caller = make_macro(stmt);
    write(print(eval_call(*stmt.exprs[0], &caller)));
}

/// What `block` prints, in a scope of its own.
Text Evaluator::capture(const Block& block) {
    Text result;
    Text* const outer = std::exchange(out_, &result);
    {
        const ScopeGuard scope(*this, scope_);
        run_block(block);
    }
    out_ = outer;
    return result;
}

void Evaluator::set_variable(int name, const Value& value) {
    for (auto& [known, place] : scope_->variables) {
        if (known == name) {
            place = value;
            return;
        }
    }
    scope_->variables.emplace_back(name, value);
}

void Evaluator::assign(const Expr& target, const Value& value) {
    if (failed_) return;
    if (target.kind == ExprKind::name) return set_variable(target.name, value);
    if (target.kind == ExprKind::attribute) {
        const Value owner = eval(*target.items[0]);
        if (failed_) return;
        if (!owner.is(Kind::name_space)) {
            fail(fmt::format(
                "cannot assign attribute '{}' on a value of type {}, only on a namespace",
                target.text, type_name(owner)));
            return;
        }
        owner.as<Namespace>().values.set(Value::string(target.text), value);
        return;
    }
    std::vector<Value> items;
    if (!iterate(value, items)) return;
    if (items.size() != target.items.size()) {
        fail(fmt::format("cannot unpack {} values into {} names", items.size(),
                         target.items.size()));
        return;
    }
    for (std::size_t i = 0; i < items.size(); ++i) assign(*target.items[i], items[i]);
}

}  // namespace hearth::jinja
