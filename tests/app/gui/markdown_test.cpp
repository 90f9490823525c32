#include "app/gui/markdown.h"

#include <catch2/catch.hpp>

#include "app/gui/message_view.h"

using namespace hearth::gui;

TEST_CASE("blocks of Markdown", "[gui][markdown]") {
    const MarkdownDocument d = parse_markdown(
        "# Title\n\nText with **bold**, *slanted* and `code`.\n\n- one\n- two\n  1. inner\n\n"
        "> quoted\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n---\n");
    REQUIRE(d.blocks.size() == 9);
    CHECK(d.blocks[0].kind == BlockKind::heading);
    CHECK(d.blocks[0].body.text == "Title");
    CHECK(d.blocks[1].body.text == "Text with bold, slanted and code.");
    CHECK(d.blocks[1].body.spans[1].bold);
    CHECK(d.blocks[1].body.spans[3].italic);
    CHECK(d.blocks[1].body.spans[5].code);
    CHECK(d.blocks[2].marker == "•");
    CHECK(d.blocks[4].marker == "1.");
    CHECK(d.blocks[4].indent == 2);
    CHECK(d.blocks[5].quote == 1);
    CHECK(d.blocks[6].kind == BlockKind::code);
    CHECK(d.blocks[6].language == "python");
    CHECK(d.blocks[6].body.text == "print(1)");
    CHECK(d.blocks[7].kind == BlockKind::table);
    CHECK(d.blocks[7].columns == 2);
    CHECK(d.blocks[7].cells[3].text == "2");
    CHECK(d.blocks[7].aligns[1] == CellAlign::right);
    CHECK(d.blocks[8].kind == BlockKind::rule);
}

TEST_CASE("HTML of an answer is text, entities are characters", "[gui][markdown]") {
    const MarkdownDocument d = parse_markdown("a <b>x</b> &lt;&amp;&#x41;");
    REQUIRE(d.blocks.size() == 1);
    CHECK(d.blocks[0].body.text == "a <b>x</b> <&A");
}

TEST_CASE("links keep their target apart from their words", "[gui][markdown]") {
    const MarkdownDocument d =
        parse_markdown("see [here](https://example.org/a) and https://b.org");
    REQUIRE(d.links.size() == 2);
    CHECK(d.links[0] == "https://example.org/a");
    CHECK(d.blocks[0].body.text == "see here and https://b.org");
    CHECK(d.blocks[0].body.spans[1].link == 0);
}

// G7: prices are no maths.
TEST_CASE("dollars are prices, backslash brackets are formulas", "[gui][markdown]") {
    CHECK(parse_markdown("It costs $5 or $6.").blocks[0].body.text == "It costs $5 or $6.");
    const MarkdownDocument d = parse_markdown("So \\(x^2 + \\frac{a_1}{2}\\) holds.");
    CHECK(d.blocks[0].body.text == "So x² + a₁/2 holds.");
    CHECK(d.blocks[0].body.spans[1].math);
    CHECK(plain_math("\\alpha \\leq \\sqrt{b+1}") == "α ≤ √(b+1)");
    CHECK(parse_markdown("`\\(x\\)`").blocks[0].body.text == "\\(x\\)");
}

TEST_CASE("a growing text keeps all pieces but the last", "[gui][markdown]") {
    const std::string text =
        "Intro.\n\nSecond paragraph.\n\n- a\n\n- b\n\n```\ncode\n\nmore\n```\n\nEnd paragraph.\n";
    std::vector<std::size_t> before;
    for (std::size_t n = 1; n <= text.size(); ++n) {
        const auto ends = split_markdown(std::string_view(text).substr(0, n));
        REQUIRE(ends.back() == n);
        for (std::size_t i = 0; i + 1 < before.size(); ++i) {
            REQUIRE(i < ends.size());
            REQUIRE(ends[i] == before[i]);
        }
        before = ends;
    }
    // The list and the code, with blank lines inside, are not cut.
    CHECK(before.size() == 4);
}

TEST_CASE("open emphasis and code show at once while streaming", "[gui][markdown]") {
    const auto shown = [](const std::string& text) {
        return parse_markdown(close_open_marks(text)).blocks.at(0).body;
    };
    CHECK(shown("so **bold").text == "so bold");
    CHECK(shown("so **bold").spans.back().bold);
    CHECK(shown("run `ls -l").spans.back().code);
    CHECK(shown("an *it").spans.back().italic);
    CHECK(shown("2 * 3").text == "2 * 3");
    CHECK(shown("done **x** y").text == "done x y");
    CHECK(close_open_marks("```\n**x") == "```\n**x");
}

TEST_CASE("thinking is apart from the answer", "[gui][markdown]") {
    const ThinkingSplit done = split_thinking("<think>\nhm\n</think>\n\nYes.");
    CHECK(done.thinking == "\nhm\n");
    CHECK(done.answer == "Yes.");
    const ThinkingSplit open = split_thinking("<think>still");
    CHECK(open.open);
    CHECK(open.answer.empty());
    CHECK(split_thinking("no <think> here").answer == "no <think> here");
}

// H4: a token costs the last piece only.
TEST_CASE("streaming lays out only the last piece", "[gui][markdown]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    MessageView view;
    MessageLook look;
    std::string text;
    for (int i = 0; i < 50; ++i) text += "Paragraph " + std::to_string(i) + " is complete.\n\n";
    view.update(fonts, text, look, true);
    const std::size_t before = view.pieces_laid_out();
    for (int i = 0; i < 20; ++i) {
        text += "word ";
        view.update(fonts, text, look, true);
    }
    CHECK(view.pieces_laid_out() - before <= 22);
    // And ends as if it had been laid out whole.
    view.update(fonts, text, look, false);
    MessageView whole;
    whole.update(fonts, text, look, false);
    CHECK(view.height() == whole.height());
    CHECK(view.n_leaves() == whole.n_leaves());
}
