#include "engine/base/mapped_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth {

namespace {

struct Descriptor {
    int fd = -1;
    ~Descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

std::int64_t modified_ns(const struct stat& s) {
    return static_cast<std::int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 + s.st_mtim.tv_nsec;
}

Result<void> read_all(int fd, std::uint8_t* out, std::size_t n, const std::string& path) {
    std::size_t done = 0;
    while (done < n) {
        const ssize_t got = ::pread(fd, out + done, n - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(Errc::failed, "{}: cannot read: {}", path, std::strerror(errno));
        if (got == 0) {
            return fail(Errc::failed, "{}: file is incomplete: {} of {} bytes could be read", path,
                        done, n);
        }
        done += static_cast<std::size_t>(got);
    }
    return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, Mode mode) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0) return fail(Errc::failed, "{}: cannot open: {}", path, std::strerror(errno));
    struct stat info {};
    if (::fstat(file.fd, &info) != 0) {
        return fail(Errc::failed, "{}: cannot read its size: {}", path, std::strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) return fail(Errc::failed, "{}: is a folder, not a file", path);
    if (!S_ISREG(info.st_mode)) return fail(Errc::failed, "{}: is not a regular file", path);

    MappedFile out;
    out.path_ = path;
    out.size_bytes_ = static_cast<std::size_t>(info.st_size);
    out.modified_ns_ = modified_ns(info);
    if (out.size_bytes_ == 0) return out;
    if (mode == Mode::map) {
        void* p = ::mmap(nullptr, out.size_bytes_, PROT_READ, MAP_PRIVATE, file.fd, 0);
        if (p != MAP_FAILED) {
            out.data_ = static_cast<std::uint8_t*>(p);
            out.mapped_ = true;
            return out;
        }
        if (errno != ENODEV && errno != EINVAL) {
            const Errc code = errno == ENOMEM ? Errc::out_of_memory : Errc::failed;
            return fail(code, "{}: cannot map {} bytes: {}", path, out.size_bytes_,
                        std::strerror(errno));
        }
    }
    const std::size_t padded = (out.size_bytes_ + 63) / 64 * 64;
    out.data_ = static_cast<std::uint8_t*>(std::aligned_alloc(64, padded));
    if (out.data_ == nullptr) {
        return fail(Errc::out_of_memory,
                    "{}: its file system cannot map files, and {} bytes of memory to read it into "
                    "are not free",
                    path, out.size_bytes_);
    }
    HEARTH_TRY_VOID(read_all(file.fd, out.data_, out.size_bytes_, path));
    return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    if (this == &other) return *this;
    close();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    modified_ns_ = other.modified_ns_;
    mapped_ = std::exchange(other.mapped_, false);
    return *this;
}

MappedFile::~MappedFile() { close(); }

void MappedFile::close() {
    if (data_ == nullptr) return;
    if (mapped_)
        ::munmap(data_, size_bytes_);
    else
        std::free(data_);
    data_ = nullptr;
    size_bytes_ = 0;
}

bool MappedFile::is_unchanged() const {
    struct stat info {};
    if (::stat(path_.c_str(), &info) != 0) return false;
    return static_cast<std::size_t>(info.st_size) == size_bytes_ &&
           modified_ns(info) == modified_ns_;
}

void MappedFile::will_need() const {
    if (mapped_) (void)::posix_madvise(data_, size_bytes_, POSIX_MADV_WILLNEED);
}

}  // namespace hearth
