#include "engine/store/migrations.h"

#include <fcntl.h>
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
extern const char hearth_store_schema[];
extern const char hearth_store_schema_end[];
}

namespace hearth::store {
namespace {

/// Copies the committed state of the file at `path` to a new file and syncs it.
Result<std::string> copy_before_migration(const std::string& path, int version) {
    std::string copy;
    int fd = -1;
    for (int i = 0; i < 100 && fd < 0; ++i) {
        copy = fmt::format("{}.v{}.backup{}", path, version, i == 0 ? "" : fmt::format(".{}", i));
        fd = ::open(copy.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST) break;
    }
    if (fd < 0)
        return fail(Errc::failed,
                    "The chat database {} is of an older version and must be copied before it is "
                    "brought up to date, but {} cannot be made ({}). Nothing was changed.",
                    path, copy, std::strerror(errno));
    {
        // VACUUM INTO accepts an existing file when it is empty, so the mode 0600 is kept.
        SQLite::Database source(path, SQLite::OPEN_READONLY);
        SQLite::Statement copy_all(source, "VACUUM INTO ?");
        copy_all.bind(1, copy);
        try {
            copy_all.exec();
        } catch (...) {
            ::close(fd);
            ::unlink(copy.c_str());
            throw;
        }
    }
    const bool synced = ::fsync(fd) == 0;
    ::close(fd);
    if (!synced)
        return fail(Errc::failed, "{} could not be written to disk ({}). Nothing was changed.",
                    copy, std::strerror(errno));
    return copy;
}

int user_version(SQLite::Database& db) { return db.execAndGet("PRAGMA user_version").getInt(); }

}  // namespace

std::string_view schema_text() { return {hearth_store_schema, hearth_store_schema_end}; }

std::span<const Migration> migrations() { return {}; }

Result<std::string> make_or_migrate(SQLite::Database& db, const std::string& path, int target,
                                    std::span<const Migration> steps) {
    if (user_version(db) >= target) return std::string();
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const int found = user_version(db);  // again: another process may have been first
    std::string copy;
    int version = found;
    if (version >= target) return std::string();
    if (version == 0) {
        db.exec(std::string(schema_text()));
        db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
        version = kSchemaVersion < target ? kSchemaVersion : target;
    } else if (!path.empty()) {
        HEARTH_TRY(copy, copy_before_migration(path, version));
    }
    for (const Migration& step : steps)
        if (step.to_version > version && step.to_version <= target) {
            db.exec(step.sql);
            version = step.to_version;
        }
    if (version != target)
        return fail(Errc::failed,
                    "The chat database {} has version {}, and this program has no way from it to "
                    "version {}. Nothing was changed.",
                    path, found, target);
    db.exec(fmt::format("PRAGMA user_version = {}", version));
    transaction.commit();
    return copy;
}

}  // namespace hearth::store
