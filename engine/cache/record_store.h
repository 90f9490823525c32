#pragma once
// RecordStore: the folder of records on disk: adds, finds, forgets, keeps the budget. Several
// processes may use one folder: records are named by content, whoever changes something holds the
// lock file, readers hold nothing. Knows files; does not know pages or sequences.
//
//   FOLDER/kv/lock
//   FOLDER/kv/IDENTITY/PARENT-OWN-TOKENS.kv    records of one model, KV type, … (kv_record.h)
//   FOLDER/kv/IDENTITY/CONVERSATION.chat       hashes of the records of a conversation, one a line
//
// A file's modification time is the time of its last use. Only records that no other one goes on
// from are evicted, the one unused for longest first; so no record is left without its beginning.

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/record_file.h"

namespace hearth {

class RecordStore {
  public:
    /// Nothing is made or read yet. budget_bytes: of everything below FOLDER/kv.
    RecordStore(const std::string& folder, std::int64_t budget_bytes);

    std::string folder_of(const Hash128& identity) const { return root_ + "/" + hex(identity); }
    std::string path_of(const Hash128& identity, const RecordName& name) const {
        return folder_of(identity) + "/" + name.file();
    }
    std::int64_t budget_bytes() const { return budget_bytes_; }

    // --- reading: no lock, nothing changes -----------------------------------------------------
    struct Record {
        std::string folder;  ///< the whole path of it
        RecordName name;
        std::int64_t bytes = 0, used_ns = 0;
        std::string path() const { return folder + "/" + name.file(); }
    };
    std::vector<RecordName> names(const Hash128& identity) const;
    bool has(const Hash128& identity, const RecordName& name) const {
        return has(folder_of(identity), name);
    }
    bool has(const std::string& folder, const RecordName& name) const;
    /// The list of a conversation's records.
    static bool is_chat_file(const std::string& name);
    std::vector<Record> records() const;
    std::int64_t total_bytes() const;

    // --- changing: under the lock ----------------------------------------------------------------
    enum class Put { written, present, no_room };
    /// Evicts first what must go, so the budget holds at every moment. Never the parent.
    Result<Put> put(const Hash128& identity, const RecordName& name,
                    std::span<const std::uint8_t> bytes);
    /// These records, present or to come, belong to the conversation from now on.
    Result<void> claim(const Hash128& identity, const std::string& conversation,
                       std::span<const Hash128> own);
    /// A longer record begins with these tokens of this block.
    bool is_covered(const Hash128& identity, const RecordName& name,
                    std::span<const std::int32_t> tokens) const;
    /// Removes shorter ends of the text that this record holds whole, unless another conversation
    /// has them.
    void supersede(const Hash128& identity, const std::string& conversation, const RecordName& name,
                   std::span<const std::int32_t> tokens);
    /// Removes what belongs to this conversation alone; returns the number of records.
    Result<int> forget(const std::string& conversation);
    /// Used now, the first ones last: what goes on from a record is evicted before it.
    void mark_used(const Hash128& identity, std::span<const RecordName> chain) const;
    /// Evicts down to a size; returns the number of records.
    Result<int> prune(std::int64_t to_bytes);
    /// Removes everything.
    Result<int> clear();
    void remove(const std::string& path) const;

  private:
    struct Scan {
        std::vector<Record> records;
        std::int64_t total_bytes = 0;
        std::vector<std::string> left_behind;  ///< temporary files
        std::vector<std::string> folders;
    };
    Scan scan() const;
    Result<FileHandle> lock_for_writing(const std::string& folder) const;
    int make_room(Scan& scan, std::int64_t to_bytes, std::uint64_t keep) const;
    std::set<Hash128> others_own(const std::string& folder, const std::string& chat_file) const;
    void sweep_chat_files(const std::string& folder, const std::set<Hash128>& there) const;

    std::string root_;
    std::int64_t budget_bytes_;
    unsigned n_claims_ = 0;
};

/// Free and used bytes decide: 10 % of what would be free without the cache, at most 10 GiB.
std::int64_t automatic_cache_budget(const std::string& folder);

}  // namespace hearth
