#include <catch2/catch.hpp>

#include "app/gui/math.h"
#include "app/gui/text/layout.h"
#include "app/gui/text/shape.h"

using namespace hearth::gui;

namespace {

TextLayout plain(Fonts& fonts, const std::string& text, float width = 0, int max_lines = 0) {
    LayoutOptions options;
    options.wrap_width = width;
    options.max_lines = max_lines;
    return lay_out(fonts, text, TextStyle{}, options);
}

std::string line_text(const TextLayout& layout, std::size_t line) {
    return layout.text.substr(layout.lines[line].begin,
                              layout.lines[line].end - layout.lines[line].begin);
}

}  // namespace

TEST_CASE("lines break at words and fit the width", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    const TextLayout layout =
        plain(fonts, "The quick brown fox jumps over the lazy dog, again and again.", 120);
    REQUIRE(layout.lines.size() >= 4);
    for (std::size_t i = 0; i < layout.lines.size(); ++i) {
        CHECK(layout.lines[i].width <= 120.5f);
        if (i + 1 < layout.lines.size()) CHECK(line_text(layout, i).back() == ' ');
    }
    // Nothing is lost between the lines.
    std::string all;
    for (std::size_t i = 0; i < layout.lines.size(); ++i) all += line_text(layout, i);
    CHECK(all == layout.text);
}

TEST_CASE("a word longer than the line is broken, newlines are kept", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    CHECK(plain(fonts, std::string(100, 'x'), 100).lines.size() > 5);
    const TextLayout three = plain(fonts, "a\n\nb");
    REQUIRE(three.lines.size() == 3);
    CHECK(three.lines[1].n_clusters == 0);
    CHECK(plain(fonts, "").lines.size() == 1);
    CHECK(plain(fonts, "end\n").lines.size() == 2);
}

TEST_CASE("Chinese breaks between characters but never before its full stop", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);  // the boxes of missing glyphs have a width as well
    const std::string text = "你好，世界。你好，世界。你好，世界。你好，世界。";
    for (float width = 60; width < 140; width += 7) {
        const TextLayout layout = plain(fonts, text, width);
        REQUIRE(layout.lines.size() > 1);
        for (std::size_t i = 1; i < layout.lines.size(); ++i) {
            CHECK(line_text(layout, i).rfind("。", 0) != 0);
            CHECK(line_text(layout, i).rfind("，", 0) != 0);
        }
    }
}

TEST_CASE("right-to-left text runs from the right, numbers inside it do not", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    const std::string text = "שלום 123 עולם";
    const TextLayout layout = plain(fonts, text, 400);
    REQUIRE(layout.lines.size() == 1);
    CHECK(layout.lines[0].rtl);
    const Rect first = caret_rect(layout, 0);
    const Rect last = caret_rect(layout, static_cast<std::uint32_t>(text.size()));
    CHECK(first.x > last.x);
    CHECK(first.x == Approx(400).margin(1));
    const auto at = static_cast<std::uint32_t>(text.find("123"));
    CHECK(caret_rect(layout, at + 1).x > caret_rect(layout, at).x);
    // Mixed into English, only its own part turns around.
    const TextLayout mixed = plain(fonts, "abc שלום def", 400);
    CHECK_FALSE(mixed.lines[0].rtl);
    CHECK(caret_rect(mixed, 0).x < caret_rect(mixed, 3).x);
    CHECK(caret_rect(mixed, 4).x > caret_rect(mixed, 10).x);
}

TEST_CASE("an emoji family, a flag and an accent are one place each", "[gui][text]") {
    Fonts fonts;
    for (const std::string text :
         {"👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "❤️"}) {
        const TextLayout layout = plain(fonts, "a" + text + "b");
        INFO(text);
        REQUIRE(layout.clusters.size() == 3);
        CHECK(layout.clusters[1].begin == 1);
        CHECK(layout.clusters[1].end == 1 + text.size());
    }
    CHECK(is_emoji(U"👍"));
    CHECK(is_emoji(U"❤️"));
    CHECK_FALSE(is_emoji(U"❤"));
    CHECK_FALSE(is_emoji(U"©"));
    CHECK(is_emoji(U"✅"));
}

TEST_CASE("every place is found again where its caret stands", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    const std::string text = "fine affairs: naïve café — two\nlines, and one that is long enough";
    const TextLayout layout = plain(fonts, text, 150);
    for (const Cluster& cluster : layout.clusters) {
        const Rect caret = caret_rect(layout, cluster.begin);
        CHECK(position_at(layout, caret.x, caret.y + 2) == cluster.begin);
    }
    CHECK(position_at(layout, -50, -50) == 0);
    CHECK(position_at(layout, 9999, 9999) == text.size());
}

TEST_CASE("selection covers what is chosen, line by line", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    const TextLayout layout = plain(fonts, "one two three four five six", 80);
    REQUIRE(layout.lines.size() > 2);
    const auto all = selection_rects(layout, 0, static_cast<std::uint32_t>(layout.text.size()));
    CHECK(all.size() == layout.lines.size());
    CHECK(selection_rects(layout, 4, 4).empty());
    const auto one = selection_rects(layout, 0, 3);
    REQUIRE(one.size() == 1);
    CHECK(one[0].x == Approx(0));
}

TEST_CASE("a cut text ends with an ellipsis inside the width", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    const TextLayout one = plain(fonts, "a title that is much too long for its row", 120, 1);
    REQUIRE(one.lines.size() == 1);
    CHECK(one.text.ends_with("…"));
    CHECK(one.width <= 120);
    CHECK(plain(fonts, "short", 120, 1).text == "short");
    CHECK(plain(fonts, "first\nsecond", 120, 1).text == "first…");
}

TEST_CASE("control characters are visible and harmless", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    const TextLayout layout = plain(fonts, std::string("a\x1b[2Jb\x07") + "\x7f\t.");
    CHECK(layout.lines.size() == 1);
    CHECK(layout.clusters.size() == 10);
    CHECK(plain(fonts, "\xff\xfe broken \xe4\xbd").lines.size() == 1);
}

TEST_CASE("a paragraph of ten thousand words is laid out in pieces that add up", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    std::string text;
    for (int i = 0; i < 10000; ++i) text += "word" + std::to_string(i) + " ";
    const TextLayout layout = plain(fonts, text, 600);
    CHECK(layout.lines.front().begin == 0);
    CHECK(layout.lines.back().end == text.size());
    for (std::size_t i = 1; i < layout.lines.size(); ++i) {
        REQUIRE(layout.lines[i].begin == layout.lines[i - 1].end);
    }
}

TEST_CASE("text is readable in every theme", "[gui][theme]") {
    for (int i = 1; i < 5; ++i) {
        const Theme theme = make_theme(static_cast<ThemeChoice>(i), false);
        for (const Ink back : {Ink::back, Ink::side, Ink::raised, Ink::bubble}) {
            for (const Ink ink : {Ink::text, Ink::dim, Ink::link, Ink::error, Ink::warning}) {
                INFO(theme_name(static_cast<ThemeChoice>(i))
                     << " ink " << static_cast<int>(ink) << " on " << static_cast<int>(back));
                CHECK(contrast(theme[ink], theme[back]) >= 4.5);
            }
        }
        for (const Ink ink : {Ink::keyword, Ink::string, Ink::number, Ink::comment}) {
            INFO(theme_name(static_cast<ThemeChoice>(i)) << " code ink " << static_cast<int>(ink));
            CHECK(contrast(theme[ink], theme[Ink::code_back]) >= 4.5);
        }
        CHECK(contrast(theme[Ink::on_accent], theme[Ink::accent]) >= 4.5);
    }
}

TEST_CASE("no character of Unicode stops the layout", "[gui][text]") {
    Fonts fonts;
    fonts.use_system_fonts(false);
    std::string text;
    std::size_t n_lines = 0;
    for (char32_t c = 1; c < 0x110000; ++c) {
        if (c == 0xD800) c = 0xE000;
        append_character(text, c);
        // Planes beyond the second are alike but for their first page.
        if (c > 0x20000 && (c & 0xFFFF) > 0x400) c |= 0xFFFF;
        if (text.size() < 4096) continue;
        n_lines += plain(fonts, text, 200).lines.size();
        text.clear();
    }
    CHECK(n_lines > 1000);
}
