#include "engine/cache/record_file.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/check.h"

namespace hearth {

namespace {

constexpr const char* kTemporary = "tmp-";

/// Everything that was asked for, or false with errno (0: the file ended).
bool read_all(int descriptor, std::span<std::uint8_t> to, std::int64_t at) {
    while (!to.empty()) {
        const ssize_t n = ::pread(descriptor, to.data(), to.size(), at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = 0;
            return false;
        }
        to = to.subspan(static_cast<std::size_t>(n));
        at += n;
    }
    return true;
}

bool write_all(int descriptor, std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

std::string reason() { return errno == 0 ? "the file is too short" : std::strerror(errno); }

struct FolderCloser {
    void operator()(DIR* d) const { ::closedir(d); }
};

/// Calls visit(name, descriptor of the folder).
template <typename Visit>
void for_each_name(const std::string& folder, Visit visit) {
    const std::unique_ptr<DIR, FolderCloser> dir(::opendir(folder.c_str()));
    if (dir == nullptr) return;
    while (const dirent* entry = ::readdir(dir.get())) {
        const std::string name = entry->d_name;
        if (name != "." && name != "..") visit(name, ::dirfd(dir.get()));
    }
}

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

}  // namespace

FileHandle::~FileHandle() {
    if (descriptor_ >= 0) ::close(descriptor_);
}
FileHandle::FileHandle(FileHandle&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}
FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

Result<RecordFile> RecordFile::open(const std::string& path) {
    RecordFile r;
    r.path_ = path;
    r.file_ = FileHandle(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!r.file_.is_open()) return fail(Errc::failed, "{}: {}", path, reason());
    struct stat status = {};
    if (::fstat(r.file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(Errc::failed, "{}: it is no regular file", path);
    }
    std::vector<std::uint8_t> bytes(kRecordHeaderBytes);
    if (!read_all(r.file_.get(), bytes, 0)) return fail(Errc::failed, "{}: {}", path, reason());
    auto header = parse_record_header(bytes, status.st_size);
    if (!header) return fail(Errc::failed, "{}: {}", path, header.error().what);
    r.header_ = std::move(*header);
    return r;
}

Result<void> RecordFile::read_pages(int first, int n, std::span<std::uint8_t> to) const {
    const std::size_t page_bytes = header_.page_bytes;
    HEARTH_CHECK(first >= 0 && n >= 0 && first + n <= header_.n_pages());
    HEARTH_CHECK(to.size() == static_cast<std::size_t>(n) * page_bytes);
    const std::int64_t at =
        static_cast<std::int64_t>(kRecordHeaderBytes) + std::int64_t{first} * header_.page_bytes;
    if (!read_all(file_.get(), to, at)) return fail(Errc::failed, "{}: {}", path_, reason());
    for (int i = 0; i < n; ++i) {
        const auto page = to.subspan(static_cast<std::size_t>(i) * page_bytes, page_bytes);
        if (hash_bytes(page) != header_.page_hashes[static_cast<std::size_t>(first + i)]) {
            return fail(Errc::failed, "{}: the checksum of page {} is wrong", path_, first + i);
        }
    }
    return {};
}

void RecordFile::will_read(const std::string& path) {
    const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.is_open()) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_WILLNEED);
}

std::vector<FileInfo> list_folder(const std::string& folder) {
    std::vector<FileInfo> out;
    for_each_name(folder, [&](const std::string& name, int at) {
        struct stat status = {};
        if (::fstatat(at, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
        out.push_back({name, status.st_size, nanoseconds(status.st_mtim), S_ISDIR(status.st_mode)});
    });
    return out;
}

std::vector<std::string> list_names(const std::string& folder) {
    std::vector<std::string> out;
    for_each_name(folder, [&](const std::string& name, int) { out.push_back(name); });
    return out;
}

std::int64_t modified_ns(const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? nanoseconds(status.st_mtim) : 0;
}

std::string read_small_file(const std::string& path, std::size_t most_bytes) {
    const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status = {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
    const auto n = std::min<std::size_t>(static_cast<std::size_t>(status.st_size), most_bytes);
    std::vector<std::uint8_t> bytes(n);
    if (!read_all(file.get(), bytes, 0)) return "";
    return {bytes.begin(), bytes.end()};
}

Result<void> make_folder(const std::string& folder) {
    for (std::size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
        const std::string part = folder.substr(0, end);
        if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
            return fail(Errc::failed, "the folder {} cannot be made: {}", part, reason());
        }
        if (end == std::string::npos) return {};
    }
}

bool is_temporary(const std::string& name) { return name.rfind(kTemporary, 0) == 0; }

Result<void> write_whole_file(const std::string& folder, const std::string& name,
                              std::span<const std::uint8_t> bytes) {
    static std::atomic<unsigned> counter{0};
    const std::string temporary =
        fmt::format("{}/{}{}-{}", folder, kTemporary, ::getpid(), ++counter);
    const std::string path = folder + "/" + name;
    FileHandle file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open()) return fail(Errc::failed, "{}: {}", temporary, reason());
    if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0) {
        const std::string why = reason();
        ::unlink(temporary.c_str());
        return fail(Errc::failed, "{}: {}", path, why);
    }
    return {};
}

void mark_used(const std::string& path, int order) {
    timespec now = {};
    ::clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t ns = nanoseconds(now) + order;
    const timespec time{ns / 1'000'000'000, ns % 1'000'000'000};
    const timespec times[2] = {time, time};
    (void)::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

Result<FileHandle> take_lock(const std::string& folder) {
    const std::string path = folder + "/lock";
    FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) return fail(Errc::failed, "{}: {}", path, reason());
    while (::flock(file.get(), LOCK_EX) != 0) {
        if (errno != EINTR) return fail(Errc::failed, "{}: {}", path, reason());
    }
    return file;
}

}  // namespace hearth
