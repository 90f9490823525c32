// Bytes of a terminal become keys, whatever way they are split.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "app/repl/keys.h"

using namespace hearth::repl;

namespace {

std::vector<KeyEvent> decode(const std::vector<std::string>& pieces, bool flush = true) {
    KeyDecoder decoder;
    std::vector<KeyEvent> out;
    for (const auto& piece : pieces) decoder.feed(piece, out);
    if (flush) decoder.flush(out);
    return out;
}

/// Keys in a row; neighbouring texts as one, since their split is that of the reads.
std::string spell(const std::vector<KeyEvent>& events) {
    std::string out;
    for (const auto& event : events) {
        if (event.key == Key::text) {
            out += event.text;
        } else if (event.key == Key::paste) {
            out += "<paste " + event.text + ">";
        } else {
            out += "<" + std::to_string(static_cast<int>(event.key)) + ">";
        }
    }
    return out;
}

std::string name(Key key) { return "<" + std::to_string(static_cast<int>(key)) + ">"; }

}  // namespace

TEST_CASE("each encoding of a key is that key", "[repl][keys]") {
    struct Case {
        const char* bytes;
        Key key;
    };
    const auto c = GENERATE(values<Case>({
        {"\x01", Key::line_start},
        {"\x1b[H", Key::line_start},
        {"\x1bOH", Key::line_start},
        {"\x1b[1~", Key::line_start},
        {"\x1b[7~", Key::line_start},
        {"\x05", Key::line_end},
        {"\x1b[F", Key::line_end},
        {"\x1b[4~", Key::line_end},
        {"\x1b[3~", Key::erase},
        {"\x04", Key::erase_or_end},
        {"\x7f", Key::backspace},
        {"\x08", Key::backspace},
        {"\r", Key::enter},
        {"\n", Key::newline},
        {"\x1b\r", Key::newline},
        {"\x1b[13;2u", Key::newline},
        {"\x1b[A", Key::up},
        {"\x1bOA", Key::up},
        {"\x10", Key::older},
        {"\x1b"
         "b",
         Key::word_left},
        {"\x1b[1;5D", Key::word_left},
        {"\x1b"
         "f",
         Key::word_right},
        {"\x1b"
         "d",
         Key::kill_word},
        {"\x1b\x7f", Key::kill_word_back},
        {"\x17", Key::kill_space_back},
        {"\x15", Key::kill_to_start},
        {"\x0b", Key::kill_to_end},
        {"\x19", Key::yank},
        {"\x14", Key::transpose},
        {"\x12", Key::search_back},
        {"\x0c", Key::clear_screen},
        {"\x03", Key::interrupt},
        {"\x1a", Key::suspend},
        {"\x07", Key::external_editor},
        {"\x0f", Key::external_editor},
        {"\x18\x05", Key::external_editor},
        {"\x1b", Key::escape},
    }));
    CAPTURE(c.bytes);
    CHECK(spell(decode({c.bytes})) == name(c.key));
}

TEST_CASE("any split of the bytes gives the same keys", "[repl][keys]") {
    const std::string bytes =
        "a\xc3\xa9\xe4\xbd\xa0\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\x1b[A\x1bOB\x1b[1;5C\x1b"
        "b\x18\x05\x1b[200~p\r\nq\x03\t\x1b[Ar\x1b[201~z\r";
    const std::string whole = spell(decode({bytes}));
    CHECK(whole == "aé你👩‍💻" + name(Key::up) + name(Key::down) + name(Key::word_right) +
                       name(Key::word_left) + name(Key::external_editor) +
                       "<paste p\nq\x03\t\x1b[Ar>z" + name(Key::enter));
    for (std::size_t i = 1; i < bytes.size(); ++i) {
        CAPTURE(i);
        CHECK(spell(decode({bytes.substr(0, i), bytes.substr(i)})) == whole);
    }
    std::vector<std::string> singles;
    for (const char c : bytes) singles.emplace_back(1, c);
    CHECK(spell(decode(singles)) == whole);
}

TEST_CASE("sequences without meaning leave no characters behind", "[repl][keys]") {
    const std::string bytes = GENERATE(as<std::string>{}, "\x1b[99;99Z", "\x1b[I", "\x1b[<0;1;2M",
                                       "\x1bq", "\x1b\xc3\xa9", "\x1bOz", "\x1b[[A", "\x18x");
    CHECK(spell(decode({bytes + "a"})) == "a");
    CHECK(spell(decode({bytes.substr(0, 1), bytes.substr(1), "a"})) == "a");
}

TEST_CASE("Ctrl+C counts behind an unfinished prefix", "[repl][keys]") {
    CHECK(spell(decode({"\x1b\x03"})) == name(Key::escape) + name(Key::interrupt));
    CHECK(spell(decode({"\x18\x03"})) == name(Key::interrupt));
}

TEST_CASE("invalid bytes become replacement characters", "[repl][keys]") {
    CHECK(spell(decode({"a\xff"
                        "b\xc3",
                        "c"})) ==
          "a\xef\xbf\xbd"
          "b\xef\xbf\xbd"
          "c");
    CHECK(spell(decode({"\xe4\xbd"})) == "\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(decode({"\xe4\xbd"}, false).empty());
}

TEST_CASE("a paste of megabytes in small reads is one key", "[repl][keys]") {
    KeyDecoder decoder;
    std::vector<KeyEvent> out;
    decoder.feed("\x1b[200~", out);
    const std::string piece(1000, 'x');
    for (int i = 0; i < 4000; ++i) decoder.feed(piece + "\n", out);
    CHECK(out.empty());
    decoder.feed("\x1b[20", out);
    decoder.feed("1~", out);
    REQUIRE(out.size() == 1);
    CHECK(out[0].key == Key::paste);
    CHECK(out[0].text.size() == 4004000);
}
