#include "app/gui/math.h"

#include <algorithm>
#include <array>

#include "app/gui/markdown.h"

namespace hearth::gui {
namespace {

struct Symbol {
    std::string_view name, text;
};
constexpr Symbol kSymbols[] = {
    {"alpha", "α"},       {"beta", "β"},       {"gamma", "γ"},      {"delta", "δ"},
    {"epsilon", "ε"},     {"varepsilon", "ε"}, {"zeta", "ζ"},       {"eta", "η"},
    {"theta", "θ"},       {"iota", "ι"},       {"kappa", "κ"},      {"lambda", "λ"},
    {"mu", "μ"},          {"nu", "ν"},         {"xi", "ξ"},         {"pi", "π"},
    {"rho", "ρ"},         {"sigma", "σ"},      {"tau", "τ"},        {"phi", "φ"},
    {"varphi", "φ"},      {"chi", "χ"},        {"psi", "ψ"},        {"omega", "ω"},
    {"Gamma", "Γ"},       {"Delta", "Δ"},      {"Theta", "Θ"},      {"Lambda", "Λ"},
    {"Xi", "Ξ"},          {"Pi", "Π"},         {"Sigma", "Σ"},      {"Phi", "Φ"},
    {"Psi", "Ψ"},         {"Omega", "Ω"},      {"times", "×"},      {"cdot", "·"},
    {"div", "÷"},         {"pm", "±"},         {"mp", "∓"},         {"leq", "≤"},
    {"le", "≤"},          {"geq", "≥"},        {"ge", "≥"},         {"neq", "≠"},
    {"ne", "≠"},          {"approx", "≈"},     {"equiv", "≡"},      {"sim", "∼"},
    {"infty", "∞"},       {"sum", "∑"},        {"prod", "∏"},       {"int", "∫"},
    {"partial", "∂"},     {"nabla", "∇"},      {"forall", "∀"},     {"exists", "∃"},
    {"in", "∈"},          {"notin", "∉"},      {"subset", "⊂"},     {"subseteq", "⊆"},
    {"cup", "∪"},         {"cap", "∩"},        {"emptyset", "∅"},   {"to", "→"},
    {"rightarrow", "→"},  {"leftarrow", "←"},  {"Rightarrow", "⇒"}, {"implies", "⇒"},
    {"iff", "⇔"},         {"mapsto", "↦"},     {"ldots", "…"},      {"cdots", "⋯"},
    {"dots", "…"},        {"quad", "  "},      {"qquad", "    "},   {"left", ""},
    {"right", ""},        {"langle", "⟨"},     {"rangle", "⟩"},     {"degree", "°"},
    {"circ", "°"},        {"prime", "′"},      {"land", "∧"},       {"lor", "∨"},
    {"neg", "¬"},         {"mathbb", ""},      {"mathbf", ""},      {"mathrm", ""},
    {"text", ""},         {"textbf", ""},      {"mathcal", ""},     {"operatorname", ""},
    {"displaystyle", ""}, {"boxed", ""}};

constexpr std::string_view kAscii = "0123456789+-=()n";
constexpr std::array<std::string_view, 16> kUpper = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷",
                                                     "⁸", "⁹", "⁺", "⁻", "⁼", "⁽", "⁾", "ⁿ"};
constexpr std::array<std::string_view, 15> kLower = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇",
                                                     "₈", "₉", "₊", "₋", "₌", "₍", "₎"};

class MathText {
  public:
    explicit MathText(std::string_view in) : in_(in) {}

    std::string run() {
        std::string out;
        while (at_ < in_.size()) out += item();
        return out;
    }

  private:
    /// One character, command, or {group} as text.
    std::string item() {
        const char c = in_[at_];
        if (c == '{') return group();
        if (c == '\\') return command();
        if (c == '^' || c == '_') {
            ++at_;
            return script(c == '^');
        }
        std::size_t n = 1;
        while (at_ + n < in_.size() && (in_[at_ + n] & 0xC0) == 0x80) ++n;
        at_ += n;
        return c == '&' ? "" : c == '~' ? " " : std::string(in_.substr(at_ - n, n));
    }

    std::string group() {
        int depth = 0;
        const std::size_t begin = at_ + 1;
        for (; at_ < in_.size(); ++at_) {
            if (in_[at_] == '{') ++depth;
            if (in_[at_] == '}' && --depth == 0) break;
        }
        const std::string_view inner = in_.substr(begin, at_ - begin);
        if (at_ < in_.size()) ++at_;
        return depth_ > 20 ? std::string(inner) : nested(inner);
    }

    std::string nested(std::string_view inner) const {
        MathText math(inner);
        math.depth_ = depth_ + 1;
        return math.run();
    }

    std::string argument() {
        while (at_ < in_.size() && in_[at_] == ' ') ++at_;
        return at_ < in_.size() ? item() : std::string();
    }

    static std::string braced(const std::string& text) {
        const bool simple = text.size() <= 1 || text.find_first_of(" +-*/=") == std::string::npos;
        return simple ? text : "(" + text + ")";
    }

    std::string command() {
        ++at_;
        std::size_t n = 0;
        const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        while (at_ + n < in_.size() && letter(in_[at_ + n])) ++n;
        if (n == 0) {
            const char c = at_ < in_.size() ? in_[at_++] : ' ';
            return c == '\\'                                                  ? "\n"
                   : c == ',' || c == ';' || c == ':' || c == '!' || c == ' ' ? " "
                                                                              : std::string(1, c);
        }
        const std::string_view name = in_.substr(at_, n);
        at_ += n;
        if (name == "frac" || name == "dfrac" || name == "tfrac") {
            const std::string top = argument(), bottom = argument();
            return braced(top) + "/" + braced(bottom);
        }
        if (name == "sqrt") return "√" + braced(argument());
        if (name == "begin" || name == "end") {
            (void)argument();
            return "";
        }
        for (const Symbol& symbol : kSymbols) {
            if (symbol.name == name) return std::string(symbol.text);
        }
        return std::string(name);  // \sin, \log, and what is not known
    }

    std::string script(bool upper) {
        const std::string text = argument();
        std::string out;
        for (const char c : text) {
            const std::size_t i = kAscii.find(c);
            const std::size_t n = upper ? kUpper.size() : kLower.size();
            if (i >= n) return (upper ? "^" : "_") + braced(text);
            out += upper ? kUpper[i] : kLower[i];
        }
        return out;
    }

    std::string_view in_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

/// The parser must not see Markdown inside a formula.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (std::string_view("\\`*_{}[]()#+-.!|<>~&$").find(c) != std::string_view::npos)
            out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

}  // namespace

void append_character(std::string& out, char32_t c) {
    const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6), put(0x80 | (c & 63));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
    } else {
        put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63));
        put(0x80 | (c & 63));
    }
}

std::string plain_math(std::string_view latex) { return MathText(latex).run(); }

std::string mark_math(std::string_view source) {
    if (source.find('\\') == std::string_view::npos &&
        source.find("$$") == std::string_view::npos) {
        return std::string(source);
    }
    struct Pair {
        std::string_view begin, end;
    };
    static constexpr Pair kPairs[] = {{"\\(", "\\)"}, {"\\[", "\\]"}, {"$$", "$$"}};
    std::string out;
    bool code = false;
    for (std::size_t i = 0; i < source.size();) {
        bool done = false;
        if (source[i] == '`') code = !code;
        // Three backticks begin a block; toggling three times is the same as once.
        if (!code) {
            for (const Pair& pair : kPairs) {
                if (source.substr(i, 2) != pair.begin) continue;
                const std::size_t end = source.find(pair.end, i + 2);
                if (end == std::string_view::npos || end - i > 4000) continue;
                out += kMathBegin;
                out += escaped(plain_math(source.substr(i + 2, end - i - 2)));
                out += kMathEnd;
                i = end + 2;
                done = true;
                break;
            }
        }
        if (!done) out += source[i++];
    }
    return out;
}

}  // namespace hearth::gui
