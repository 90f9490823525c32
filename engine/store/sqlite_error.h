#pragma once
// What SQLite says, as a sentence for the user.

#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace SQLite {
class Exception;
}

namespace hearth::store {

/// `doing` completes "cannot …": "keep the message".
Error to_error(const SQLite::Exception& e, const std::string& path, std::string_view doing);
/// The file at `path` cannot be read as a database. It was not changed.
Error damaged(const std::string& path, std::string_view detail);

bool is_busy(const SQLite::Exception& e);
bool is_damage(const SQLite::Exception& e);

}  // namespace hearth::store
