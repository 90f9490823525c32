#include "engine/store/connection.h"

#include <cstring>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/store/migrations.h"
#include "engine/store/network_drive.h"

namespace hearth::store {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

/// Makes the missing folders of `path`, each 0700. Existing ones keep their mode: they may be
/// shared.
Result<void> make_folders(const std::string& path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        const std::string folder = path.substr(0, slash);
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS) {
            const int why = errno;
            struct stat info {};
            if (::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) continue;
            return fail(Errc::failed,
                        "The folder {} for the chat database cannot be made ({}). Choose another "
                        "with --data-dir.",
                        folder, std::strerror(why));
        }
    }
    return {};
}

std::int64_t file_bytes(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : -1;
}

/// Makes the file with its final mode, or checks the one that is there. Tells whether we may write.
/// (An existing file is never opened here by hand: closing it would drop SQLite's locks on it.)
Result<bool> prepare_file(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        HEARTH_TRY_VOID(make_folders(path));
        const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) {
            ::close(fd);
            return true;
        }
        if (errno != EEXIST)
            return fail(Errc::failed,
                        "The chat database {} cannot be made ({}). Choose another place with "
                        "--data-dir, or run without storing anything with --no-log.",
                        path, std::strerror(errno));
        return true;
    }
    if (!S_ISREG(info.st_mode))
        return fail(Errc::failed,
                    "The chat database should be a file, but {} is a folder or a device. Move it "
                    "away, or choose another place with --data-dir.",
                    path);
    constexpr off_t kSmallestPage = 512;  // SQLite takes a shorter file for an empty one
    if (info.st_size > 0 && info.st_size < kSmallestPage)
        return tl::unexpected<Error>(damaged(path, "the file is too short"));
    // SQLite deletes the log beside an empty file, so an emptied database would lose its last hope.
    // Where another process makes the database, the file has its first page before the log begins:
    // it is measured again after the log was seen.
    if (info.st_size == 0 && file_bytes(path + "-wal") > 0 && file_bytes(path) == 0)
        return tl::unexpected<Error>(damaged(path, "the file is empty, its log is not"));
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return false;
    if ((info.st_mode & 0077) != 0 && info.st_uid == ::geteuid())
        ::chmod(path.c_str(), info.st_mode & 0700);
    return true;
}

/// `path` as the URI of a file that nobody writes to.
std::string immutable_uri(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path)
        if (std::isalnum(static_cast<unsigned char>(c)) || std::strchr("/._-~", c))
            uri += c;
        else
            uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return uri + "?immutable=1";
}

SQLite::Database open_database(const std::string& path, bool writable) {
    if (writable) return {path, SQLite::OPEN_READWRITE, kBusyTimeoutMs};
    SQLite::Database db(path, SQLite::OPEN_READONLY, kBusyTimeoutMs);
    try {
        db.execAndGet("PRAGMA schema_version");
        return db;
    } catch (const SQLite::Exception& e) {
        // In WAL mode even a reader writes beside the file; where it may not, and no log waits to
        // be read, the file alone is the whole truth.
        if (is_damage(e) || file_bytes(path + "-wal") > 0) throw;
    }
    return {immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI, kBusyTimeoutMs};
}

}  // namespace

void Connection::roll_back() noexcept {
    if (::sqlite3_get_autocommit(db_.getHandle()) == 0) db_.tryExec("ROLLBACK");
}

Connection::Identity Connection::identity() {
    // One state of the file: read one by one, the answers could be of before and after another
    // process made the schema.
    db_.exec("BEGIN DEFERRED");
    Identity found;
    try {
        found.is_empty = db_.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
        found.application = db_.execAndGet("PRAGMA application_id").getInt();
        found.version = db_.execAndGet("PRAGMA user_version").getInt();
    } catch (...) {
        roll_back();
        throw;
    }
    roll_back();
    return found;
}

void Connection::choose_journal() {
    if (network_.empty()) {
        // WAL: readers and one writer at once. Where the file system cannot, SQLite keeps its
        // rollback journal, which is as safe, only slower.
        db_.exec("PRAGMA journal_mode = WAL");
    } else {
        // The log's index is memory shared by processes, which ends at the border of one computer:
        // a second computer would read and write past it.
        const std::string mode = db_.execAndGet("PRAGMA journal_mode = DELETE").getString();
        notices_.push_back(fmt::format(
            "The chat database {} lies on a network drive ({}). {}; a folder on a local disk "
            "(--data-dir) is safer and faster.",
            path_, network_,
            mode == "delete" ? "It is used without a write-ahead log there, which is slower"
                             : "It has a write-ahead log there: do not open it from a second "
                               "computer at the same time"));
    }
    // FULL: the log is synced at each commit, so what was committed survives a power cut too.
    db_.exec("PRAGMA synchronous = FULL");
    db_.exec("PRAGMA journal_size_limit = 16777216");
}

Result<void> Connection::prepare(bool writable) {
    const auto [application, version, is_empty] = identity();
    if (!is_empty && application != kApplicationId)
        return fail(Errc::failed,
                    "{} is a database of another program, not of Hearth. It has not been changed; "
                    "choose another place with --data-dir.",
                    path_);
    if (version > kSchemaVersion) {
        read_only_because_ = fmt::format(
            "The chat database {} was written by a newer Hearth (version {}, this program knows "
            "{}): "
            "chats can be read here, not changed. Use the newer program to continue them.",
            path_, version, kSchemaVersion);
    } else if (!writable) {
        read_only_because_ = fmt::format(
            "The chat database {} may only be read by this user: chats can be read, not changed.",
            path_);
    }
    db_.exec("PRAGMA temp_store = MEMORY");
    if (read_only()) {
        db_.exec("PRAGMA query_only = ON");
        notices_.push_back(read_only_because_);
        return {};
    }
    if (!in_memory_) choose_journal();
    db_.exec("PRAGMA foreign_keys = ON");
    HEARTH_TRY(const std::string copy,
               make_or_migrate(db_, in_memory_ ? "" : path_, kSchemaVersion, migrations()));
    if (!copy.empty())
        notices_.push_back(fmt::format(
            "The chat database was brought up to date. The file as it was is kept as {}.", copy));
    return {};
}

Result<std::unique_ptr<Connection>> Connection::open_file(const std::string& path, bool writable,
                                                          const std::string& network) {
    std::unique_ptr<Connection> connection(new Connection(open_database(path, writable), path));
    connection->network_ = network;
    HEARTH_TRY_VOID(connection->prepare(writable));
    return connection;
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path) {
    HEARTH_TRY(const bool writable, prepare_file(path));
    return open_as(path, writable, network_drive(path));
}

Result<std::unique_ptr<Connection>> Connection::open_as(const std::string& path, bool writable,
                                                        const std::string& network) {
    const auto give_up = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
        try {
            return open_file(path, writable, network);
        } catch (const SQLite::Exception& e) {
            // Changing to WAL answers "busy" at once when another process is doing the same.
            if (!is_busy(e) || std::chrono::steady_clock::now() > give_up)
                return tl::unexpected<Error>(to_error(e, path, "open it"));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

Result<std::unique_ptr<Connection>> Connection::in_memory() {
    try {
        std::unique_ptr<Connection> connection(new Connection(
            SQLite::Database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE),
            "in memory"));
        connection->in_memory_ = true;
        HEARTH_TRY_VOID(connection->prepare(true));
        return connection;
    } catch (const SQLite::Exception& e) {
        return tl::unexpected<Error>(to_error(e, "in memory", "make it"));
    }
}

}  // namespace hearth::store
