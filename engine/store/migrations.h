#pragma once
// The version of the database's shape and the steps that lead to it. A step is never changed once
// it was released: files in the field were made by it.

#include <span>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace SQLite {
class Database;
}

namespace hearth::store {

/// PRAGMA application_id of our files: "HRTH".
constexpr int kApplicationId = 0x48525448;
/// PRAGMA user_version that this program writes.
constexpr int kSchemaVersion = 2;

/// The text of schema.sql.
std::string_view schema_text();

/// One step: from version `to_version - 1` to `to_version`.
struct Migration {
    int to_version;
    const char* sql;
};

/// Steps after version 1, ascending.
std::span<const Migration> migrations();

/// Makes the schema in an empty file, or brings an older one to `target` through `steps`, in one
/// transaction. An older file is copied first, to `PATH.v<N>.backup` (0600, synced). Safe when two
/// processes do it at once. May throw SQLite::Exception. Returns the path of the copy, or "".
Result<std::string> make_or_migrate(SQLite::Database& db, const std::string& path, int target,
                                    std::span<const Migration> steps);

}  // namespace hearth::store
