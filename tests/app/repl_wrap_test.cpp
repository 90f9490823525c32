// Streamed answers: what the screen shows, whatever way the text is split.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "app/repl/graphemes.h"
#include "app/repl/word_wrap.h"

using namespace hearth::repl;

namespace {

/// A terminal of a few lines of code: characters, newline, cursor left, erase to the end of row.
std::vector<std::string> screen(const std::string& bytes, int columns) {
    struct Cell {
        std::string text;
        int columns;
    };
    std::vector<std::vector<Cell>> rows(1);
    for (std::size_t i = 0; i < bytes.size();) {
        if (bytes[i] == '\n') {
            rows.emplace_back();
            ++i;
        } else if (bytes.compare(i, 2, "\x1b[") == 0) {
            std::size_t used = 0;
            const int n = bytes[i + 2] == 'K' ? 0 : std::stoi(bytes.substr(i + 2), &used);
            if (n > 0) {
                REQUIRE(bytes[i + 2 + used] == 'D');
                for (int left = n; left > 0; rows.back().pop_back()) {
                    REQUIRE_FALSE(rows.back().empty());
                    left -= rows.back().back().columns;
                }
            }
            i += 3 + used;
        } else {
            const std::size_t end = next_grapheme(bytes, i);
            const std::string cluster = bytes.substr(i, end - i);
            const int width = cluster == "\t" ? 1 : cluster_columns(cluster);
            int at = 0;
            for (const auto& cell : rows.back()) at += cell.columns;
            if (at + width > columns) rows.emplace_back();
            rows.back().push_back({cluster, width});
            i = end;
        }
    }
    std::vector<std::string> out;
    for (const auto& row : rows) {
        std::string text;
        for (const auto& cell : row) text += cell.text;
        out.push_back(text);
    }
    return out;
}

std::vector<std::string> wrapped(const std::vector<std::string>& pieces, int columns) {
    WordWrap wrap(columns);
    std::string bytes;
    for (const auto& piece : pieces) {
        std::string out;  // a write of its own, so that words on the screen are taken back
        wrap.push(piece, out);
        bytes += out;
    }
    wrap.finish(bytes);
    return screen(bytes, columns);
}

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("rows end at words", "[repl][wrap]") {
    CHECK(wrapped({"the quick brown fox"}, 11) == Rows{"the quick ", "brown fox", ""});
    CHECK(wrapped({"the quick  brown"}, 10) == Rows{"the quick", "brown", ""});
    CHECK(wrapped({"one two\nthree"}, 20) == Rows{"one two", "three", ""});
    CHECK(wrapped({"well-known words"}, 8) == Rows{"well-", "known ", "words", ""});
}

TEST_CASE("wide text breaks anywhere but before its punctuation", "[repl][wrap]") {
    CHECK(wrapped({"你好世界，再见"}, 9) == Rows{"你好世", "界，再见", ""});
    CHECK(wrapped({"他说「你好」"}, 8) == Rows{"他说", "「你", "好」", ""});
    CHECK(wrapped({"中文 and English"}, 10) == Rows{"中文 and ", "English", ""});
}

TEST_CASE("a joined emoji is two columns and never torn", "[repl][wrap]") {
    CHECK(wrapped({"👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧"}, 5) ==
          Rows{"👨‍👩‍👧👨‍👩‍👧", "👨‍👩‍👧", ""});
}

TEST_CASE("a word longer than a row and code are left to the terminal", "[repl][wrap]") {
    WordWrap wrap(10);
    std::string out;
    wrap.push("see https://example.org/a/long/path now\n", out);
    CHECK(out.find("https://example.org/a/long/path") != std::string::npos);
    out.clear();
    wrap.push("```c\nint main() { return 0; }\n```\nthen words again", out);
    CHECK(out.find("int main() { return 0; }\n```\n") != std::string::npos);
    CHECK(out.find("then words\n") == std::string::npos);
    CHECK(out.find("then \nwords \nagain") != std::string::npos);
}

TEST_CASE("any split of the answer gives the same screen", "[repl][wrap]") {
    // clang-format off
    const std::string text =
        "  \nThe naïve 👩‍💻 wrote 你好，世界！「再见」 in C++ — e\u0301tude:\n\n- a  "
        "list-item\twith tabs\r\n"
        "```py\nprint('a long line of code that is wider')\n```\nhttps://example.org/very/long "
        "end\x1b[2J.\n\n\n";
    // clang-format on
    const int columns = GENERATE(3, 8, 10, 17, 24, 80, 200);
    CAPTURE(columns);
    const Rows whole = wrapped({text}, columns);
    std::vector<std::string> singles;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t n = code_point_at(text, i).n_bytes;
        singles.push_back(text.substr(i, n));
        i += n;
    }
    CHECK(wrapped(singles, columns) == whole);
    CHECK(whole.back().empty());
    CHECK(whole[0].substr(0, 3) == "The");
    std::string joined;
    for (const auto& row : whole) joined += row;
    CHECK(joined.find('\x1b') == std::string::npos);
    for (std::size_t i = 0; i < singles.size(); i += 3) {
        std::string left, right;
        for (std::size_t j = 0; j < singles.size(); ++j) (j < i ? left : right) += singles[j];
        CHECK(wrapped({left, right}, columns) == whole);
    }
}

TEST_CASE("without columns text goes through unbroken", "[repl][wrap]") {
    WordWrap wrap(0);
    std::string out;
    wrap.push("a very long line of words\n\nthat stays", out);
    wrap.finish(out);
    CHECK(out == "a very long line of words\n\nthat stays\n");
    out.clear();
    wrap.finish(out);
    CHECK(out.empty());
}

TEST_CASE("thinking stands apart", "[repl][wrap]") {
    const std::string text =
        "\n<think>\nhm </thin k> <b>\n</think>\n\nThe answer <think>is</think>.";
    std::string whole;
    for (std::size_t step = 1; step <= text.size(); ++step) {
        AnswerText answer(0, "[dim]", "[/dim]");
        std::string out;
        for (std::size_t i = 0; i < text.size(); i += step)
            out += answer.push(text.substr(i, step));
        out += answer.finish();
        CHECK(out ==
              "[dim]Thinking …\nhm </thin k> <b>\n… done thinking.[/dim]\n\n"
              "The answer <think>is</think>.\n");
    }
    SECTION("stopped while thinking") {
        AnswerText answer(0, "[", "]");
        CHECK(answer.push("<think>hm</th") == "[Thinking …\nhm");
        CHECK(answer.finish() == "</th\n]");
    }
    SECTION("empty thinking is not shown") {
        AnswerText answer(0, "[", "]");
        CHECK(answer.push("<think>\n\n</think>\n\nHi") == "Hi");
    }
}
