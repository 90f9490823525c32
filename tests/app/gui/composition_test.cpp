// What keys an input method has, told from the characters that do not come.

#include "app/gui/composition.h"

#include <catch2/catch.hpp>

using hearth::gui::Composition;
using hearth::gui::Key;
using hearth::gui::Mods;

namespace {

void letters(Composition& c, int n) {
    for (int i = 0; i < n; ++i) CHECK_FALSE(c.take(Key::h, {}, false));
}

}  // namespace

TEST_CASE("without an input method every key is the window's", "[gui][ime]") {
    Composition c;
    for (int i = 0; i < 3; ++i) {
        letters(c, 1);
        c.character();
    }
    CHECK_FALSE(c.active());
    CHECK_FALSE(c.take(Key::enter, {}, false));
    CHECK_FALSE(c.take(Key::backspace, {}, false));
    CHECK_FALSE(c.take(Key::escape, {}, false));
}

TEST_CASE("Return, Escape, Backspace and arrows in a composition are the input method's",
          "[gui][ime]") {
    Composition c;
    letters(c, 3);
    CHECK(c.active());
    CHECK(c.take(Key::left, {}, false));
    CHECK(c.take(Key::page_down, {}, false));
    CHECK(c.take(Key::backspace, {}, false));
    SECTION("Return confirms; the next one sends") {
        CHECK(c.take(Key::enter, {}, false));
        CHECK_FALSE(c.take(Key::enter, {}, false));
    }
    SECTION("Escape ends it; the next one is the window's") {
        CHECK(c.take(Key::escape, {}, false));
        CHECK_FALSE(c.take(Key::escape, {}, false));
    }
    SECTION("when all letters are deleted it is over") {
        CHECK(c.take(Key::backspace, {}, false));
        CHECK(c.take(Key::backspace, {}, false));
        CHECK_FALSE(c.take(Key::backspace, {}, false));
    }
    SECTION("a committed word ends it") {
        c.character();
        CHECK_FALSE(c.take(Key::enter, {}, false));
    }
    SECTION("so does another window") {
        c.reset();
        CHECK_FALSE(c.take(Key::enter, {}, false));
    }
}

TEST_CASE("shortcuts are no letters of a composition", "[gui][ime]") {
    Composition c;
    CHECK_FALSE(c.take(Key::k, {false, true, false}, false));
    CHECK_FALSE(c.take(Key::n, {}, true));
    CHECK_FALSE(c.take(Key::e, {false, true, true}, false));
    CHECK_FALSE(c.active());
    letters(c, 2);
    CHECK_FALSE(c.take(Key::space, {false, true, false}, false));
    CHECK_FALSE(c.active());
}
