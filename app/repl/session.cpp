#include "app/repl/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/repl/graphemes.h"
#include "app/repl/word_wrap.h"

namespace hearth::repl {

void ReplSession::say(std::string_view text) {
    terminal.write(fold(text, terminal.editing() ? columns() : 0) + "\n");
}

void ReplSession::say_dim(std::string_view text) {
    terminal.write(dim_on + fold(text, terminal.editing() ? columns() : 0) + dim_off + "\n");
}

std::string fold(std::string_view text, int columns) {
    const std::string safe = sanitize(text);
    std::string out;
    for (std::size_t begin = 0; begin <= safe.size();) {
        const std::size_t end = std::min(safe.find('\n', begin), safe.size());
        const std::string line = safe.substr(begin, end - begin);
        if (begin > 0) out += '\n';
        if (columns <= 0 || text_columns(line) < columns) {
            out += line;
        } else {
            // WordWrap takes white space at the begin of an answer off; here it is an indent.
            const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
            std::string rows;
            WordWrap wrap(columns - static_cast<int>(indent));
            wrap.push(line.substr(indent), rows);
            for (const char c : rows) {
                out += out.empty() || out.back() == '\n' ? std::string(indent, ' ') + c
                                                         : std::string(1, c);
            }
        }
        begin = end + 1;
    }
    return out;
}

std::string grouped(std::int64_t n) {
    const std::string digits = std::to_string(n);
    const std::size_t first = n < 0 ? 1 : 0;
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > first && (digits.size() - i) % 3 == 0) out += ',';
        out += digits[i];
    }
    return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows, int columns, int indent) {
    std::vector<int> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], text_columns(sanitize_line(row[i])));
        }
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line(static_cast<std::size_t>(indent), ' ');
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string cell = sanitize_line(row[i]);
            line += cell;
            if (i + 1 == row.size()) break;
            line.append(static_cast<std::size_t>(widths[i] - text_columns(cell) + 2), ' ');
        }
        if (!out.empty()) out += '\n';
        out += clip(line, columns - 1);
    }
    return out;
}

std::string gauge(double share, int cells) {
    const int full = std::clamp(static_cast<int>(share * cells + 0.5), 0, cells);
    return fmt::format("[{:#<{}}{:.<{}}]", "", full, "", cells - full);
}

}  // namespace hearth::repl
