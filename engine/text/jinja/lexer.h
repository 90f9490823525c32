#pragma once
// Lexer: template source -> tokens, with Jinja's whitespace rules (trim_blocks and lstrip_blocks
// on, keep_trailing_newline off, - and + on every tag, raw, comments). Knows no grammar.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "engine/text/jinja/failure.h"

namespace hearth::jinja {

enum class TokenKind : std::uint8_t {
    data,         ///< text between tags; `text` holds it
    block_begin,  ///< {%
    block_end,
    print_begin,  ///< {{
    print_end,
    name,
    string,   ///< `text` without quotes, escapes resolved
    integer,  ///< `text` as written, underscores removed
    real,
    symbol,  ///< operators and brackets, `text` is its spelling
    end,
};

struct Token {
    TokenKind kind = TokenKind::end;
    std::string text;
    int line = 1;
};

/// The last token is `end`. Errors are of kind syntax.
tl::expected<std::vector<Token>, Failure> tokenize(std::string_view source);

}  // namespace hearth::jinja
