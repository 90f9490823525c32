#include "app/gui/highlight.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace hearth::gui {
namespace {

/// What the lexer must know of a language.
struct Language {
    std::string_view names;     ///< space separated
    std::string_view comment;   ///< to the end of the line
    std::string_view block[2];  ///< begin and end of a long comment
    std::string_view quotes;
    std::string_view keywords;  ///< space separated
};

constexpr std::string_view kC =
    "alignas auto bool break case catch char class const constexpr continue default delete do "
    "double else enum explicit extern false final float for friend if inline int long namespace "
    "new nullptr operator override private protected public return short signed sizeof static "
    "struct switch template this throw true try typedef typename union unsigned using virtual "
    "void volatile while";

constexpr Language kLanguages[] = {
    {"c cpp c++ cc h hpp cuda cu", "//", {"/*", "*/"}, "\"'", kC},
    {"java kotlin scala csharp cs dart swift",
     "//",
     {"/*", "*/"},
     "\"'",
     "abstract as boolean break byte case catch char class const continue default do double else "
     "enum extends false final finally float for fun func guard if implements import in int "
     "interface internal is let long namespace new null object override package private protected "
     "public return short static string struct super switch this throw true try using val var void "
     "when where while"},
    {"js javascript ts typescript jsx tsx json",
     "//",
     {"/*", "*/"},
     "\"'`",
     "as async await break case catch class const continue default delete do else enum export "
     "extends false finally for from function if implements import in instanceof interface let new "
     "null of return static super switch this throw true try type typeof undefined var void while "
     "yield"},
    {"python py",
     "#",
     {"\"\"\"", "\"\"\""},
     "\"'",
     "and as assert async await break case class continue def del elif else except False finally "
     "for from global if import in is lambda match None nonlocal not or pass raise return self "
     "True "
     "try while with yield"},
    {"rust rs",
     "//",
     {"/*", "*/"},
     "\"",
     "as async await break const continue crate dyn else enum extern false fn for if impl in let "
     "loop match mod move mut pub ref return self Self static struct super trait true type unsafe "
     "use where while"},
    {"go golang",
     "//",
     {"/*", "*/"},
     "\"'`",
     "break case chan const continue default defer else fallthrough false for func go goto if "
     "import interface map nil package range return select struct switch true type var"},
    {"sh bash shell zsh console",
     "#",
     {"", ""},
     "\"'",
     "case do done elif else esac export fi for function if in local return set then until while"},
    {"sql",
     "--",
     {"/*", "*/"},
     "'\"",
     "SELECT FROM WHERE INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX DROP ALTER JOIN "
     "LEFT RIGHT INNER OUTER ON GROUP BY ORDER HAVING LIMIT AS AND OR NOT NULL PRIMARY KEY UNIQUE "
     "DISTINCT UNION CASE WHEN THEN ELSE END select from where insert into values update set "
     "delete "
     "create table index drop alter join left right inner outer on group by order having limit as "
     "and or not null primary key unique distinct union case when then else end"},
    {"ruby rb perl",
     "#",
     {"", ""},
     "\"'",
     "and begin break case class def do else elsif end ensure false for if in module next nil not "
     "or "
     "rescue return self sub super then true unless until when while yield my use"},
    {"lua",
     "--",
     {"--[[", "]]"},
     "\"'",
     "and break do else elseif end false for function goto if in local nil not or repeat return "
     "then "
     "true until while"},
    {"toml ini yaml yml make makefile cmake dockerfile conf", "#", {"", ""}, "\"'", "true false"},
};

bool has_word(std::string_view words, std::string_view word) {
    for (std::size_t at = words.find(word); at != std::string_view::npos;
         at = words.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) {
            return true;
        }
    }
    return false;
}

const Language* find_language(std::string_view name) {
    std::string lower(name.substr(0, name.find_first_of(" ,{")));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower.empty()) return nullptr;
    for (const Language& language : kLanguages) {
        if (has_word(language.names, lower)) return &language;
    }
    return nullptr;
}

bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0;
}

/// End of the token at `at` and its ink.
std::pair<std::size_t, Ink> token(std::string_view code, std::size_t at, const Language& language) {
    const std::string_view rest = code.substr(at);
    const auto starts = [&](std::string_view mark) {
        return !mark.empty() && rest.substr(0, mark.size()) == mark;
    };
    if (starts(language.block[0])) {
        const std::size_t end = code.find(language.block[1], at + language.block[0].size());
        const bool text = language.block[0] == language.block[1];
        return {end == std::string_view::npos ? code.size() : end + language.block[1].size(),
                text ? Ink::string : Ink::comment};
    }
    if (starts(language.comment)) return {std::min(code.find('\n', at), code.size()), Ink::comment};
    const char c = code[at];
    if (language.quotes.find(c) != std::string_view::npos) {
        std::size_t end = at + 1;
        while (end < code.size() && code[end] != c && (code[end] != '\n' || c == '`')) {
            end += code[end] == '\\' ? 2 : 1;
        }
        return {std::min(end + 1, code.size()), Ink::string};
    }
    std::size_t end = at + 1;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
        while (end < code.size() && (is_name(code[end]) || code[end] == '.')) ++end;
        return {end, Ink::number};
    }
    if (!is_name(c)) return {end, Ink::text};
    while (end < code.size() && is_name(code[end])) ++end;
    const bool keyword = has_word(language.keywords, code.substr(at, end - at));
    return {end, keyword ? Ink::keyword : Ink::text};
}

}  // namespace

std::vector<StyleSpan> highlight(std::string_view code, std::string_view language_name,
                                 const TextStyle& base) {
    std::vector<StyleSpan> spans;
    const Language* language = find_language(language_name);
    if (language == nullptr || code.size() > 200'000) {
        return {{0, static_cast<std::uint32_t>(code.size()), base}};
    }
    for (std::size_t at = 0; at < code.size();) {
        const auto [end, ink] = token(code, at, *language);
        const auto to = static_cast<std::uint32_t>(end);
        if (!spans.empty() && spans.back().style.ink == ink) {
            spans.back().end = to;
        } else if (spans.size() < 60'000) {
            spans.push_back({static_cast<std::uint32_t>(at), to, base});
            spans.back().style.ink = ink;
        }
        at = end;
    }
    return spans;
}

}  // namespace hearth::gui
