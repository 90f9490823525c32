// Columns, rows and what is printed for every byte.
#include <string>

#include <catch2/catch.hpp>

#include "app/repl/graphemes.h"
#include "app/repl/line_layout.h"

using namespace hearth::repl;

TEST_CASE("columns of text", "[repl][layout]") {
    CHECK(text_columns("abc") == 3);
    CHECK(text_columns("é") == 1);
    CHECK(text_columns("e\u0301") == 1);
    CHECK(text_columns("你好") == 4);
    CHECK(text_columns("，") == 2);
    CHECK(text_columns("👩‍💻") == 2);
    CHECK(text_columns("👨‍👩‍👧") == 2);
    CHECK(text_columns("👍🏽") == 2);
    CHECK(text_columns("🇨🇳") == 2);
    CHECK(text_columns("❤️") == 2);
    CHECK(text_columns("한국") == 4);
    CHECK(text_columns("\u1112\u1161\u11ab") == 2);  // one syllable of three letters
    CHECK(text_columns("ab\tc") == 5);
    CHECK(text_columns("\x1b[1m") == 5);
}

TEST_CASE("no control byte is printed", "[repl][layout]") {
    std::string all;
    for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
    all += "\xc2\x9b\x32J";  // C1 control sequence introducer
    for (const std::string& out : {sanitize_line(all), printable(all, 0)}) {
        for (std::size_t i = 0; i < out.size();) {
            const CodePoint cp = code_point_at(out, i);
            CHECK(cp.valid);
            const bool control = cp.value < 0x20 || (cp.value >= 0x7F && cp.value < 0xA0);
            CHECK_FALSE(control);
            i += cp.n_bytes;
        }
    }
    CHECK(sanitize("a\x1b[2Jb\r\nc\td\x7f") == "a␛[2Jb\nc\td␡");
}

TEST_CASE("clusters are found backwards as forwards", "[repl][layout]") {
    const std::string text = "a\n👨‍👩‍👧🇨🇳🇫🇷e\u0301你x한국";
    std::vector<std::size_t> forward{0}, backward;
    while (forward.back() < text.size()) forward.push_back(next_grapheme(text, forward.back()));
    for (std::size_t i = text.size();; i = previous_grapheme(text, i)) {
        backward.insert(backward.begin(), i);
        if (i == 0) break;
    }
    CHECK(forward == backward);
    CHECK(forward.size() == 11);
}

TEST_CASE("rows break before a wide character that does not fit", "[repl][layout]") {
    // 10 columns: 9 usable, 4 of them taken by the prompt.
    const std::string text = "你好世界";
    const Layout l = lay_out(text, text.size(), 4, 4, 10);
    REQUIRE(l.rows.size() == 2);
    CHECK(text.substr(l.rows[0].begin, l.rows[0].end - l.rows[0].begin) == "你好");
    CHECK(l.rows[1].continued);
    CHECK(l.cursor_row == 1);
    CHECK(l.cursor_column == 8);
}

TEST_CASE("the cursor is where the text is", "[repl][layout]") {
    const std::string text = "ab\n\ncd";
    const auto at = [&](std::size_t cursor) {
        const Layout l = lay_out(text, cursor, 4, 4, 80);
        return std::pair{l.cursor_row, l.cursor_column};
    };
    CHECK(at(0) == std::pair{0, 4});
    CHECK(at(2) == std::pair{0, 6});
    CHECK(at(3) == std::pair{1, 4});
    CHECK(at(4) == std::pair{2, 4});
    CHECK(at(6) == std::pair{2, 6});
    CHECK(lay_out("", 0, 4, 4, 80).rows.size() == 1);
    CHECK(lay_out("abcdef", 3, 4, 4, 1).rows.size() == 3);  // a silly terminal still works
}

TEST_CASE("clip keeps whole clusters", "[repl][layout]") {
    CHECK(clip("hello", 5) == "hello");
    CHECK(clip("hello!", 5) == "hell…");
    CHECK(clip("你好世界", 6) == "你好…");
    CHECK(clip("a\nb\x1b", 10) == "a b␛");
}
