// The input line: what each key does to text and cursor.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "app/repl/line_edit.h"

using namespace hearth::repl;
using Outcome = LineEdit::Outcome;

namespace {

/// A line with the cursor shown as |.
std::string shown(const LineEdit& edit) {
    std::string text = edit.text();
    text.insert(edit.cursor(), "|");
    return text;
}

struct Fixture {
    std::vector<std::string> history;
    LineEdit edit{&history};

    Outcome press(Key key, std::string text = {}) { return edit.handle({key, std::move(text)}); }
    void press_all(std::vector<Key> keys) {
        for (const Key key : keys) press(key);
    }
    void type(const std::string& text) { press(Key::text, text); }
    void paste(const std::string& text) { press(Key::paste, text); }
};

const std::string kFamily = "👨‍👩‍👧";  // five code points, one cluster
const std::string kFlag = "🇨🇳";

}  // namespace

TEST_CASE_METHOD(Fixture, "a cluster is one step and one deletion", "[repl][edit]") {
    const std::string cluster = GENERATE_COPY(as<std::string>{}, "a", "é", "e\u0301", "你", kFamily,
                                              kFlag, "❤️", "👍🏽", "한");
    type("x" + cluster + "y");
    CHECK(shown(edit) == "x" + cluster + "y|");
    SECTION("move") {
        press(Key::left);
        CHECK(shown(edit) == "x" + cluster + "|y");
        press(Key::left);
        CHECK(shown(edit) == "x|" + cluster + "y");
        press(Key::right);
        CHECK(shown(edit) == "x" + cluster + "|y");
    }
    SECTION("backspace") {
        press_all({Key::backspace, Key::backspace});
        CHECK(shown(edit) == "x|");
    }
    SECTION("delete") {
        press_all({Key::line_start, Key::right, Key::erase});
        CHECK(shown(edit) == "x|y");
    }
    SECTION("Ctrl+D inside a line deletes") {
        press_all({Key::line_start, Key::right});
        CHECK(press(Key::erase_or_end) == Outcome::editing);
        CHECK(shown(edit) == "x|y");
    }
    SECTION("transpose") {
        press_all({Key::left});
        press(Key::transpose);
        CHECK(shown(edit) == "xy" + cluster + "|");
    }
}

TEST_CASE_METHOD(Fixture, "insertion in the middle of Chinese", "[repl][edit]") {
    type("你界");
    press(Key::left);
    type("好，世");
    CHECK(shown(edit) == "你好，世|界");
}

TEST_CASE_METHOD(Fixture, "words", "[repl][edit]") {
    type("foo-bar_1, 你好世界 naïve");
    press(Key::word_left);
    CHECK(shown(edit) == "foo-bar_1, 你好世界 |naïve");
    press(Key::word_left);
    CHECK(shown(edit) == "foo-bar_1, |你好世界 naïve");
    press(Key::word_left);
    CHECK(shown(edit) == "foo-|bar_1, 你好世界 naïve");
    press(Key::word_right);
    CHECK(shown(edit) == "foo-bar_1|, 你好世界 naïve");
    press(Key::kill_word);
    CHECK(shown(edit) == "foo-bar_1| naïve");
    press(Key::kill_word_back);
    CHECK(shown(edit) == "foo-| naïve");
    press(Key::kill_space_back);
    CHECK(shown(edit) == "| naïve");
}

TEST_CASE_METHOD(Fixture, "kills one after another are one, and come back", "[repl][edit]") {
    type("one two three");
    press_all({Key::kill_space_back, Key::kill_space_back});
    CHECK(shown(edit) == "one |");
    press(Key::yank);
    CHECK(shown(edit) == "one two three|");
    SECTION("a move between them begins a new one; Alt+Y turns the ring") {
        press(Key::kill_space_back);
        press(Key::yank);
        CHECK(shown(edit) == "one two three|");
        press(Key::yank_pop);
        CHECK(shown(edit) == "one two two three|");
        press(Key::yank_pop);
        CHECK(shown(edit) == "one two three|");
    }
    SECTION("to the ends") {
        press_all({Key::word_left, Key::kill_to_start});
        CHECK(shown(edit) == "|three");
        press_all({Key::kill_to_end, Key::yank});
        CHECK(shown(edit) == "one two three|");
    }
    SECTION("the ring outlives the line") {
        press(Key::kill_to_start);
        edit.begin();
        press(Key::yank);
        CHECK(shown(edit) == "one two three|");
    }
}

TEST_CASE_METHOD(Fixture, "lines of one text", "[repl][edit]") {
    type("ab");
    press(Key::newline);
    type("你好吗");
    press(Key::newline);
    type("xyz");
    CHECK(edit.text() == "ab\n你好吗\nxyz");
    press(Key::up);
    CHECK(shown(edit) == "ab\n你|好吗\nxyz");
    press(Key::up);
    CHECK(shown(edit) == "ab|\n你好吗\nxyz");
    press_all({Key::down, Key::down});
    CHECK(shown(edit) == "ab\n你好吗\nxyz|");
    press_all({Key::up, Key::line_start, Key::kill_to_end, Key::kill_to_end});
    CHECK(shown(edit) == "ab\n|xyz");
    press_all({Key::text_start, Key::line_end, Key::erase});
    CHECK(shown(edit) == "ab|xyz");
}

TEST_CASE_METHOD(Fixture, "enter continues after a backslash and inside quotes", "[repl][edit]") {
    SECTION("backslash") {
        type("one\\");
        CHECK(press(Key::enter) == Outcome::editing);
        type("two");
        CHECK(press(Key::enter) == Outcome::accepted);
        CHECK(edit.text() == "one\ntwo");
    }
    SECTION("two backslashes are text") {
        type("C:\\\\");
        CHECK(press(Key::enter) == Outcome::accepted);
        CHECK(edit.text() == "C:\\\\");
    }
    SECTION("block") {
        type("\"\"\"");
        CHECK(press(Key::enter) == Outcome::editing);
        type("/bye");
        CHECK(press(Key::enter) == Outcome::editing);
        type("\"\"\"");
        CHECK(press(Key::enter) == Outcome::accepted);
        CHECK(edit.text() == "\"\"\"\n/bye\n\"\"\"");
    }
    SECTION("block on one line") {
        type("\"\"\"a\"\"\"");
        CHECK(press(Key::enter) == Outcome::accepted);
    }
    SECTION("a pasted docstring is not a block") {
        paste("\"\"\"Docs");
        CHECK(press(Key::enter) == Outcome::accepted);
    }
}

TEST_CASE_METHOD(Fixture, "a paste is literal", "[repl][edit]") {
    paste("/bye\n\tx");
    CHECK(shown(edit) == "/bye\n\tx|");
    CHECK(edit.literal());
    SECTION("until a character is typed before it") {
        press(Key::text_start);
        type("/file ");
        CHECK_FALSE(edit.literal());
    }
    SECTION("or all of it is deleted") {
        press_all({Key::kill_to_start, Key::kill_to_start, Key::kill_to_start});
        CHECK(edit.text().empty());
        type("/bye");
        CHECK_FALSE(edit.literal());
    }
    SECTION("a paste behind typed text leaves it a command") {
        edit.begin();
        type("/file ");
        paste("/tmp/x");
        CHECK_FALSE(edit.literal());
    }
}

TEST_CASE_METHOD(Fixture, "history keeps what was edited on the walk", "[repl][edit]") {
    history = {"first", "second\nline"};
    edit.begin();
    type("new");
    press(Key::up);
    CHECK(shown(edit) == "second\nline|");
    press(Key::up);  // inside the text first
    CHECK(shown(edit) == "seco|nd\nline");
    press(Key::up);
    CHECK(shown(edit) == "first|");
    press(Key::up);
    CHECK(shown(edit) == "first|");
    type("!");
    press(Key::newer);
    CHECK(shown(edit) == "second\nline|");
    press(Key::newer);
    CHECK(shown(edit) == "new|");
    press(Key::newer);
    CHECK(shown(edit) == "new|");
    press_all({Key::older, Key::older});
    CHECK(shown(edit) == "first!|");
    edit.begin();
    press_all({Key::older, Key::older});
    CHECK(shown(edit) == "first|");
}

TEST_CASE_METHOD(Fixture, "search goes back, forth and away", "[repl][edit]") {
    history = {"apple pie", "banana", "apple tart", "cherry"};
    edit.begin();
    type("draft");
    press(Key::search_back);
    CHECK(edit.search_prompt() == "(search) '': ");
    type("app");
    CHECK(edit.text() == "apple tart");
    CHECK(edit.search_prompt() == "(search) 'app': ");
    press(Key::search_back);
    CHECK(edit.text() == "apple pie");
    press(Key::search_forward);
    CHECK(edit.text() == "apple tart");
    SECTION("Ctrl+C gives the line back") {
        CHECK(press(Key::interrupt) == Outcome::editing);
        CHECK(shown(edit) == "draft|");
        CHECK(edit.search_prompt().empty());
    }
    SECTION("Enter sends what was found") {
        CHECK(press(Key::enter) == Outcome::accepted);
        CHECK(edit.text() == "apple tart");
    }
    SECTION("another key edits it; the draft waits below") {
        press(Key::line_end);
        type("!");
        CHECK(shown(edit) == "apple tart!|");
        press_all({Key::newer, Key::newer});
        CHECK(shown(edit) == "draft|");
    }
    SECTION("nothing found") {
        type("zzz");
        CHECK(edit.search_prompt() == "(not found) 'appzzz': ");
        press_all({Key::backspace, Key::backspace, Key::backspace});
        CHECK(edit.text() == "apple tart");
    }
}

TEST_CASE_METHOD(Fixture, "Ctrl+D on an empty line ends the input", "[repl][edit]") {
    CHECK(press(Key::erase_or_end) == Outcome::end_of_input);
    type("a");
    CHECK(press(Key::erase_or_end) == Outcome::editing);
    CHECK(edit.text() == "a");
    CHECK(press(Key::interrupt) == Outcome::interrupted);
    CHECK(press(Key::clear_screen) == Outcome::clear_screen);
    CHECK(press(Key::external_editor) == Outcome::open_editor);
    CHECK(press(Key::suspend) == Outcome::suspend);
}

TEST_CASE("Tab completes", "[repl][edit]") {
    const std::vector<std::string> history;
    std::vector<std::string> words{"/help", "/history", "/model"};
    LineEdit edit(&history, [&](std::string_view text, std::size_t cursor) {
        Completion c;
        for (const auto& word : words) {
            if (word.compare(0, cursor, text.substr(0, cursor)) == 0) c.candidates.push_back(word);
        }
        return c;
    });
    SECTION("the only one, with a space") {
        edit.handle({Key::text, "/m"});
        CHECK(edit.handle({Key::tab}) == Outcome::editing);
        CHECK(shown(edit) == "/model |");
    }
    SECTION("what is common, then a list") {
        words = {"/history", "/histogram"};
        edit.handle({Key::text, "/h"});
        CHECK(edit.handle({Key::tab}) == Outcome::editing);
        CHECK(shown(edit) == "/histo|");
        CHECK(edit.handle({Key::tab}) == Outcome::list_candidates);
        CHECK(edit.candidates() == words);
    }
    SECTION("never half a character") {
        words = {"/\xe4\xbd\xa0", "/\xe4\xbd\xa1"};
        edit.handle({Key::text, "/"});
        CHECK(edit.handle({Key::tab}) == Outcome::list_candidates);
        CHECK(edit.text() == "/");
    }
    SECTION("in plain text it is a character") {
        edit.handle({Key::text, "a"});
        edit.handle({Key::tab});
        CHECK(edit.text() == "a\t");
    }
}
