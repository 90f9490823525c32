#include "app/text_input.h"

#include <catch2/catch.hpp>

#include "app/session.h"

using namespace hearth;

TEST_CASE("valid text stays as it is", "[app][text]") {
    const std::string text = "Zeile\n世界 👩‍👩‍👧 \t é";
    std::size_t replaced = 9;
    CHECK(valid_utf8(text, &replaced) == text);
    CHECK(replaced == 0);
    CHECK(valid_utf8("\xEF\xBB\xBFtext") == "text");
}

TEST_CASE("bytes that are no UTF-8 become visible marks", "[app][text]") {
    std::size_t replaced = 0;
    CHECK(valid_utf8(std::string("a\0b", 3), &replaced) == "a\u2400b");
    CHECK(replaced == 1);
    CHECK(valid_utf8("a\xFF\xFE", &replaced) == "a\uFFFD\uFFFD");
    CHECK(replaced == 2);
    CHECK(valid_utf8("\xE4\xB8", &replaced) == "\uFFFD\uFFFD");            // cut short
    CHECK(valid_utf8("\xED\xA0\x80", &replaced) == "\uFFFD\uFFFD\uFFFD");  // surrogate
    CHECK(valid_utf8("\xC0\xAF", &replaced) == "\uFFFD\uFFFD");            // overlong
}

TEST_CASE("a document's fence cannot be closed from inside", "[app][text]") {
    CHECK(as_document("", "x") == "x");
    CHECK(as_document("a.txt", "x") == "a.txt\n```\nx\n```");
    CHECK(as_document("a.md", "```\ncode\n```\n") == "a.md\n````\n```\ncode\n```\n````");
}

TEST_CASE("folders and missing files are sentences", "[app][text]") {
    CHECK(read_text_file("/").error().what.find("folder") != std::string::npos);
    CHECK(read_text_file("/no/such/file").error().code == Errc::failed);
}

TEST_CASE("text from outside cannot steer the terminal", "[app][text]") {
    CHECK(printable("a\x1b[2Jb\x07\rc\n\td\x7f") == "a[2Jbc\n\td");
    CHECK(printable("\xC2\x9B"
                    "31mé界") == "31mé界");
}
