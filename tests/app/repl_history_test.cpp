// The input history and its file.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "app/repl/input_history.h"

using namespace hearth::repl;
namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path = fs::temp_directory_path() / ("hearth-history-" + std::to_string(::getpid()));
    Folder() { fs::remove_all(path); }
    ~Folder() { fs::remove_all(path); }
    std::string file() const { return (path / "state" / "input_history").string(); }
};

using Entries = std::vector<std::string>;

}  // namespace

TEST_CASE("history survives, without doubles, private", "[repl][history]") {
    const Folder folder;
    {
        InputHistory history;
        REQUIRE(history.open(folder.file()));
        REQUIRE(history.add("one"));
        REQUIRE(history.add("two\nlines \\n 你好"));
        REQUIRE(history.add("one"));
        REQUIRE(history.add("one"));
        REQUIRE(history.add(" \n"));
        CHECK(history.entries() == Entries{"two\nlines \\n 你好", "one"});
    }
    struct stat info {};
    REQUIRE(::stat(folder.file().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    InputHistory again;
    REQUIRE(again.open(folder.file()));
    CHECK(again.entries() == Entries{"two\nlines \\n 你好", "one"});
}

TEST_CASE("two programs append to one history", "[repl][history]") {
    const Folder folder;
    InputHistory a, b;
    REQUIRE(a.open(folder.file()));
    REQUIRE(b.open(folder.file()));
    REQUIRE(a.add("from a"));
    REQUIRE(b.add("from b"));
    InputHistory c;
    REQUIRE(c.open(folder.file()));
    CHECK(c.entries() == Entries{"from a", "from b"});
}

TEST_CASE("without a path nothing is written; switched off nothing is kept", "[repl][history]") {
    InputHistory history;
    REQUIRE(history.open(""));
    REQUIRE(history.add("one"));
    history.set_enabled(false);
    REQUIRE(history.add("secret"));
    history.set_enabled(true);
    REQUIRE(history.add("two"));
    CHECK(history.entries() == Entries{"one", "two"});
}

TEST_CASE("a folder that cannot be made is a sentence, not the end", "[repl][history]") {
    const Folder folder;
    fs::create_directories(folder.path);
    std::ofstream(folder.path / "state") << "a file";
    InputHistory history;
    const auto opened = history.open(folder.file());
    REQUIRE_FALSE(opened);
    CHECK(opened.error().what.find("state") != std::string::npos);
    REQUIRE(history.add("one"));
    CHECK(history.entries() == Entries{"one"});
}

TEST_CASE("a damaged history is read as far as it goes", "[repl][history]") {
    const Folder folder;
    fs::create_directories(folder.path / "state");
    std::ofstream(folder.file()) << "ok\n\n\xff\xfe\\\nnext\\";
    InputHistory history;
    REQUIRE(history.open(folder.file()));
    CHECK(history.entries() == Entries{"ok", "\xef\xbf\xbd\xef\xbf\xbd\\", "next\\"});
}
