// What a typed line is, and the table of commands.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "app/repl/commands.h"
#include "app/repl/graphemes.h"
#include "app/repl/session.h"

using namespace hearth::repl;
using Kind = TypedLine::Kind;

TEST_CASE("every word of the table is one command's", "[repl][commands]") {
    std::set<std::string> seen;
    for (const Command& command : commands()) {
        CAPTURE(command.name);
        CHECK(seen.insert(command.name).second);
        CHECK(find_command(command.name) == &command);
        CHECK(command.run != nullptr);
        CHECK(std::string(command.help).size() > 5);
        std::istringstream words(command.aliases);
        for (std::string alias; words >> alias;) {
            CHECK(seen.insert(alias).second);
            CHECK(find_command(alias) == &command);
        }
    }
    for (const char* word :
         {"help",  "?",        "exit",   "bye",     "quit",     "clear",  "new",     "model",
          "load",  "list",     "ls",     "show",    "set",      "system", "regen",   "regenerate",
          "retry", "continue", "undo",   "history", "chats",    "resume", "switch",  "search",
          "title", "delete",   "save",   "file",    "read",     "upload", "context", "usage",
          "stats", "multi",    "copy",   "edit",    "versions", "branch", "fork",    "tree",
          "pin",   "archive",  "export", "import",  "draft"}) {
        CAPTURE(word);
        CHECK(find_command(word) != nullptr);
    }
    for (const char* word : {"cache", "compact", "think", "image"}) {
        CAPTURE(word);
        CHECK(is_later_command(word));
        CHECK(find_command(word) == nullptr);
        CHECK(help_text("", 100).find(std::string("/") + word + " ") == std::string::npos);
    }
}

TEST_CASE("words are exact", "[repl][commands]") {
    const std::string line = GENERATE(as<std::string>{}, "/byebye", "/by", "/Bye", "/helpme",
                                      "/clearly a word", "/", "/setx 1");
    CAPTURE(line);
    const TypedLine typed = classify(line, false);
    CHECK(typed.kind == Kind::unknown);
    CHECK(typed.command == nullptr);
}

TEST_CASE("lines are classified", "[repl][commands]") {
    const auto message = [](const std::string& line, bool literal = false) {
        const TypedLine typed = classify(line, literal);
        CHECK(typed.kind == Kind::message);
        return typed.text;
    };
    CHECK(message("hello ") == "hello");
    CHECK(message("  indented") == "  indented");
    CHECK(message("//bye") == "/bye");
    CHECK(message("//usr/bin") == "/usr/bin");
    CHECK(message("/bye", true) == "/bye");
    CHECK(message("//x\n/bye", true) == "//x\n/bye");
    CHECK(message("\"\"\"\n/bye\n\"\"\"") == "/bye");
    CHECK(message("\"\"\"a\n  b\n\"\"\"\n") == "a\n  b");
    CHECK(message("say \"\"\"x\"\"\"") == "say \"\"\"x\"\"\"");
    CHECK(classify(" \n", false).kind == Kind::empty);
    CHECK(classify("\"\"\"\n\n\"\"\"", false).kind == Kind::empty);

    const TypedLine command = classify("/set  temperature   0.5 ", false);
    CHECK(command.kind == Kind::command);
    CHECK(command.word == "/set");
    CHECK(command.args == "temperature   0.5");
    CHECK(std::string(classify("/?", false).command->name) == "help");
    CHECK(classify("/system line one\nline two", false).args == "line one\nline two");
    CHECK(classify("/think on", false).kind == Kind::later);
    CHECK(classify("/usr/bin/foo is what?", false).kind == Kind::path);
    CHECK(classify("/etc.conf", false).kind == Kind::path);
}

TEST_CASE("a wrong word gets a near one", "[repl][commands]") {
    CHECK(similar_commands("hlep").front() == "/help");
    CHECK(similar_commands("mdoel").front() == "/model");
    CHECK(similar_commands("Bye").front() == "/bye");
    CHECK(similar_commands("regn").front() == "/regen");
    CHECK(similar_commands("hist").front() == "/history");
    CHECK(similar_commands("xyzzyx").empty());
    CHECK(similar_commands("").empty());
}

TEST_CASE("paths as people write them", "[repl][commands]") {
    CHECK(path_from(" /tmp/a b ") == "/tmp/a b");
    CHECK(path_from("'/tmp/a b'") == "/tmp/a b");
    CHECK(path_from("\"/tmp/a b\"") == "/tmp/a b");
    CHECK(path_from("/tmp/no\\ such\\ file") == "/tmp/no such file");
    CHECK(path_from("file:///tmp/x") == "/tmp/x");
    CHECK(path_from("~/x") != "~/x");
}

TEST_CASE("paths are completed", "[repl][commands]") {
    namespace fs = std::filesystem;
    const fs::path folder =
        fs::temp_directory_path() / ("hearth-complete-" + std::to_string(::getpid()));
    fs::create_directories(folder / "notes");
    std::ofstream(folder / "note.txt") << "x";
    std::ofstream(folder / ".hidden") << "x";
    const std::string base = folder.string() + "/";
    CHECK(complete_path(base + "no") ==
          std::vector<std::string>{base + "note.txt", base + "notes/"});
    CHECK(complete_path(base) == std::vector<std::string>{base + "note.txt", base + "notes/"});
    CHECK(complete_path(base + ".h") == std::vector<std::string>{base + ".hidden"});
    CHECK(complete_path(base + "zz").empty());
    CHECK(complete_path("/no/such/folder/x").empty());
    fs::remove_all(folder);
}

TEST_CASE("the help fits the terminal", "[repl][commands]") {
    const int columns = GENERATE(40, 80, 120);
    const std::string topic = GENERATE(as<std::string>{}, "", "all", "keys", "settings");
    std::istringstream lines(help_text(topic, columns));
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(text_columns(line) <= std::max(columns, 80));
    }
    CHECK(help_text("nonsense", 80).find("nonsense") != std::string::npos);
    CHECK(help_text("/regen", 80).find("/regenerate") != std::string::npos);
}

TEST_CASE("tables and numbers", "[repl][commands]") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(1234567) == "1,234,567");
    CHECK(grouped(-1234) == "-1,234");
    CHECK(gauge(0.5, 4) == "[##..]");
    CHECK(gauge(7, 4) == "[####]");
    CHECK(table({{"a", "x"}, {"你好", "y"}}, 80) == "  a     x\n  你好  y");
    CHECK(table({{"a\x1b[1m", "long text"}}, 13) == "  a␛[1m  lo…");
}

TEST_CASE("sentences are folded at words, their indent kept", "[repl][commands]") {
    CHECK(fold("  one two three\nfour", 11) == "  one two \n  three\nfour");
    CHECK(fold("one two three", 0) == "one two three");
    CHECK(fold("a\n\nb\n", 80) == "a\n\nb\n");
    CHECK(fold("\x1b[2J", 80) == "␛[2J");
    CHECK(fold("", 80).empty());
}
