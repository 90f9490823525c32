#pragma once
// Evaluator: walks a Program over a context and gives one Text. Knows scopes, calls and budgets;
// the filters, tests and methods in their own files call back into its public part. One evaluator
// is one rendering. After the first failure every operation gives undefined and does nothing.

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "engine/text/jinja/ast.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/value.h"

namespace hearth::jinja {

/// What a rendering starts from.
struct Context {
    std::vector<std::pair<std::string, Value>> variables;
    std::tm now{};  ///< the clock of strftime_now
};

/// Budgets of one rendering, made from the size of its context: templates come from files that
/// nobody has checked.
struct Limits {
    std::int64_t n_steps = 1'000'000;  ///< nodes visited, list items, and 128 bytes of work
    std::size_t n_bytes = std::size_t{16} << 20;  ///< of the output, and of any one string
    int n_levels = 700;                           ///< nested evaluations
    int n_value_levels = 100;                     ///< lists in lists
};

/// Arguments of a call, evaluated.
struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> keyword;
};

struct Scope {
    Scope* parent = nullptr;
    bool captured = false;  ///< a macro or recursive loop refers to it: kept to the end
    std::vector<std::pair<int, Value>> variables;
};

struct Macro final : Object {
    const Stmt* stmt = nullptr;
    Scope* scope = nullptr;  ///< where it was defined
};

struct Loop final : Object {
    const Stmt* stmt = nullptr;
    Scope* scope = nullptr;  ///< around the loop
    std::vector<Value> items;
    int depth0 = 0;
    mutable std::size_t index0 = 0;
    mutable std::vector<Value> last_changed;  ///< arguments of the last loop.changed(…)
    mutable bool has_changed = false;
};

class Evaluator {
  public:
    Evaluator(const Program& program, const Context& context);
    ~Evaluator();
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    tl::expected<Text, Failure> run();

    // For filters, tests, methods and functions.
    bool failed() const { return failed_; }
    /// Records a failure (the first one counts) and gives undefined.
    Value fail(std::string message, Failure::Kind kind = Failure::Kind::runtime);
    /// Spends budget for work on `n_bytes` or `n_items`; false when it is spent.
    bool charge_bytes(std::size_t n_bytes);
    bool charge_items(std::size_t n_items);
    /// For work that looks at every character of `n_bytes`.
    bool charge_characters(std::size_t n_bytes) { return charge_items(n_bytes / 16); }
    /// Fails when a string of `n_bytes` would be too long.
    bool fits(std::size_t n_bytes);
    /// The same, and charges for it otherwise.
    bool room(std::size_t n_bytes);
    Value text(Text text);
    const std::tm& now() const { return context_.now; }

    Value attribute(const Value& value, std::string_view name);
    Value item(const Value& value, const Value& key);
    Value call(const Value& callee, const Arguments& arguments);
    Value call_filter(std::string_view name, const Value& input, const Arguments& arguments);
    bool call_test(std::string_view name, const Value& input, const Arguments& arguments);
    Value binary(Operator op, const Value& a, const Value& b);
    bool compare(Operator op, const Value& a, const Value& b);
    bool contains(const Value& container, const Value& value);
    /// equal() within the budget.
    bool same(const Value& a, const Value& b);
    /// The items that a for loop would see; a generator is used up. False: not iterable, failed.
    bool iterate(const Value& value, std::vector<Value>& items);
    /// str() within the budget.
    Text print(const Value& value);
    std::shared_ptr<const Namespace> make_namespace();

  private:
    enum class Flow : std::uint8_t { normal, leave, next };
    class Level;
    class ScopeGuard;

    // evaluator.cpp: statements
    Flow run_block(const Block& block);
    Flow run_stmt(const Stmt& stmt);
    Flow run_branch(const Stmt& stmt);
    Flow run_loop(const Stmt& stmt, const Value& iterable, int depth0);
    bool loop_items(const Stmt& stmt, const Value& iterable, std::vector<Value>& items);
    void run_set_block(const Stmt& stmt);
    Flow run_with(const Stmt& stmt);
    void run_macro(const Stmt& stmt);
    void run_call(const Stmt& stmt);
    void write(const Text& text);
    Text capture(const Block& block);
    void assign(const Expr& target, const Value& value);
    void set_variable(int name, const Value& value);
    void keep_scopes();
    Value make_macro(const Stmt& stmt);

    // expressions.cpp
    Value eval(const Expr& expr);
    Value eval_node(const Expr& expr);
    Value eval_name(const Expr& expr);
    Value eval_list(const Expr& expr, Flavor flavor);
    Value eval_dict(const Expr& expr);
    Value eval_subscript(const Expr& expr);
    Value eval_slice(const Value& value, const Expr& slice);
    Value eval_call(const Expr& expr, const Value* caller);
    Value eval_filter(const Expr& expr);
    Value eval_test(const Expr& expr);
    Value eval_sign(const Expr& expr);
    Value eval_concat(const Expr& expr);
    Value eval_compare(const Expr& expr);
    bool eval_arguments(const CallArguments& source, Arguments& arguments);
    bool check_size(const Value& value);

    // calls.cpp
    Value call_macro(const Macro& macro, const Arguments& arguments);
    bool bind_macro(const Stmt& stmt, const Arguments& arguments);
    Value call_loop(const Loop& loop, const Arguments& arguments);

    // operators.cpp
    Value add(const Value& a, const Value& b);
    Value multiply(const Value& a, const Value& b);
    Value repeat(const Value& value, std::int64_t times);
    Value arithmetic(Operator op, const Value& a, const Value& b);
    Value integer_arithmetic(Operator op, std::int64_t a, std::int64_t b);
    Value real_arithmetic(Operator op, double a, double b);
    Value operand_error(std::string_view sign, const Value& a, const Value& b);

    const Program& program_;
    const Context& context_;
    Limits limits_;
    std::int64_t steps_left_ = 0;
    int level_ = 0;
    int line_ = 1;
    bool failed_ = false;
    Failure failure_;
    Scope root_;
    Scope* scope_ = &root_;
    Text* out_ = nullptr;
    Value body_;  ///< what ExprKind::body stands for
    std::vector<std::unique_ptr<Scope>> kept_;
    std::vector<std::shared_ptr<const Namespace>>
        namespaces_;  ///< emptied at the end: they may be cyclic
};

/// One nested evaluation; too many are an error.
class Evaluator::Level {
  public:
    explicit Level(Evaluator& evaluator) : evaluator_(evaluator) {
        if (++evaluator_.level_ > evaluator_.limits_.n_levels) {
            evaluator_.fail("macros, loops or expressions are nested too deep");
        }
    }
    ~Level() { --evaluator_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

  private:
    Evaluator& evaluator_;
};

/// Names of a block of their own, inside `parent`, while it lives.
class Evaluator::ScopeGuard {
  public:
    ScopeGuard(Evaluator& evaluator, Scope* parent)
        : evaluator_(evaluator),
          before_(evaluator.scope_),
          scope_(std::make_unique<Scope>()) {
        scope_->parent = parent;
        evaluator_.scope_ = scope_.get();
    }
    ~ScopeGuard() {
        evaluator_.scope_ = before_;
        if (scope_->captured) evaluator_.kept_.push_back(std::move(scope_));
    }
    ScopeGuard(const ScopeGuard&) = delete;
    ScopeGuard& operator=(const ScopeGuard&) = delete;

  private:
    Evaluator& evaluator_;
    Scope* before_;
    std::unique_ptr<Scope> scope_;
};

}  // namespace hearth::jinja
