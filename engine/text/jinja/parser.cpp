#include "engine/text/jinja/parser.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace hearth::jinja {
namespace {

constexpr int kMaxLevel = 300;      ///< nested tags and operators; a bracket takes three levels
constexpr int kMaxExprDepth = 200;  ///< levels of one expression tree
constexpr std::size_t kMaxSourceBytes = std::size_t{4} << 20;

}  // namespace

Parser::Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
    for (const char* name : {"loop", "caller", "varargs", "kwargs"}) intern(name);
}

tl::expected<Program, Failure> Parser::run() {
    program_.body = block_until({});
    if (!failed_ && !unknown_.empty()) fail_at(unknown_.front().line, unknown_.front().message);
    if (failed_) return tl::unexpected(failure_);
    return std::move(program_);
}

Parser::Level::Level(Parser& p) : parser(p) {
    if (++parser.level_ > kMaxLevel) {
        parser.fail(fmt::format("tags and brackets are nested more than {} deep", kMaxLevel));
    }
}

/// Statements up to a tag named in `ends` (left unread, after its {%), or to the end of the text.
Block Parser::block_until(std::initializer_list<std::string_view> ends) {
    const Level level(*this);
    Block block;
    while (!failed_) {
        if (token().kind == TokenKind::end) {
            if (ends.size() != 0) {
                fail(fmt::format("the template ends, expected {{% {} %}}", *(ends.end() - 1)));
            }
            break;
        }
        if (token().kind == TokenKind::data) {
            auto stmt = make_stmt(StmtKind::data);
            stmt->constant = Value::string(take().text);
            block.push_back(std::move(stmt));
        } else if (token().kind == TokenKind::print_begin) {
            auto stmt = make_stmt(StmtKind::print);
            take();
            stmt->exprs.push_back(tuple_expression());
            expect(TokenKind::print_end, "}}");
            block.push_back(std::move(stmt));
        } else {
            take();
            for (const auto end : ends) {
                if (is_name(end)) return block;
            }
            if (auto stmt = statement()) block.push_back(std::move(stmt));
        }
    }
    return block;
}

/// One tag, after its {%.
std::unique_ptr<Stmt> Parser::statement() {
    if (is_name("if")) return if_tag();
    if (is_name("for")) return for_tag();
    if (is_name("set")) return set_tag();
    if (is_name("print")) return print_tag();
    if (is_name("with")) return with_tag();
    if (is_name("macro")) return macro_tag();
    if (is_name("call")) return call_tag();
    if (is_name("filter")) return filter_tag();
    if (is_name("break")) return jump_tag(StmtKind::loop_break, "break");
    if (is_name("continue")) return jump_tag(StmtKind::loop_continue, "continue");
    for (const std::string_view word : {"generation", "block", "autoescape"}) {
        if (is_name(word)) return scope_tag(word);
    }
    for (const std::string_view word : {"include", "import", "from", "extends"}) {
        if (is_name(word)) {
            fail(fmt::format("{{% {} %}} is not supported: there are no other templates", word));
            return nullptr;
        }
    }
    fail(token().kind == TokenKind::name
             ? fmt::format("unknown tag '{}'", token().text)
             : fmt::format("expected the name of a tag, found {}", met()));
    return nullptr;
}

std::unique_ptr<Stmt> Parser::print_tag() {
    auto stmt = make_stmt(StmtKind::print);
    take();
    stmt->exprs.push_back(tuple_expression());
    expect(TokenKind::block_end, "%}");
    return stmt;
}

std::unique_ptr<Stmt> Parser::if_tag() {
    auto stmt = make_stmt(StmtKind::branch);
    const std::size_t first_unknown = unknown_.size();
    take();
    for (;;) {
        stmt->exprs.push_back(tuple_expression(false));
        expect(TokenKind::block_end, "%}");
        stmt->blocks.push_back(block_until({"elif", "else", "endif"}));
        if (failed_) break;
        const std::string word = take().text;
        if (word == "elif") continue;
        if (word == "else") {
            expect(TokenKind::block_end, "%}");
            stmt->blocks.push_back(body_until("endif"));
        } else {
            expect(TokenKind::block_end, "%}");
        }
        break;
    }
    forgive_unknown(first_unknown);
    return stmt;
}

/// The rest of a tag's body with its end tag.
Block Parser::body_until(std::string_view end) {
    Block block = block_until({end});
    take();
    expect(TokenKind::block_end, "%}");
    return block;
}

std::unique_ptr<Stmt> Parser::for_tag() {
    auto stmt = make_stmt(StmtKind::loop);
    take();
    stmt->targets.push_back(target(false));
    if (!skip_name("in")) fail(fmt::format("expected 'in', found {}", met()));
    stmt->exprs.push_back(tuple_expression(false));
    ++scope_;
    stmt->exprs.push_back(skip_name("if") ? expression() : nullptr);
    stmt->recursive = skip_name("recursive");
    expect(TokenKind::block_end, "%}");
    ++loop_depth_;
    stmt->blocks.push_back(block_until({"else", "endfor"}));
    --loop_depth_;
    stmt->blocks.emplace_back();
    if (!failed_) {
        const bool has_else = take().text == "else";
        expect(TokenKind::block_end, "%}");
        if (has_else) stmt->blocks.back() = body_until("endfor");
    }
    --scope_;
    return stmt;
}

std::unique_ptr<Stmt> Parser::set_tag() {
    auto stmt = make_stmt(StmtKind::set);
    take();
    stmt->targets.push_back(target(true));
    if (skip_symbol("=")) {
        stmt->exprs.push_back(tuple_expression());
        expect(TokenKind::block_end, "%}");
        return stmt;
    }
    stmt->kind = StmtKind::set_block;
    ++scope_;
    stmt->exprs.push_back(is_symbol("|") ? filters(make(ExprKind::body, token().line)) : nullptr);
    expect(TokenKind::block_end, "%}");
    stmt->blocks.push_back(body_until("endset"));
    --scope_;
    return stmt;
}

std::unique_ptr<Stmt> Parser::with_tag() {
    auto stmt = make_stmt(StmtKind::with);
    take();
    while (!failed_ && token().kind != TokenKind::block_end) {
        if (!stmt->targets.empty()) expect_symbol(",");
        stmt->targets.push_back(target(false));
        expect_symbol("=");
        stmt->exprs.push_back(expression());
    }
    expect(TokenKind::block_end, "%}");
    ++scope_;
    stmt->blocks.push_back(body_until("endwith"));
    --scope_;
    return stmt;
}

void Parser::signature(Signature& signature) {
    expect_symbol("(");
    while (!failed_ && !is_symbol(")")) {
        if (!signature.parameters.empty()) expect_symbol(",");
        if (is_symbol(")")) break;
        const std::string name = expect_name("the name of a parameter");
        signature.parameters.push_back(intern(name));
        signature.spellings.push_back(name);
        if (skip_symbol("=")) {
            signature.defaults.push_back(expression());
        } else {
            if (!signature.defaults.empty() && signature.defaults.back()) {
                fail("a parameter without default follows one with default");
            }
            signature.defaults.push_back(nullptr);
        }
    }
    expect_symbol(")");
}

void Parser::macro_body(Stmt& stmt, std::string_view end) {
    const int loops = std::exchange(loop_depth_, 0);
    ++scope_;
    signatures_.push_back(&stmt.signature);
    stmt.blocks.push_back(body_until(end));
    signatures_.pop_back();
    --scope_;
    loop_depth_ = loops;
}

std::unique_ptr<Stmt> Parser::macro_tag() {
    auto stmt = make_stmt(StmtKind::macro);
    take();
    stmt->signature.name = token().text;
    stmt->targets.push_back(target_name());
    signature(stmt->signature);
    expect(TokenKind::block_end, "%}");
    macro_body(*stmt, "endmacro");
    return stmt;
}

std::unique_ptr<Stmt> Parser::call_tag() {
    auto stmt = make_stmt(StmtKind::call);
    take();
    stmt->signature.name = "caller";
    if (is_symbol("(")) signature(stmt->signature);
    stmt->exprs.push_back(expression());
    if (!failed_ && stmt->exprs[0]->kind != ExprKind::call) fail("{% call %} needs a call");
    expect(TokenKind::block_end, "%}");
    macro_body(*stmt, "endcall");
    return stmt;
}

std::unique_ptr<Stmt> Parser::filter_tag() {
    auto stmt = make_stmt(StmtKind::filter_block);
    take();
    ++scope_;
    stmt->exprs.push_back(filters(one_filter(make(ExprKind::body, token().line))));
    expect(TokenKind::block_end, "%}");
    stmt->blocks.push_back(body_until("endfilter"));
    --scope_;
    return stmt;
}

std::unique_ptr<Stmt> Parser::scope_tag(std::string_view word) {
    auto stmt = make_stmt(StmtKind::scope);
    take();
    if (word == "block") {
        expect_name("the name of a block");
        skip_name("scoped");
    } else if (word == "autoescape") {
        expression();  // text is never escaped here
    }
    expect(TokenKind::block_end, "%}");
    ++scope_;
    stmt->blocks.push_back(block_until({fmt::format("end{}", word)}));
    take();
    if (word == "block" && token().kind == TokenKind::name) take();
    expect(TokenKind::block_end, "%}");
    --scope_;
    return stmt;
}

std::unique_ptr<Stmt> Parser::jump_tag(StmtKind kind, std::string_view word) {
    auto stmt = make_stmt(kind);
    if (loop_depth_ == 0) fail(fmt::format("'{}' outside of a loop", word));
    take();
    expect(TokenKind::block_end, "%}");
    return stmt;
}

ExprPtr Parser::target_name() {
    auto node = make(ExprKind::name, token().line);
    const std::string name = expect_name("a name");
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
        if (name == constant) fail(fmt::format("cannot assign to '{}'", name));
    }
    node->name = intern(name);
    return node;
}

/// What may stand on the left of an assignment: name, namespace.attribute, tuple of targets.
ExprPtr Parser::target(bool allow_attribute) {
    const Level level(*this);
    const int line = token().line;
    auto tuple = make(ExprKind::tuple, line);
    bool is_tuple = false;
    while (!failed_) {
        if (skip_symbol("(")) {
            tuple = add(std::move(tuple), target(allow_attribute));
            expect_symbol(")");
        } else if (token().kind == TokenKind::name && !is_name("in")) {
            auto node = target_name();
            if (allow_attribute && skip_symbol(".")) {
                auto whole = make(ExprKind::attribute, line);
                whole->text = expect_name("the name of an attribute");
                node = add(std::move(whole), std::move(node));
            }
            tuple = add(std::move(tuple), std::move(node));
        } else {
            break;
        }
        if (!skip_symbol(",")) break;
        is_tuple = true;
    }
    if (tuple->items.empty()) fail(fmt::format("expected a name to assign to, found {}", met()));
    if (!is_tuple && tuple->items.size() == 1) return std::move(tuple->items[0]);
    return tuple;
}

bool Parser::is_symbol(std::string_view text) const {
    return token().kind == TokenKind::symbol && token().text == text;
}

bool Parser::is_name(std::string_view text) const {
    return token().kind == TokenKind::name && token().text == text;
}

bool Parser::skip_symbol(std::string_view text) {
    if (!is_symbol(text)) return false;
    ++at_;
    return true;
}

bool Parser::skip_name(std::string_view text) {
    if (!is_name(text)) return false;
    ++at_;
    return true;
}

void Parser::expect_symbol(std::string_view text) {
    if (!skip_symbol(text)) fail(fmt::format("expected '{}', found {}", text, met()));
}

void Parser::expect(TokenKind kind, std::string_view what) {
    if (token().kind != kind) return fail(fmt::format("expected '{}', found {}", what, met()));
    take();
}

std::string Parser::expect_name(std::string_view what) {
    if (token().kind != TokenKind::name) {
        fail(fmt::format("expected {}, found {}", what, met()));
        return {};
    }
    return take().text;
}

Token Parser::take() {
    const Token result = token();
    if (at_ + 1 < tokens_.size()) ++at_;
    return result;
}

std::string Parser::met() const {
    if (token().kind == TokenKind::end) return "the end of the template";
    if (token().kind == TokenKind::data) return "text";
    return fmt::format("'{}'", token().text.substr(0, 60));
}

void Parser::fail(std::string message) { fail_at(token().line, std::move(message)); }

void Parser::fail_at(int line, std::string message) {
    if (!failed_) failure_ = {Failure::Kind::syntax, std::move(message), line};
    failed_ = true;
    at_ = tokens_.size() - 1;
}

ExprPtr Parser::make(ExprKind kind, int line) {
    auto node = std::make_unique<Expr>();
    node->kind = kind;
    node->line = line;
    return node;
}

ExprPtr Parser::counted(Expr& owner, ExprPtr child) {
    if (child) owner.depth = std::max(owner.depth, child->depth + 1);
    if (owner.depth > kMaxExprDepth) {
        fail(fmt::format("an expression is more than {} levels deep", kMaxExprDepth));
    }
    return child;
}

ExprPtr Parser::add(ExprPtr node, ExprPtr child) {
    node->items.push_back(counted(*node, std::move(child)));
    return node;
}

std::unique_ptr<Stmt> Parser::make_stmt(StmtKind kind) {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = token().line;
    return stmt;
}

int Parser::intern(std::string_view name) {
    const auto [place, added] =
        interned_.try_emplace(std::string(name), static_cast<int>(program_.names.size()));
    if (added) program_.names.emplace_back(name);
    return place->second;
}

void Parser::forgive_unknown(std::size_t first) {
    const auto begin =
        unknown_.begin() + static_cast<std::ptrdiff_t>(std::min(first, unknown_.size()));
    unknown_.erase(
        std::remove_if(begin, unknown_.end(), [&](const Unknown& u) { return u.scope == scope_; }),
        unknown_.end());
}

tl::expected<Program, Failure> parse(std::string_view source) {
    if (source.size() > kMaxSourceBytes) {
        return tl::unexpected(Failure{Failure::Kind::syntax,
                                      fmt::format("the template has {} bytes, expected at most {}",
                                                  source.size(), kMaxSourceBytes),
                                      1});
    }
    auto tokens = tokenize(source);
    if (!tokens) return tl::unexpected(tokens.error());
    return Parser(std::move(*tokens)).run();
}

}  // namespace hearth::jinja
