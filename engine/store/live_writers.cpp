#include "engine/store/live_writers.h"

#include <ctime>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

namespace hearth::store {
namespace {

std::int64_t random_number() {
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) {
        timespec now{};
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        bits = static_cast<std::uint64_t>(now.tv_nsec) ^
               (static_cast<std::uint64_t>(::getpid()) << 32);
    }
    return static_cast<std::int64_t>((bits >> 2) | 1);  // positive, within off_t
}

struct flock one_byte(std::int64_t offset) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = 1;
    return lock;
}

}  // namespace

LiveWriters::LiveWriters(const std::string& path)
    : in_memory_(path.empty()),
      self_(random_number()) {
    if (in_memory_) return;
    fd_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) return;
    struct flock lock = one_byte(self_);
    ::fcntl(fd_, F_OFD_SETLK, &lock);
}

LiveWriters::~LiveWriters() {
    if (fd_ >= 0) ::close(fd_);
}

bool LiveWriters::alive(std::int64_t writer) const {
    if (writer <= 0) return false;
    if (writer == self_) return true;
    if (in_memory_) return false;
    if (fd_ < 0) return true;
    struct flock lock = one_byte(writer);
    if (::fcntl(fd_, F_OFD_GETLK, &lock) != 0) return true;
    return lock.l_type != F_UNLCK;
}

}  // namespace hearth::store
