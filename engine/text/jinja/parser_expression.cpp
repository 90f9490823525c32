// The expression half of the parser. Precedence from loose to tight: if, or, and, not, comparison,
// + -, ~, * / // %, **, unary, then postfix, filters and tests (Jinja's own order: -2 ** 2 is 4).

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "engine/text/jinja/filters.h"
#include "engine/text/jinja/parser.h"

namespace hearth::jinja {

ExprPtr Parser::expression() {
    const Level level(*this);
    const std::size_t first_unknown = unknown_.size();
    ExprPtr node = logical_or();
    while (is_name("if")) {
        auto whole = make(ExprKind::conditional, token().line);
        take();
        whole = add(std::move(whole), std::move(node));
        whole = add(std::move(whole), logical_or());
        ExprPtr otherwise;
        if (skip_name("else")) otherwise = expression();
        node = add(std::move(whole), std::move(otherwise));
        forgive_unknown(first_unknown);
    }
    return node;
}

/// An expression, or several with commas between, which make a tuple.
ExprPtr Parser::tuple_expression(bool conditional) {
    const int line = token().line;
    const auto one = [&] { return conditional ? expression() : logical_or(); };
    ExprPtr node = one();
    if (!is_symbol(",")) return node;
    auto tuple = add(make(ExprKind::tuple, line), std::move(node));
    while (!failed_ && skip_symbol(",")) {
        const bool end = token().kind == TokenKind::block_end ||
                         token().kind == TokenKind::print_end || is_symbol(")") ||
                         is_name("recursive");
        if (end) break;
        tuple = add(std::move(tuple), one());
    }
    return tuple;
}

ExprPtr Parser::logical_or() {
    const Level level(*this);
    ExprPtr node = logical_and();
    while (is_name("or")) {
        auto whole = make(ExprKind::logical_or, take().line);
        whole = add(std::move(whole), std::move(node));
        node = add(std::move(whole), logical_and());
    }
    return node;
}

ExprPtr Parser::logical_and() {
    ExprPtr node = logical_not();
    while (is_name("and")) {
        auto whole = make(ExprKind::logical_and, take().line);
        whole = add(std::move(whole), std::move(node));
        node = add(std::move(whole), logical_not());
    }
    return node;
}

ExprPtr Parser::logical_not() {
    if (!is_name("not")) return compare();
    const Level level(*this);
    auto node = make(ExprKind::logical_not, take().line);
    return add(std::move(node), logical_not());
}

bool Parser::compare_operator(Operator& op) {
    constexpr std::array<std::pair<std::string_view, Operator>, 6> kOperators = {{
        {"==", Operator::equal},
        {"!=", Operator::not_equal},
        {"<", Operator::less},
        {"<=", Operator::less_equal},
        {">", Operator::greater},
        {">=", Operator::greater_equal},
    }};
    for (const auto& [text, value] : kOperators) {
        if (!is_symbol(text)) continue;
        take();
        op = value;
        return true;
    }
    const bool negated = is_name("not") && ahead().kind == TokenKind::name && ahead().text == "in";
    if (!negated && !is_name("in")) return false;
    if (negated) take();
    take();
    op = negated ? Operator::not_in : Operator::in;
    return true;
}

ExprPtr Parser::compare() {
    ExprPtr node = sum();
    ExprPtr whole;
    const int line = token().line;
    Operator op;
    while (compare_operator(op)) {
        if (!whole) whole = add(make(ExprKind::compare, line), std::move(node));
        whole->operators.push_back(op);
        whole = add(std::move(whole), sum());
    }
    return whole ? std::move(whole) : std::move(node);
}

ExprPtr Parser::sum() {
    ExprPtr node = concat();
    while (is_symbol("+") || is_symbol("-")) {
        auto whole = make(ExprKind::binary, token().line);
        whole->operators.push_back(take().text == "+" ? Operator::add : Operator::subtract);
        whole = add(std::move(whole), std::move(node));
        node = add(std::move(whole), concat());
    }
    return node;
}

ExprPtr Parser::concat() {
    ExprPtr node = product();
    if (!is_symbol("~")) return node;
    auto whole = add(make(ExprKind::concat, token().line), std::move(node));
    while (skip_symbol("~")) whole = add(std::move(whole), product());
    return whole;
}

ExprPtr Parser::product() {
    constexpr std::array<std::pair<std::string_view, Operator>, 4> kOperators = {{
        {"*", Operator::multiply},
        {"/", Operator::divide},
        {"//", Operator::floor_divide},
        {"%", Operator::modulo},
    }};
    ExprPtr node = power();
    for (;;) {
        const auto found = std::find_if(kOperators.begin(), kOperators.end(),
                                        [&](const auto& entry) { return is_symbol(entry.first); });
        if (found == kOperators.end()) return node;
        auto whole = make(ExprKind::binary, take().line);
        whole->operators.push_back(found->second);
        whole = add(std::move(whole), std::move(node));
        node = add(std::move(whole), power());
    }
}

ExprPtr Parser::power() {
    ExprPtr node = unary(true);
    while (is_symbol("**")) {
        auto whole = make(ExprKind::binary, take().line);
        whole->operators.push_back(Operator::power);
        whole = add(std::move(whole), std::move(node));
        node = add(std::move(whole), unary(true));
    }
    return node;
}

ExprPtr Parser::unary(bool with_filters) {
    ExprPtr node;
    if (is_symbol("-") || is_symbol("+")) {
        const Level level(*this);
        node = make(is_symbol("-") ? ExprKind::negative : ExprKind::positive, token().line);
        take();
        node = add(std::move(node), unary(false));
    } else {
        node = primary();
    }
    node = postfix(std::move(node));
    return with_filters ? filters(std::move(node)) : std::move(node);
}

ExprPtr Parser::primary() {
    switch (token().kind) {
        case TokenKind::name:
            return primary_name();
        case TokenKind::integer:
        case TokenKind::real:
            return primary_number();
        case TokenKind::string: {
            auto node = make(ExprKind::constant, token().line);
            std::string text;
            while (token().kind == TokenKind::string) text += take().text;
            node->constant = Value::string(std::move(text));
            return node;
        }
        default:
            break;
    }
    if (is_symbol("(")) return parenthesized();
    if (is_symbol("[")) return bracketed_list();
    if (is_symbol("{")) return bracketed_dict();
    fail(fmt::format("expected an expression, found {}", met()));
    return make(ExprKind::constant, token().line);
}

ExprPtr Parser::primary_name() {
    auto node = make(ExprKind::constant, token().line);
    const std::string name = take().text;
    if (name == "true" || name == "True") {
        node->constant = Value::boolean(true);
    } else if (name == "false" || name == "False") {
        node->constant = Value::boolean(false);
    } else if (name == "none" || name == "None") {
        node->constant = Value::none();
    } else {
        node->kind = ExprKind::name;
        node->name = intern(name);
        for (Signature* macro : signatures_) {
            macro->uses_caller |= node->name == kNameCaller;
            macro->uses_varargs |= node->name == kNameVarargs;
            macro->uses_kwargs |= node->name == kNameKwargs;
        }
    }
    return node;
}

ExprPtr Parser::primary_number() {
    auto node = make(ExprKind::constant, token().line);
    const Token number = take();
    std::string_view text = number.text;
    const char* const end = text.data() + text.size();
    if (number.kind == TokenKind::real) {
        double value = 0;
        // Out of range gives the infinity or zero that Python reads as well.
        if (std::from_chars(text.data(), end, value).ec == std::errc::result_out_of_range) {
            const bool small = text.find("e-") != text.npos || text.find("E-") != text.npos;
            value = small ? 0.0 : 1e308 * 10;
        }
        node->constant = Value::real(value);
        return node;
    }
    int base = 10;
    if (text.size() > 2 && text[0] == '0' && text[1] > '9') {
        const char mark = static_cast<char>(text[1] | 0x20);
        base = mark == 'x' ? 16 : (mark == 'o' ? 8 : 2);
        text.remove_prefix(2);
    }
    std::int64_t value = 0;
    const auto result = std::from_chars(text.data(), end, value, base);
    if (result.ec != std::errc{} || result.ptr != end) {
        fail(fmt::format("the integer {} does not fit 64 bits", number.text.substr(0, 40)));
    }
    node->constant = Value::integer(value);
    return node;
}

ExprPtr Parser::parenthesized() {
    const Level level(*this);
    const int line = take().line;
    if (skip_symbol(")")) return make(ExprKind::tuple, line);
    ExprPtr node = tuple_expression();
    expect_symbol(")");
    return node;
}

ExprPtr Parser::bracketed_list() {
    const Level level(*this);
    auto node = make(ExprKind::list, take().line);
    while (!failed_ && !is_symbol("]")) {
        if (!node->items.empty()) expect_symbol(",");
        if (is_symbol("]")) break;
        node = add(std::move(node), expression());
    }
    expect_symbol("]");
    return node;
}

ExprPtr Parser::bracketed_dict() {
    const Level level(*this);
    auto node = make(ExprKind::dict, take().line);
    while (!failed_ && !is_symbol("}")) {
        if (!node->items.empty()) expect_symbol(",");
        if (is_symbol("}")) break;
        node = add(std::move(node), expression());
        expect_symbol(":");
        node = add(std::move(node), expression());
    }
    expect_symbol("}");
    return node;
}

ExprPtr Parser::postfix(ExprPtr node) {
    while (!failed_) {
        if (is_symbol(".")) {
            node = attribute(std::move(node));
        } else if (is_symbol("[")) {
            node = subscript(std::move(node));
        } else if (is_symbol("(")) {
            node = call(std::move(node));
        } else {
            break;
        }
    }
    return node;
}

ExprPtr Parser::filters(ExprPtr node) {
    while (!failed_) {
        if (skip_symbol("|")) {
            node = one_filter(std::move(node));
        } else if (is_name("is")) {
            node = one_test(std::move(node));
        } else if (is_symbol("(")) {
            node = call(std::move(node));
        } else {
            break;
        }
    }
    return node;
}

std::string Parser::dotted_name() {
    std::string name = expect_name("the name of a filter or test");
    while (skip_symbol(".")) name += "." + expect_name("a name after the dot");
    return name;
}

ExprPtr Parser::one_filter(ExprPtr node) {
    auto whole = make(ExprKind::filter, token().line);
    whole->text = dotted_name();
    whole->filter = find_filter(whole->text);
    if (!whole->filter && !failed_) {
        unknown_.push_back(
            {fmt::format("there is no filter '{}'", whole->text), whole->line, scope_});
    }
    whole = add(std::move(whole), std::move(node));
    if (is_symbol("(")) call_arguments(*whole);
    return whole;
}

ExprPtr Parser::one_test(ExprPtr node) {
    const int line = take().line;
    const bool negated = skip_name("not");
    auto whole = make(ExprKind::test, line);
    // The comparison signs are tests as well: select('>=', 2), x is in y.
    whole->text = dotted_name();
    whole->test = find_test(whole->text);
    if (!whole->test && !failed_) {
        unknown_.push_back({fmt::format("there is no test '{}'", whole->text), line, scope_});
    }
    whole = add(std::move(whole), std::move(node));
    const TokenKind kind = token().kind;
    const bool keyword = is_name("else") || is_name("or") || is_name("and") || is_name("if");
    const bool argument = kind == TokenKind::name || kind == TokenKind::string ||
                          kind == TokenKind::integer || kind == TokenKind::real || is_symbol("[") ||
                          is_symbol("{");
    if (is_symbol("(")) {
        call_arguments(*whole);
    } else if (argument && !keyword) {
        if (is_name("is")) fail("tests cannot be chained with 'is'");
        const Level level(*this);
        whole->arguments.positional.push_back(counted(*whole, postfix(primary())));
    }
    if (!negated) return whole;
    return add(make(ExprKind::logical_not, line), std::move(whole));
}

ExprPtr Parser::attribute(ExprPtr node) {
    const int line = take().line;
    if (token().kind == TokenKind::integer) {
        auto whole = add(make(ExprKind::subscript, line), std::move(node));
        return add(std::move(whole), primary_number());
    }
    auto whole = make(ExprKind::attribute, line);
    whole->text = expect_name("the name of an attribute");
    return add(std::move(whole), std::move(node));
}

ExprPtr Parser::subscript(ExprPtr node) {
    const Level level(*this);
    auto whole = add(make(ExprKind::subscript, take().line), std::move(node));
    ExprPtr part = subscript_part();
    if (is_symbol(",")) {
        auto tuple = add(make(ExprKind::tuple, token().line), std::move(part));
        while (!failed_ && skip_symbol(",")) tuple = add(std::move(tuple), subscript_part());
        part = std::move(tuple);
    }
    expect_symbol("]");
    return add(std::move(whole), std::move(part));
}

/// An index or start:stop:step.
ExprPtr Parser::subscript_part() {
    const int line = token().line;
    ExprPtr first;
    if (!is_symbol(":")) {
        first = expression();
        if (!is_symbol(":")) return first;
    }
    take();
    auto slice = add(make(ExprKind::slice, line), std::move(first));
    const auto absent = [&] { return is_symbol(":") || is_symbol("]") || is_symbol(","); };
    slice = add(std::move(slice), absent() ? nullptr : expression());
    const bool step = skip_symbol(":") && !absent();
    return add(std::move(slice), step ? expression() : nullptr);
}

ExprPtr Parser::call(ExprPtr node) {
    auto whole = add(make(ExprKind::call, token().line), std::move(node));
    call_arguments(*whole);
    return whole;
}

void Parser::call_arguments(Expr& owner) {
    const Level level(*this);
    expect_symbol("(");
    bool first = true;
    while (!failed_ && !is_symbol(")")) {
        if (!first) expect_symbol(",");
        first = false;
        if (is_symbol(")")) break;
        if (!call_argument(owner)) fail("the order of the call's arguments is invalid");
    }
    expect_symbol(")");
}

bool Parser::call_argument(Expr& owner) {
    CallArguments& arguments = owner.arguments;
    if (skip_symbol("*")) {
        if (arguments.star || arguments.double_star) return false;
        arguments.star = counted(owner, expression());
        return true;
    }
    if (skip_symbol("**")) {
        if (arguments.double_star) return false;
        arguments.double_star = counted(owner, expression());
        return true;
    }
    const bool named =
        token().kind == TokenKind::name && ahead().kind == TokenKind::symbol && ahead().text == "=";
    if (named) {
        if (arguments.double_star) return false;
        std::string name = take().text;
        take();
        arguments.keyword.emplace_back(std::move(name), counted(owner, expression()));
        return true;
    }
    if (!arguments.keyword.empty() || arguments.star || arguments.double_star) return false;
    arguments.positional.push_back(counted(owner, expression()));
    return true;
}

}  // namespace hearth::jinja
