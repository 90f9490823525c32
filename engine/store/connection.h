#pragma once
// Connection: one open database file with its rules — permissions, WAL, durability, waiting for
// other processes, transactions whose failures become Results. Knows no chat.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "engine/base/result.h"
#include "engine/store/sqlite_error.h"

namespace hearth::store {

/// How long a call waits for other processes before it gives up.
constexpr std::chrono::milliseconds kPatience{30'000};

class Connection {
  public:
    /// Opens or makes the file at `path`; see Store::open. Never changes a file it cannot read.
    static Result<std::unique_ptr<Connection>> open(const std::string& path);
    /// The same for a file of which is known whether it may be written.
    /// `network`: the kind of network drive that it lies on, "" = a local disk.
    static Result<std::unique_ptr<Connection>> open_as(const std::string& path, bool writable,
                                                       const std::string& network = "");
    static Result<std::unique_ptr<Connection>> in_memory();

    SQLite::Database& db() { return db_; }
    const std::string& path() const { return path_; }
    bool in_memory_only() const { return in_memory_; }
    bool read_only() const { return !read_only_because_.empty(); }
    std::vector<std::string>& notices() { return notices_; }

    /// Runs `f` (returning a Result, perhaps several times) on one consistent state of the file.
    template <typename F>
    auto read(std::string_view doing, F f) -> decltype(f()) {
        // Rolled back at its end: SQLite refuses to commit after meeting a damaged page, though
        // nothing was to be written.
        return transact("BEGIN DEFERRED", nullptr, doing, f);
    }

    /// Runs `f` (returning a Result, perhaps several times) as one change: all of it is committed
    /// and synced on return, or, when an error is returned, nothing of it is.
    template <typename F>
    auto write(std::string_view doing, F f) -> decltype(f()) {
        if (read_only()) return fail(Errc::failed, "{} Cannot {}.", read_only_because_, doing);
        // IMMEDIATE: the lock is taken at once, where waiting is possible, not when a reader
        // upgrades.
        return transact("BEGIN IMMEDIATE", "COMMIT", doing, f);
    }

  private:
    Connection(SQLite::Database db, std::string path)
        : db_(std::move(db)),
          path_(std::move(path)) {}

    static Result<std::unique_ptr<Connection>> open_file(const std::string& path, bool writable,
                                                         const std::string& network);
    /// What the file says it is.
    struct Identity {
        int application = 0, version = 0;
        bool is_empty = true;
    };
    Identity identity();
    Result<void> prepare(bool writable);
    void choose_journal();
    void roll_back() noexcept;

    template <typename F>
    auto transact(const char* begin, const char* commit, std::string_view doing, F& f)
        -> decltype(f()) {
        const auto give_up = std::chrono::steady_clock::now() + kPatience;
        for (;;) {
            try {
                db_.exec(begin);
                auto result = f();
                if (result && commit != nullptr)
                    db_.exec(commit);
                else
                    roll_back();
                return result;
            } catch (const SQLite::Exception& e) {
                roll_back();
                if (!is_busy(e) || std::chrono::steady_clock::now() > give_up)
                    return tl::unexpected<Error>(to_error(e, path_, doing));
            } catch (const std::bad_alloc&) {
                roll_back();
                return fail(Errc::out_of_memory, "Not enough memory: cannot {}.", doing);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    SQLite::Database db_;
    std::string path_;
    bool in_memory_ = false;
    std::string network_;            ///< kind of network drive, "" = local
    std::string read_only_because_;  ///< a sentence, empty: may be written
    std::vector<std::string> notices_;
};

}  // namespace hearth::store
