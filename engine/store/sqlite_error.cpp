#include "engine/store/sqlite_error.h"

#include <sqlite3.h>
#include <SQLiteCpp/Exception.h>

namespace hearth::store {
namespace {

int primary_code(const SQLite::Exception& e) { return e.getErrorCode() & 0xff; }

}  // namespace

bool is_busy(const SQLite::Exception& e) {
    // PROTOCOL: others kept changing the log's index while a transaction tried to begin.
    const int code = primary_code(e);
    return code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PROTOCOL;
}

bool is_damage(const SQLite::Exception& e) {
    return primary_code(e) == SQLITE_CORRUPT || primary_code(e) == SQLITE_NOTADB;
}

Error damaged(const std::string& path, std::string_view detail) {
    return {Errc::failed,
            fmt::format("The chat database {0} is damaged ({1}). It has not been changed. To go on "
                        "without it, move it away together with the files {0}-wal and {0}-shm; to "
                        "save what can be read: sqlite3 {0} .recover | sqlite3 saved.db",
                        path, detail)};
}

Error to_error(const SQLite::Exception& e, const std::string& path, std::string_view doing) {
    switch (primary_code(e)) {
        case SQLITE_FULL:
            return {Errc::failed,
                    fmt::format("The disk is full: cannot {} in {}. What was stored before is "
                                "intact; free some space and try again.",
                                doing, path)};
        case SQLITE_READONLY:
        case SQLITE_PERM:
            return {Errc::failed,
                    fmt::format("The chat database {} cannot be written ({}): cannot {}. Check who "
                                "owns the file and its folder, or choose another with --data-dir.",
                                path, e.what(), doing)};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
        case SQLITE_PROTOCOL:
            return {Errc::failed,
                    fmt::format("Another program keeps the chat database {} busy: cannot {}. Try "
                                "again, or end that program.",
                                path, doing)};
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            return damaged(path, e.what());
        case SQLITE_CANTOPEN:
            return {Errc::failed,
                    fmt::format("The chat database {} cannot be opened ({}). Check that its folder "
                                "exists and may be written, or choose another with --data-dir.",
                                path, e.what())};
        case SQLITE_TOOBIG:
            return {
                Errc::failed,
                fmt::format("A text is larger than the 1 GB that a message may have: cannot {}.",
                            doing)};
        default:
            return {Errc::failed, fmt::format("The chat database {} reports an error ({}): cannot "
                                              "{}. What was stored before is intact.",
                                              path, e.what(), doing)};
    }
}

}  // namespace hearth::store
