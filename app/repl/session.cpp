#include "app/repl/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/repl/graphemes.h"

namespace hearth::repl {

void ReplSession::say(std::string_view text) { terminal.write(sanitize(text) + "\n"); }

void ReplSession::say_dim(std::string_view text) {
    terminal.write(dim_on + sanitize(text) + dim_off + "\n");
}

std::string grouped(std::int64_t n) {
    std::string digits = std::to_string(n);
    const std::size_t first = n < 0 ? 1 : 0;
    for (std::size_t i = digits.size(); i > first + 3;) {
        i -= 3;
        digits.insert(i, ",");
    }
    return digits;
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
    return "[" + std::string(static_cast<std::size_t>(full), '#') +
           std::string(static_cast<std::size_t>(cells - full), '.') + "]";
}

}  // namespace hearth::repl
