#pragma once
// DiskCache: the prefixes of one resident model on disk. Gives a sequence what a file has beyond
// the pages in memory; writes what turns left behind. Owns the writer thread. Knows pages, tokens
// and records; does not know requests or scheduling.
//
// The engine thread alone touches pages: it reads records into them, and copies at most
// kWaitingBlocks blocks at a time for the writer thread, which does all that changes the folder but
// removing what is damaged. All calls are from the engine thread.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/cache/prefix_cache.h"
#include "engine/cache/record_store.h"
#include "engine/generate/sequence.h"

namespace hearth {

class DiskCache {
  public:
    static constexpr int kWaitingBlocks = 2;

    /// `wake` is called from the writer thread: there is room, or a notice.
    DiskCache(RecordStore store, Hash128 identity, std::string model_name, KvCache& kv,
              PrefixCache& prefixes);
    ~DiskCache();  ///< ends the writer thread; what waits to be copied is lost, see `flush`
    DiskCache(const DiskCache&) = delete;
    DiskCache& operator=(const DiskCache&) = delete;
    void set_wake(std::function<void()> wake);

    /// What is to be read for a sequence, block after block.
    class Restore {
      public:
        bool is_pending() const { return next_ < pieces_.size(); }
        void clear() { *this = {}; }

      private:
        friend class DiskCache;
        struct Piece {
            RecordName name;
            int first;  ///< position of its first token
            int n_use;  ///< tokens of it that the sequence begins with
        };
        std::vector<Piece> pieces_;
        std::size_t next_ = 0;
        RecordFile open_;  ///< of the next piece, once it was begun
    };
    /// The records that hold more of `tokens` than the first n_known; looks at names and a few
    /// headers. With `mark`, they count as used now.
    Restore find(std::span<const std::int32_t> tokens, int n_known, bool mark);
    /// Reads a little (kReadBytes or one page) into the sequence's pages: n_cached grows. What is
    /// damaged is left out and removed, and the rest is left to computing.
    void advance(Restore& restore, Sequence& seq, bool may_evict);

    /// A turn ended: this prefix, which the tree has, is to be written.
    void note(const std::string& conversation, std::span<const std::int32_t> tokens);
    /// save_one can do something now.
    bool can_save();
    /// Copies at most one block for the writer.
    void save_one();
    /// Waits until everything noted is on disk.
    void flush();
    /// The conversation was deleted: what no other one shares goes.
    void forget(const std::string& conversation);
    /// A sentence for the user, once; "" = none.
    std::string take_notice();

  private:
    struct Pending {
        std::uint64_t serial;
        std::string conversation;
        std::vector<std::int32_t> tokens;
        std::vector<Hash128> chain = {};  ///< of each block, the partial last one included
        std::size_t next = 0;             ///< block
    };
    using Task = std::function<void()>;
    void begin(Pending& p);
    std::vector<std::uint8_t> copy_block(const Pending& p, RecordName& name);
    void write(std::uint64_t serial, const std::string& conversation, const RecordName& name,
               const std::vector<std::uint8_t>& bytes);
    RecordName name_of(const Pending& p, std::size_t block) const;
    Hash128 parent_of(const Pending& p, std::size_t block) const;
    std::vector<const RecordName*> candidates(const std::vector<RecordName>& names,
                                              const Hash128& parent) const;
    const RecordName* longest(const std::vector<RecordName>& names, const Hash128& parent,
                              std::span<const std::int32_t> rest, int& n_common);
    bool open_piece(Restore& restore, const Sequence& seq);
    void remove_damaged(const std::string& path, const std::string& why);
    void give_up(Restore& restore, const std::string& why);
    void post(Task task, bool is_block);
    void stop_writing(const std::string& why);
    void run();

    RecordStore store_;
    const Hash128 identity_;
    const std::string model_name_;
    KvCache& kv_;
    PrefixCache& prefixes_;
    std::deque<Pending> pending_;
    std::uint64_t last_serial_ = 0;
    std::vector<std::uint8_t> buffer_;  ///< pages on their way from a file

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::pair<Task, bool>> tasks_;  ///< second: it holds a block
    int n_blocks_ = 0;                         ///< that wait or are being written
    bool busy_ = false, quit_ = false;
    bool broken_ = false;                ///< writing failed: no more of it
    std::set<std::uint64_t> abandoned_;  ///< serials whose next block found no room
    std::string notice_;
    std::function<void()> wake_;
    std::thread writer_;  ///< last: everything is there before it starts
};

}  // namespace hearth
