#pragma once
// Parser: tokens -> Program, by recursive descent with Jinja's precedence. Also checks what Jinja
// checks before rendering: unknown filters and tests, break and continue outside a loop.

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "engine/text/jinja/ast.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/lexer.h"

namespace hearth::jinja {

tl::expected<Program, Failure> parse(std::string_view source);

/// One parse. After the first error the position jumps to the end token, so that every loop ends;
/// functions always return a node.
class Parser {
  public:
    explicit Parser(std::vector<Token> tokens);
    tl::expected<Program, Failure> run();

  private:
    // parser.cpp: statements
    Block block_until(std::initializer_list<std::string_view> ends);
    std::unique_ptr<Stmt> statement();
    std::unique_ptr<Stmt> print_tag();
    std::unique_ptr<Stmt> if_tag();
    std::unique_ptr<Stmt> for_tag();
    std::unique_ptr<Stmt> set_tag();
    std::unique_ptr<Stmt> with_tag();
    std::unique_ptr<Stmt> macro_tag();
    std::unique_ptr<Stmt> call_tag();
    std::unique_ptr<Stmt> filter_tag();
    std::unique_ptr<Stmt> scope_tag(std::string_view word);
    std::unique_ptr<Stmt> jump_tag(StmtKind kind, std::string_view word);
    Block body_until(std::string_view end);
    void signature(Signature& signature);
    void macro_body(Stmt& stmt, std::string_view end);
    ExprPtr target(bool allow_attribute);
    ExprPtr target_name();

    // parser_expression.cpp
    ExprPtr expression();
    ExprPtr tuple_expression(bool conditional = true);
    ExprPtr logical_or();
    ExprPtr logical_and();
    ExprPtr logical_not();
    ExprPtr compare();
    bool compare_operator(Operator& op);
    ExprPtr sum();
    ExprPtr concat();
    ExprPtr product();
    ExprPtr power();
    ExprPtr unary(bool with_filters);
    ExprPtr primary();
    ExprPtr primary_name();
    ExprPtr primary_number();
    ExprPtr bracketed_list();
    ExprPtr bracketed_dict();
    ExprPtr parenthesized();
    ExprPtr postfix(ExprPtr node);
    ExprPtr filters(ExprPtr node);
    ExprPtr one_filter(ExprPtr node);
    ExprPtr one_test(ExprPtr node);
    ExprPtr attribute(ExprPtr node);
    ExprPtr subscript(ExprPtr node);
    ExprPtr subscript_part();
    ExprPtr call(ExprPtr node);
    void call_arguments(Expr& owner);
    bool call_argument(Expr& owner);
    std::string dotted_name();

    // both
    const Token& token() const { return tokens_[at_]; }
    const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    bool is_symbol(std::string_view text) const;
    bool is_name(std::string_view text) const;
    bool skip_symbol(std::string_view text);
    bool skip_name(std::string_view text);
    void expect_symbol(std::string_view text);
    void expect(TokenKind kind, std::string_view what);
    std::string expect_name(std::string_view what);
    Token take();
    std::string met() const;  ///< the token at hand, for messages
    void fail(std::string message);
    void fail_at(int line, std::string message);
    ExprPtr make(ExprKind kind, int line);
    /// Appends `child` (may be null) to the items of `node`.
    ExprPtr add(ExprPtr node, ExprPtr child);
    /// Counts `child` into the depth of `owner`, which will hold it.
    ExprPtr counted(Expr& owner, ExprPtr child);
    std::unique_ptr<Stmt> make_stmt(StmtKind kind);
    int intern(std::string_view name);

    /// Counts a level of nesting while it lives; too deep is an error.
    struct Level {
        explicit Level(Parser& p);
        ~Level() { --parser.level_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;
        Parser& parser;
    };

    /// A filter or test that nobody knows. Jinja refuses the template, unless the use lies right
    /// inside an if (statement or expression): then only reaching it is an error.
    struct Unknown {
        std::string message;
        int line;
        int scope;
    };
    /// Forgives those recorded since `first` in the scope at hand.
    void forgive_unknown(std::size_t first);

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    int level_ = 0;
    int scope_ = 0;       ///< loops, macros and blocks around
    int loop_depth_ = 0;  ///< loops that break can leave
    std::vector<Unknown> unknown_;
    std::vector<Signature*> signatures_;  ///< macros around, innermost last
    Program program_;
    std::unordered_map<std::string, int> interned_;
    bool failed_ = false;
    Failure failure_;
};

}  // namespace hearth::jinja
