#include "engine/text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "engine/text/jinja/unicode.h"

namespace hearth::jinja {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

/// One kind of line end; a single one at the very end is dropped (keep_trailing_newline off).
std::string normalize_newlines(std::string_view source) {
    std::string result;
    result.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
            result.push_back('\n');
        } else {
            result.push_back(source[i]);
        }
    }
    if (!result.empty() && result.back() == '\n') result.pop_back();
    return result;
}

bool ascii_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c) {
    if (ascii_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/// Reads up to `n_max` digits of `base` at `at`; nothing when fewer than `n_min` are there.
std::optional<std::int32_t> read_digits(std::string_view text, std::size_t& at, int base,
                                        std::size_t n_min, std::size_t n_max) {
    std::int64_t value = 0;
    std::size_t n = 0;
    while (n < n_max && at + n < text.size() && digit_value(text[at + n]) < base) {
        value = value * base + digit_value(text[at + n]);
        ++n;
    }
    if (n < n_min || value > 0x10FFFF) return std::nullopt;
    at += n;
    return static_cast<std::int32_t>(value);
}

/// Resolves the escape after a backslash at `at`; false where Python refuses it.
bool append_escape(std::string& out, std::string_view text, std::size_t& at) {
    constexpr std::string_view kFrom = "\\'\"abfnrtv";
    constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    const char c = text[at];
    if (const std::size_t simple = kFrom.find(c); simple != kNone) {
        out.push_back(kTo[simple]);
        ++at;
        return true;
    }
    if (c == '\n') {
        ++at;
        return true;
    }
    std::optional<std::int32_t> code_point;
    if (c >= '0' && c <= '7') {
        code_point = read_digits(text, at, 8, 1, 3);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        const std::size_t n = c == 'x' ? 2 : (c == 'u' ? 4 : 8);
        code_point = read_digits(text, ++at, 16, n, n);
    } else {
        out.push_back('\\');  // an unknown escape stays, as in Python
        return true;
    }
    if (!code_point) return false;
    encode(out, *code_point);
    return true;
}

std::optional<std::string> unescape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] != '\\') {
            out.push_back(text[at++]);
            continue;
        }
        if (!append_escape(out, text, ++at)) return std::nullopt;
    }
    return out;
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : buffer_(normalize_newlines(source)) {
        source_ = buffer_;
    }
    tl::expected<std::vector<Token>, Failure> run();

  private:
    void lex_data(std::size_t tag);
    void strip_before(std::string_view& text, char sign, bool print) const;
    void comment();
    std::size_t after_raw_begin(std::size_t tag) const;
    void raw(std::size_t body);
    void tag(bool print);
    bool tag_end(bool print);
    void tag_token();
    void number();
    bool radix_number();
    void name();
    void string();
    void symbol();
    bool balance(char bracket);

    bool starts(std::string_view what) const { return source_.substr(at_).starts_with(what); }
    std::size_t skip_space(std::size_t at) const {
        while (at < source_.size()) {
            const CodePoint c = decode(source_, at);
            if (!is_space(c.value)) break;
            at += c.n_bytes;
        }
        return at;
    }
    /// Moves to `at`; counts lines and remembers whether a line starts there.
    void move(std::size_t at) {
        line_ +=
            static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                        source_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
        line_starting_ = at > at_ && source_[at - 1] == '\n';
        at_ = at;
    }
    void push(TokenKind kind, std::string text) {
        tokens_.push_back({kind, std::move(text), line_});
    }
    void fail(std::string message) {
        if (!failure_) failure_ = Failure{Failure::Kind::syntax, std::move(message), line_};
    }

    std::string buffer_;
    std::string_view source_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool line_starting_ = true;
    std::string brackets_;  ///< closing brackets that are due
    std::vector<Token> tokens_;
    std::optional<Failure> failure_;
};

tl::expected<std::vector<Token>, Failure> Lexer::run() {
    while (at_ < source_.size() && !failure_) {
        std::size_t tag = at_;
        do {
            tag = source_.find('{', tag);
            if (tag == kNone || tag + 1 >= source_.size()) {
                tag = kNone;
                break;
            }
            const char next = source_[tag + 1];
            if (next == '%' || next == '{' || next == '#') break;
            ++tag;
        } while (true);
        if (tag == kNone) {
            push(TokenKind::data, std::string(source_.substr(at_)));
            break;
        }
        lex_data(tag);
    }
    if (failure_) return tl::unexpected(*failure_);
    push(TokenKind::end, "");
    return std::move(tokens_);
}

/// Emits the text before the tag at `tag`, then reads the tag.
void Lexer::lex_data(std::size_t tag_at) {
    const char type = source_[tag_at + 1];
    std::string_view text = source_.substr(at_, tag_at - at_);
    const char sign = tag_at + 2 < source_.size() ? source_[tag_at + 2] : ' ';
    const bool signed_tag = sign == '-' || sign == '+';
    strip_before(text, sign, type == '{');
    if (!text.empty()) push(TokenKind::data, std::string(text));
    const std::size_t raw_body = type == '%' ? after_raw_begin(tag_at) : kNone;
    if (raw_body != kNone) {
        move(tag_at);
        raw(raw_body);
        return;
    }
    move(tag_at + (signed_tag ? 3 : 2));
    if (type == '#') {
        comment();
    } else {
        tag(type == '{');
    }
}

void Lexer::strip_before(std::string_view& text, char sign, bool print) const {
    if (sign == '-') {
        while (!text.empty()) {
            std::size_t last = text.size() - 1;
            while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
            const CodePoint c = decode(text, last);
            if (!is_space(c.value) || last + c.n_bytes != text.size()) break;
            text = text.substr(0, last);
        }
        return;
    }
    if (sign == '+' || print) return;
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == kNone ? 0 : newline + 1;
    if (line == 0 && !line_starting_) return;
    for (std::size_t at = line; at < text.size();) {
        const CodePoint c = decode(text, at);
        if (!is_space(c.value)) return;
        at += c.n_bytes;
    }
    text = text.substr(0, line);
}

void Lexer::comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == kNone) return fail("a comment {# is not closed with #}");
    std::size_t next = close + 2;
    const char sign = close > at_ ? source_[close - 1] : ' ';
    if (sign == '-') {
        next = skip_space(next);
    } else if (sign != '+' && next < source_.size() && source_[next] == '\n') {
        ++next;
    }
    move(next);
}

/// Where the text after a {% raw %} at `tag` begins, or kNone when it is another tag.
std::size_t Lexer::after_raw_begin(std::size_t tag) const {
    std::size_t at = tag + 2;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) ++at;
    at = skip_space(at);
    if (!source_.substr(at).starts_with("raw")) return kNone;
    at = skip_space(at + 3);
    if (source_.substr(at).starts_with("-%}")) return skip_space(at + 3);
    return source_.substr(at).starts_with("%}") ? at + 2 : kNone;
}

void Lexer::raw(std::size_t body) {
    move(body);
    for (std::size_t tag = body;; ++tag) {
        tag = source_.find("{%", tag);
        if (tag == kNone) return fail("{% raw %} is not closed with {% endraw %}");
        std::size_t at = tag + 2;
        const char sign = at < source_.size() ? source_[at] : ' ';
        if (sign == '-' || sign == '+') ++at;
        at = skip_space(at);
        if (!source_.substr(at).starts_with("endraw")) continue;
        at = skip_space(at + 6);
        const std::string_view rest = source_.substr(at);
        std::size_t next = kNone;
        if (rest.starts_with("+%}")) next = at + 3;
        if (rest.starts_with("-%}")) next = skip_space(at + 3);
        if (rest.starts_with("%}")) next = at + (rest.starts_with("%}\n") ? 3 : 2);
        if (next == kNone) continue;
        std::string_view text = source_.substr(body, tag - body);
        strip_before(text, sign, false);
        if (!text.empty()) push(TokenKind::data, std::string(text));
        move(next);
        return;
    }
}

void Lexer::tag(bool print) {
    push(print ? TokenKind::print_begin : TokenKind::block_begin, print ? "{{" : "{%");
    brackets_.clear();
    while (!failure_) {
        move(skip_space(at_));
        if (at_ >= source_.size()) {
            return fail(fmt::format("the template ends inside a {} tag", print ? "{{" : "{%"));
        }
        if (brackets_.empty() && tag_end(print)) return;
        tag_token();
    }
}

bool Lexer::tag_end(bool print) {
    const std::string_view close = print ? "}}" : "%}";
    const std::string_view rest = source_.substr(at_);
    std::size_t next = kNone;
    if (rest.starts_with(close)) {
        const bool newline = !print && rest.size() > 2 && rest[2] == '\n';
        next = at_ + (newline ? 3 : 2);
    } else if (rest.starts_with('-') && rest.substr(1).starts_with(close)) {
        next = skip_space(at_ + 3);
    } else if (!print && rest.starts_with("+%}")) {
        next = at_ + 3;
    }
    if (next == kNone) return false;
    push(print ? TokenKind::print_end : TokenKind::block_end, std::string(close));
    move(next);
    return true;
}

void Lexer::tag_token() {
    const char c = source_[at_];
    if (ascii_digit(c)) return number();
    if (c == '\'' || c == '"') return string();
    const CodePoint code_point = decode(source_, at_);
    if (code_point.valid && is_word(code_point.value)) return name();
    symbol();
}

bool Lexer::radix_number() {
    if (source_[at_] != '0' || at_ + 1 >= source_.size()) return false;
    const char mark = static_cast<char>(source_[at_ + 1] | 0x20);
    const int base = mark == 'x' ? 16 : (mark == 'o' ? 8 : (mark == 'b' ? 2 : 0));
    if (base == 0) return false;
    std::size_t end = at_ + 2;
    while (end < source_.size() && (source_[end] == '_' || digit_value(source_[end]) < base)) ++end;
    if (end == at_ + 2) return false;
    std::string text(source_.substr(at_, end - at_));
    std::erase(text, '_');
    push(TokenKind::integer, std::move(text));
    move(end);
    return true;
}

void Lexer::number() {
    if (radix_number()) return;
    const auto digits = [&](std::size_t at) {
        while (at < source_.size() &&
               (ascii_digit(source_[at]) ||
                (source_[at] == '_' && at + 1 < source_.size() && ascii_digit(source_[at + 1])))) {
            ++at;
        }
        return at;
    };
    const auto digit_at = [&](std::size_t at) {
        return at < source_.size() && ascii_digit(source_[at]);
    };
    std::size_t end = digits(at_);
    bool real = false;
    if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
        real = true;
        end = digits(end + 1);
    }
    if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        std::size_t power = end + 1;
        if (power < source_.size() && (source_[power] == '+' || source_[power] == '-')) ++power;
        if (digit_at(power)) {
            real = true;
            end = digits(power);
        }
    }
    std::string text(source_.substr(at_, end - at_));
    std::erase(text, '_');
    push(real ? TokenKind::real : TokenKind::integer, std::move(text));
    move(end);
}

void Lexer::name() {
    std::size_t end = at_;
    while (end < source_.size()) {
        const CodePoint c = decode(source_, end);
        if (!c.valid || !is_word(c.value)) break;
        end += c.n_bytes;
    }
    push(TokenKind::name, std::string(source_.substr(at_, end - at_)));
    move(end);
}

void Lexer::string() {
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
        return fail(fmt::format("a string that begins with {} has no end", quote));
    auto text = unescape(source_.substr(at_ + 1, end - at_ - 1));
    if (!text) return fail("a string holds an escape with too few digits");
    push(TokenKind::string, std::move(*text));
    move(end + 1);
}

bool Lexer::balance(char bracket) {
    if (bracket == '(') brackets_.push_back(')');
    if (bracket == '[') brackets_.push_back(']');
    if (bracket == '{') brackets_.push_back('}');
    if (bracket != ')' && bracket != ']' && bracket != '}') return true;
    if (brackets_.empty()) {
        fail(fmt::format("unexpected '{}'", bracket));
        return false;
    }
    if (brackets_.back() != bracket) {
        fail(fmt::format("unexpected '{}', expected '{}'", bracket, brackets_.back()));
        return false;
    }
    brackets_.pop_back();
    return true;
}

void Lexer::symbol() {
    constexpr std::array<std::string_view, 26> kSymbols = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view symbol : kSymbols) {
        if (!starts(symbol)) continue;
        if (!balance(symbol[0])) return;
        push(TokenKind::symbol, std::string(symbol));
        return move(at_ + symbol.size());
    }
    const CodePoint c = decode(source_, at_);
    fail(fmt::format("unexpected character '{}'",
                     c.valid ? std::string(source_.substr(at_, c.n_bytes)) : "\xEF\xBF\xBD"));
}

}  // namespace

tl::expected<std::vector<Token>, Failure> tokenize(std::string_view source) {
    return Lexer(source).run();
}

}  // namespace hearth::jinja
