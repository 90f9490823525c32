// Old databases open: the file of version 1 as it was released, and the way to later versions.
#include <fstream>
#include <iterator>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/store/connection.h"
#include "engine/store/migrations.h"
#include "engine/store/sqlite_store.h"
#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Builds the database that tests/engine/store/v1.sql describes.
void make_v1(const std::string& path) {
    SQLite::Database db(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec(text_of(std::string(HEARTH_SOURCE_DIR) + "/tests/engine/store/v1.sql"));
}

std::string shape(SQLite::Database& db) {
    SQLite::Statement rows(
        db, "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name");
    std::string all;
    while (rows.executeStep())
        all += rows.getColumn(0).getString() + ": " + rows.getColumn(1).getString() + "\n";
    return all;
}

int version_of(SQLite::Database& db) { return db.execAndGet("PRAGMA user_version").getInt(); }

const store::Migration kSteps[] = {
    {2, "ALTER TABLE messages ADD COLUMN stars INTEGER NOT NULL DEFAULT 0"},
    {3, "CREATE TABLE tags (message INTEGER, tag TEXT); UPDATE messages SET stars = 5"}};

}  // namespace

TEST_CASE("a database of version 1 opens with all that is in it", "[store][migration]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    make_v1(path);
    auto store = open_store(path);
    CHECK(!store->read_only());
    REQUIRE(store->notices().size() == 2);  // brought up to date; the answer that was being written
    const auto chats = must(store->list(10));
    REQUIRE(chats.size() == 2);
    CHECK(chats[0].title == "Chosen title");
    CHECK(chats[1].title == "Grüße an 世界?");
    CHECK(chats[1].system_prompt == "Be brief.");
    CHECK(chats[1].params_json == R"({"temp":0.5})");
    CHECK(chats[1].n_messages == 5);
    const auto messages = must(store->path(chats[1].id));
    REQUIRE(messages.size() == 4);
    CHECK(messages[0].content == "Grüße an 世界?");
    CHECK(messages[1].token_ids == std::vector<std::int32_t>{1, 2, 151643});
    CHECK(messages[1].tokenizer_hash == "0123abcd");
    CHECK(messages[1].reasoning == "hm");
    CHECK(messages[1].finish_reason == "stop");
    CHECK(messages[1].stats_json == R"({"decode_ms":12})");
    CHECK(messages[1].created_ms == 1796000001000);
    CHECK(messages[3].content == "Ein halber");
    CHECK(messages[3].token_ids == std::vector<std::int32_t>{5, 6, 7});
    CHECK(messages[3].state == MessageState::stopped);
    CHECK(must(store->versions(chats[1].id, 2)).size() == 2);
    CHECK(must(store->latest_removed())->title == "Deleted chat");
    must(store->check_integrity());
}

TEST_CASE("a database of version 1, brought up to date, has the shape of a new one",
          "[store][migration]") {
    TempFolder folder;
    make_v1(folder / "old.db");
    {
        auto store = open_store(folder / "old.db");
        // What was there is found through the index that the step made.
        CHECK(must(store->search("世界", 10)).size() == 1);
        CHECK(must(store->search("guten tag", 10)).size() == 1);
        const auto notices = store->notices();
        CHECK(std::any_of(notices.begin(), notices.end(), [](const std::string& n) {
            return n.find("old.db.v1.backup") != std::string::npos;
        }));
    }
    open_store(folder / "new.db");
    SQLite::Database fresh(folder / "new.db"), old(folder / "old.db"),
        copy(folder / "old.db.v1.backup");
    CHECK(version_of(fresh) == store::kSchemaVersion);
    CHECK(version_of(old) == store::kSchemaVersion);
    CHECK(version_of(copy) == 1);
    CHECK(shape(fresh) == shape(old));
    CHECK(shape(fresh) != shape(copy));
}

TEST_CASE("an old database that may not be written is read as it is", "[store][migration]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    make_v1(path);
    auto store = must(store::Connection::open_as(path, false));
    store::SqliteStore old(std::move(store));
    CHECK(old.read_only());
    CHECK(must(old.list(10, 0, ChatFolder::shown)).size() == 2);
    CHECK(must(old.search("世界", 10)).size() == 1);
    CHECK(must(old.draft(1)).empty());
    CHECK(must(old.tree(1)).size() == 5);
    SQLite::Database db(path);
    CHECK(version_of(db) == 1);
}

TEST_CASE("migrating copies the file first and applies all steps", "[store][migration]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    make_v1(path);
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    const std::string copy = must(store::make_or_migrate(db, path, 3, kSteps));
    CHECK(copy == path + ".v1.backup");
    CHECK(version_of(db) == 3);
    CHECK(db.execAndGet("SELECT sum(stars) FROM messages").getInt() == 30);
    struct stat info {};
    REQUIRE(::stat(copy.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    {
        SQLite::Database kept(copy);
        CHECK(version_of(kept) == 1);
        CHECK(kept.execAndGet("SELECT count(*) FROM messages").getInt() == 6);
    }
    CHECK(must(Store::open(copy))->list(10));  // the copy is a database like any other
    // Once more: nothing to do.
    CHECK(must(store::make_or_migrate(db, path, 3, kSteps)).empty());
    // An older copy is not overwritten.
    SQLite::Database again(folder / "b.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    std::ofstream(folder / "b.db.v1.backup") << "older copy";
    again.exec(text_of(std::string(HEARTH_SOURCE_DIR) + "/tests/engine/store/v1.sql"));
    CHECK(must(store::make_or_migrate(again, folder / "b.db", 2, kSteps)) ==
          folder / "b.db.v1.backup.1");
    CHECK(version_of(again) == 2);
    CHECK(text_of(folder / "b.db.v1.backup") == "older copy");
}

TEST_CASE("a step that fails leaves the old version in place", "[store][migration]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    make_v1(path);
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    const store::Migration broken[] = {kSteps[0], {3, "UPDATE nothing SET x = 1"}};
    CHECK_THROWS_AS(store::make_or_migrate(db, path, 3, broken), SQLite::Exception);
    CHECK(version_of(db) == 1);
    CHECK_THROWS(db.exec("SELECT stars FROM messages"));
    const auto no_way = store::make_or_migrate(db, path, 5, kSteps);
    REQUIRE(!no_way);
    CHECK_THAT(no_way.error().what, Catch::Contains("no way from it to version 5"));
    CHECK(version_of(db) == 1);
    CHECK(must(open_store(path)->list(10)).size() == 2);
}

TEST_CASE("several processes bring one old database up to date once", "[store][migration]") {
    TempFolder folder;
    for (int round = 0; round < 10; ++round) {
        const std::string path = folder / fmt::format("{}.db", round);
        make_v1(path);
        std::vector<pid_t> pids;
        for (int p = 0; p < 4; ++p) {
            pids.push_back(::fork());
            REQUIRE(pids.back() >= 0);
            if (pids.back() != 0) continue;
            // As Connection does: its own connection, which waits for the others.
            try {
                SQLite::Database db(path, SQLite::OPEN_READWRITE, 10'000);
                ::_exit(store::make_or_migrate(db, path, 3, kSteps) ? 0 : 1);
            } catch (const SQLite::Exception&) {
                ::_exit(2);
            }
        }
        for (const pid_t pid : pids) {
            int status = 0;
            REQUIRE(::waitpid(pid, &status, 0) == pid);
            CHECK(status == 0);
        }
        SQLite::Database db(path);
        CHECK(version_of(db) == 3);
        CHECK(std::filesystem::exists(path + ".v1.backup"));
        CHECK(!std::filesystem::exists(path + ".v1.backup.1"));
    }
}

}  // namespace hearth
