#include "app/gui/text/edit_buffer.h"

#include <catch2/catch.hpp>

using hearth::gui::EditBuffer;
using Step = EditBuffer::Step;

TEST_CASE("typing, moving and erasing go by what people see as one character", "[gui][edit]") {
    EditBuffer b;
    b.insert("a👨‍👩‍👧b", false);
    b.move_backward(Step::character, false);
    b.move_backward(Step::character, false);
    CHECK(b.caret() == 1);
    b.erase_forward(Step::character);
    CHECK(b.text() == "ab");
    b.erase_backward(Step::character);
    CHECK(b.text() == "b");
}

TEST_CASE("words are words in every script", "[gui][edit]") {
    EditBuffer b;
    b.reset("one, two-three naïve");
    b.move_backward(Step::word, false);
    CHECK(b.text().substr(b.caret()) == "naïve");
    b.erase_backward(Step::word);
    CHECK(b.text() == "one, two-naïve");
    b.select_word_at(1);
    CHECK(b.selected() == "one");
}

TEST_CASE("undo takes a typed word at once, and a paste at once", "[gui][edit]") {
    EditBuffer b;
    for (const char* c : {"h", "i", " ", "y", "o", "u"}) b.insert(c, true);
    b.insert(" pasted text", false);
    CHECK(b.undo());
    CHECK(b.text() == "hi you");
    CHECK(b.undo());
    CHECK(b.text() == "hi");
    CHECK(b.undo());
    CHECK(b.text().empty());
    CHECK_FALSE(b.undo());
    CHECK(b.redo());
    CHECK(b.redo());
    CHECK(b.redo());
    CHECK(b.text() == "hi you pasted text");
    CHECK_FALSE(b.redo());
    b.undo();
    b.insert("!", true);
    CHECK_FALSE(b.redo());  // another future
}

TEST_CASE("a selection is replaced and comes back with undo", "[gui][edit]") {
    EditBuffer b;
    b.reset("keep this");
    b.select(5, 9);
    b.insert("that", false);
    CHECK(b.text() == "keep that");
    b.undo();
    CHECK(b.text() == "keep this");
    CHECK(b.selected() == "this");
}

TEST_CASE("bytes that are no text become marks", "[gui][edit]") {
    EditBuffer b;
    b.insert("\xff ok", false);
    CHECK(b.text() == "\xEF\xBF\xBD ok");
}
