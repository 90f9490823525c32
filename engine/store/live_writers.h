#pragma once
// LiveWriters: tells whether the writer of a streaming message still lives. Every open store locks
// one byte, at a random offset, of the empty file `DATABASE.live`; the kernel drops the lock when
// the process ends, however it ends. Unlike a process id this cannot be mistaken after a reboot, in
// another container, or when ids are reused.

#include <cstdint>
#include <string>

namespace hearth::store {

class LiveWriters {
  public:
    /// `path` of the lock file, made if missing (0600); "" for a database in memory.
    explicit LiveWriters(const std::string& path);
    ~LiveWriters();
    LiveWriters(const LiveWriters&) = delete;
    LiveWriters& operator=(const LiveWriters&) = delete;

    /// The number of this writer, > 0. It is written into the messages that it streams.
    std::int64_t self() const { return self_; }
    /// Does the process with this number still run? When it cannot be told: yes.
    bool alive(std::int64_t writer) const;

  private:
    int fd_ = -1;
    bool in_memory_ = false;
    std::int64_t self_ = 0;
};

}  // namespace hearth::store
