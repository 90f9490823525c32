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

/// Origins of imports, drafts, the search index. What is there waits to be indexed.
const char* const kToVersion2 = R"sql(
CREATE TABLE origins (
    origin       TEXT NOT NULL PRIMARY KEY,  -- "chatgpt:CHAT", "chatgpt:CHAT#MESSAGE"
    conversation INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    message      INTEGER                     -- NULL: the chat itself
) STRICT, WITHOUT ROWID;
CREATE INDEX origins_conversation ON origins (conversation);
CREATE TABLE drafts (
    conversation INTEGER PRIMARY KEY,  -- 0: of a chat that has not begun
    text         TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE message_search
    USING fts5 (text, content = '', detail = none, tokenize = 'trigram case_sensitive 1');
CREATE VIRTUAL TABLE message_terms USING fts5vocab (message_search, instance);
CREATE TABLE search_pending (message INTEGER PRIMARY KEY) STRICT;
CREATE TRIGGER message_added AFTER INSERT ON messages WHEN new.state <> 1
    BEGIN INSERT OR IGNORE INTO search_pending VALUES (new.id); END;
CREATE TRIGGER message_ended AFTER UPDATE OF state ON messages WHEN old.state = 1 AND new.state <> 1
    BEGIN INSERT OR IGNORE INTO search_pending VALUES (new.id); END;
INSERT INTO search_pending SELECT id FROM messages WHERE state <> 1;
)sql";

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

std::span<const Migration> migrations() {
    static const Migration kSteps[] = {{2, kToVersion2}};
    return kSteps;
}

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
