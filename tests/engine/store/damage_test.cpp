// Files that are damaged, foreign, newer, or may not be written.
#include <fstream>
#include <iterator>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

constexpr std::size_t kPage = 4096;

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

/// Ruins the page that holds `marker`.
void ruin_page_with(const std::string& path, const std::string& marker) {
    std::string bytes = bytes_of(path);
    const std::size_t at = bytes.rfind(marker);  // earlier ones may be remains in inner pages
    REQUIRE(at != std::string::npos);
    const std::size_t page = at / kPage * kPage;
    REQUIRE(page > 0);
    for (std::size_t i = 0; i < 64; ++i) bytes[page + i] = '\x5a';
    write_bytes(path, bytes);
}

/// A text that fills most of a page, so that each row has its own.
std::string page_filling(const std::string& marker) { return marker + std::string(3000, '.'); }

}  // namespace

TEST_CASE("a file that is no database is refused and left as it is", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    std::string content = GENERATE(
        std::string("x"), std::string(50'000, 'x'),
        "SQLite format 3" + std::string(1, '\0') + std::string(9000, '~'), std::string(8192, '\0'));
    write_bytes(path, content);
    const auto store = Store::open(path);
    REQUIRE(!store);
    CHECK_THAT(store.error().what, Catch::Contains(path) && Catch::Contains("damaged") &&
                                       Catch::Contains("has not been changed"));
    CHECK(bytes_of(path) == content);
}

TEST_CASE("a damaged database is refused and left as it is", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        auto store = open_store(path);
        ask(*store, page_filling("marker"));
    }
    std::string content = bytes_of(path);
    SECTION("the first page, which holds the schema") {
        for (std::size_t i = 100; i < kPage; ++i) content[i] = '\x5a';
    }
    SECTION("emptied, with a log beside it") {
        content.clear();
        write_bytes(path + "-wal", std::string(5000, 'w'));
    }
    write_bytes(path, content);
    const auto store = Store::open(path);
    REQUIRE(!store);
    CHECK_THAT(store.error().what, Catch::Contains("damaged"));
    CHECK(bytes_of(path) == content);
}

TEST_CASE("a truncated database opens or is refused, and never crashes", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        auto store = open_store(path);
        for (int i = 0; i < 5; ++i) ask(*store, page_filling(fmt::format("marker{}", i)));
    }
    const std::string whole = bytes_of(path);
    for (std::size_t n = kPage; n < whole.size(); n += kPage / 2) {
        write_bytes(path, whole.substr(0, n));
        std::filesystem::remove(path + "-wal");
        auto store = Store::open(path);
        if (!store) continue;
        // A page of which only the end is missing can look whole, with zeros for text.
        if (n % kPage == 0) CHECK(!(*store)->check_integrity());
        static_cast<void>((*store)->list(100));
        static_cast<void>((*store)->search("marker", 100));
        for (ConversationId id = 1; id <= 5; ++id) static_cast<void>((*store)->path(id));
    }
}

TEST_CASE("random damage never crashes", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        auto store = open_store(path);
        for (int i = 0; i < 5; ++i) ask(*store, page_filling(fmt::format("marker{}", i)));
    }
    const std::string whole = bytes_of(path);
    std::uint32_t random = 1;
    for (int round = 0; round < 200; ++round) {
        std::string content = whole;
        for (int i = 0; i < 40; ++i) {
            random = random * 1664525u + 1013904223u;
            content[(random >> 3) % content.size()] = static_cast<char>(random >> 24);
        }
        write_bytes(path, content);
        std::filesystem::remove(path + "-wal");
        auto store = Store::open(path);
        if (!store) continue;
        static_cast<void>((*store)->list(100));
        static_cast<void>((*store)->search("marker", 100));
        for (ConversationId id = 1; id <= 5; ++id) static_cast<void>((*store)->path(id));
        static_cast<void>((*store)->check_integrity());
        const auto chat = (*store)->create("tiny");
        if (chat) static_cast<void>((*store)->append(*chat, message(0, "user", "q")));
    }
}

TEST_CASE("one damaged message hides only itself", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    ConversationId chat = 0;
    {
        auto store = open_store(path);
        chat = must(store->create("tiny"));
        MessageId last = 0;
        for (int i = 0; i < 5; ++i)
            last = must(store->append(
                chat, message(last, "user", page_filling(fmt::format("marker{}", i)))));
    }
    ruin_page_with(path, "marker2");
    auto store = open_store(path);
    const auto messages = must(store->path(chat));
    REQUIRE(messages.size() == 4);
    CHECK(messages[1].content.substr(0, 7) == "marker1");
    CHECK(messages[2].content.substr(0, 7) == "marker3");
    REQUIRE(store->notices().size() == 1);
    CHECK_THAT(store->notices()[0],
               Catch::Contains("Message 3 of chat 1") && Catch::Contains(path));
    CHECK(must(store->search("marker4", 10)).size() == 1);
    CHECK(must(store->list(10)).size() == 1);
    const auto checked = store->check_integrity();
    REQUIRE(!checked);
    CHECK_THAT(checked.error().what, Catch::Contains("damaged"));
    must(store->append(chat, message(messages.back().id, "user", "goes on")));
    CHECK(must(store->path(chat)).size() == 5);
    CHECK(store->notices().size() == 1);
}

TEST_CASE("one damaged chat hides only itself", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        auto store = open_store(path);
        for (int i = 0; i < 5; ++i)
            must(store->set_system_prompt(ask(*store, "q").chat,
                                          page_filling(fmt::format("marker{}", i))));
    }
    ruin_page_with(path, "marker2");
    auto store = open_store(path);
    CHECK(must(store->list(10)).size() == 4);
    CHECK(must(store->search("q", 10)).size() == 4);
    CHECK(must(store->find("5"))->id == 5);
    CHECK(must(store->latest())->id == 5);
    REQUIRE(store->notices().size() == 1);
    CHECK_THAT(store->notices()[0], Catch::Contains("Chat 3"));
}

TEST_CASE("strange values never hide a chat", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    ConversationId chat = 0;
    {
        auto store = open_store(path);
        const Asked asked = ask(*store, "q");
        chat = asked.chat;
        must(store->append(chat, message(asked.question, "assistant", "a")));
    }
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    std::size_t n_shown = 2;
    SECTION("unknown state") { db.exec("UPDATE messages SET state = 77"); }
    SECTION("cut token ids") { db.exec("UPDATE messages SET token_ids = x'0102030405'"); }
    SECTION("active leaf lost") { db.exec("UPDATE conversations SET active_leaf = 4711"); }
    SECTION("parent lost") {
        db.exec("UPDATE messages SET parent = 4711 WHERE id = 2");
        n_shown = 1;
    }
    SECTION("own parent") {
        db.exec("UPDATE messages SET parent = 2 WHERE id = 2");
        n_shown = 1;
    }
    SECTION("streaming without writer") { db.exec("UPDATE messages SET state = 1, writer = NULL"); }
    auto store = open_store(path);
    CHECK(must(store->list(10)).size() == 1);
    const auto messages = must(store->path(chat));
    REQUIRE(messages.size() == n_shown);
    CHECK(messages.back().content == "a");
    CHECK(messages.back().token_ids.empty());
    CHECK(messages.back().state != MessageState::streaming);
    must(store->append(chat, message(messages.back().id, "user", "goes on")));
}

TEST_CASE("a database of another program is refused and left as it is", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
        db.exec("CREATE TABLE bookmarks (x); PRAGMA user_version = 1");
    }
    const std::string content = bytes_of(path);
    const auto store = Store::open(path);
    REQUIRE(!store);
    CHECK_THAT(store.error().what, Catch::Contains("another program"));
    CHECK(bytes_of(path) == content);
}

TEST_CASE("a newer database can be read, not changed, and says so", "[store][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    const Asked asked = ask(*open_store(path), "q");
    {
        SQLite::Database db(path, SQLite::OPEN_READWRITE);
        db.exec("ALTER TABLE messages ADD COLUMN stars INTEGER; PRAGMA user_version = 99");
    }
    auto store = open_store(path);
    CHECK(store->read_only());
    REQUIRE(store->notices().size() == 1);
    CHECK_THAT(store->notices()[0], Catch::Contains("newer") && Catch::Contains("99"));
    CHECK(must(store->path(asked.chat)).size() == 1);
    CHECK(must(store->search("q", 1)).size() == 1);
    const auto refused = store->append(asked.chat, message(0, "user", "x"));
    REQUIRE(!refused);
    CHECK_THAT(refused.error().what,
               Catch::Contains("newer") && Catch::Contains("keep the message"));
    CHECK(!store->create("tiny"));
    CHECK(!store->remove(asked.chat));
}

TEST_CASE("a database that may not be written can be read", "[store][damage]") {
    const bool is_root = ::geteuid() == 0;
    TempFolder folder;
    const std::string path = folder / "data/hearth.db";
    const Asked asked = ask(*open_store(path), "q");
    const bool folder_too = GENERATE(false, true);
    if (is_root) {
        REQUIRE(::chmod((folder / "").c_str(), 0755) == 0);
        for (const char* name : {"data/hearth.db", "data/hearth.db.live"})
            REQUIRE(::chown((folder / name).c_str(), 65534, 65534) == 0);
        REQUIRE(::chown((folder / "data").c_str(), 65534, 65534) == 0);
    }
    REQUIRE(::chmod(path.c_str(), 0400) == 0);
    if (folder_too) REQUIRE(::chmod((folder / "data").c_str(), 0500) == 0);
    // The administrator may write everything, so look as somebody else.
    if (is_root) REQUIRE(::seteuid(65534) == 0);
    auto opened = Store::open(path);
    Result<std::vector<StoredMessage>> messages;
    Result<MessageId> refused = 0;
    if (opened) {
        messages = (*opened)->path(asked.chat);
        refused = (*opened)->append(asked.chat, message(0, "user", "x"));
    }
    const bool read_only = opened && (*opened)->read_only();
    const auto notices = opened ? (*opened)->notices() : std::vector<std::string>();
    if (is_root) REQUIRE(::seteuid(0) == 0);
    ::chmod((folder / "data").c_str(), 0700);
    INFO((opened ? "" : opened.error().what));
    REQUIRE(opened);
    CHECK(read_only);
    REQUIRE(notices.size() == 1);
    REQUIRE(messages);
    CHECK(messages->size() == 1);
    REQUIRE(!refused);
    CHECK_THAT(refused.error().what, Catch::Contains("only be read"));
}

TEST_CASE("places where no database can be are sentences", "[store][damage]") {
    TempFolder folder;
    std::filesystem::create_directory(folder / "hearth.db");
    CHECK_THAT(Store::open(folder / "hearth.db").error().what, Catch::Contains("is a folder"));
    write_bytes(folder / "file", "x");
    CHECK_THAT(Store::open(folder / "file/hearth.db").error().what,
               Catch::Contains("cannot be made"));
    CHECK_THAT(Store::open("/proc/none/hearth.db").error().what, Catch::Contains("cannot be made"));
}

}  // namespace hearth
