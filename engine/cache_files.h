#pragma once
// What the engine keeps below EngineOptions::cache_dir, for looking at it and clearing it up
// without an engine: `hearth cache`. Any number of engines may use the folder meanwhile.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace hearth::cache_files {

/// The records of one model with one set of settings that decide bits (KV type, context, …).
struct Group {
    std::string identity;    ///< 32 digits: the name of its folder
    std::string model_name;  ///< "" when no record can be read
    int n_records = 0, n_conversations = 0;
    std::int64_t n_tokens = 0, bytes = 0;
    std::int64_t used_ms = 0;  ///< of the record used last, unix time
};
/// Largest first. Reads one header of each group.
std::vector<Group> list(const std::string& cache_dir);
std::int64_t total_bytes(const std::string& cache_dir);
/// 10 % of what would be free without the cache, at most 10 GiB.
std::int64_t automatic_budget(const std::string& cache_dir);

struct Checked {
    int n_records = 0;
    std::int64_t bytes = 0;
    std::vector<std::string> damaged;  ///< a sentence each, with the path; these are removed
};
/// Reads every byte of every record.
Checked verify(const std::string& cache_dir);
/// Evicts what is unused for longest until no more than `to_bytes` are there; how many records.
Result<int> prune(const std::string& cache_dir, std::int64_t to_bytes);
/// Removes everything; how many records.
Result<int> clear(const std::string& cache_dir);
/// Removes what belongs to this conversation (Request::conversation) alone; how many records.
Result<int> forget(const std::string& cache_dir, const std::string& conversation);

}  // namespace hearth::cache_files
