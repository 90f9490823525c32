#include "engine/store/network_drive.h"

#include <SQLiteCpp/SQLiteCpp.h>

#include "engine/store/connection.h"
#include "engine/store/sqlite_store.h"
#include "tests/engine/store/store_fixture.h"

namespace hearth::store {

TEST_CASE("network drives are known by name", "[store]") {
    CHECK(network_drive_name(0x6969, "") == "nfs");
    CHECK(network_drive_name(0xFF534D42, "") == "cifs");
    CHECK(network_drive_name(0xFE534D42, "") == "smb2");
    CHECK(network_drive_name(0xEF53, "").empty());      // ext4
    CHECK(network_drive_name(0x01021994, "").empty());  // tmpfs
    CHECK(network_drive_name(0x65735546, "fuse.sshfs") == "fuse.sshfs");
    CHECK(network_drive_name(0x65735546, "fuseblk").empty());  // ntfs-3g
    const std::string info =
        "36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw\n"
        "37 35 0:52 / /home/u/far rw shared:7 master:2 - fuse.sshfs u@far: rw\nbroken\n";
    CHECK(mounted_as(info, 0, 52) == "fuse.sshfs");
    CHECK(mounted_as(info, 98, 0) == "ext3");
    CHECK(mounted_as(info, 0, 5).empty());
    TempFolder folder;
    CHECK(network_drive(folder / "").empty());
    CHECK(network_drive(folder / "missing").empty());
}

TEST_CASE("a database on a network drive has no write-ahead log and says where it lies",
          "[store]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    ConversationId chat = 0;
    {
        auto local = open_store(path);  // made on a local disk, with a log
        chat = ask(*local, "q").chat;
    }
    SqliteStore store(must(Connection::open_as(path, true, "nfs")));
    REQUIRE(store.notices().size() == 1);
    CHECK_THAT(store.notices()[0], Catch::Contains("network drive (nfs)") && Catch::Contains(path));
    CHECK(must(store.path(chat, 0)).size() == 1);
    must(store.append(chat, message(0, "user", "more")));
    CHECK(!std::filesystem::exists(path + "-wal"));
    SQLite::Database db(path);
    CHECK(db.execAndGet("PRAGMA journal_mode").getString() == "delete");
    CHECK(open_store(path)->notices().empty());
}

}  // namespace hearth::store
