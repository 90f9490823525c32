#pragma once
// Files of records: one opened for reading, with nothing believed that is not checked; a folder's
// names; a file written whole or not at all; the lock of those who write. Knows paths and bytes;
// does not know which records are wanted or how many may be kept.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/kv_record.h"

namespace hearth {

/// A descriptor, closed at the end.
class FileHandle {
  public:
    FileHandle() = default;
    explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
    ~FileHandle();
    FileHandle(FileHandle&& other) noexcept;
    FileHandle& operator=(FileHandle&& other) noexcept;
    int get() const { return descriptor_; }
    bool is_open() const { return descriptor_ >= 0; }

  private:
    int descriptor_ = -1;
};

/// An open record whose header is whole.
class RecordFile {
  public:
    RecordFile() = default;
    /// Errors: failed, with the path.
    static Result<RecordFile> open(const std::string& path);
    bool is_open() const { return file_.is_open(); }
    const RecordHeader& header() const { return header_; }
    /// Pages [first, first + n) to n * page_bytes bytes; each agrees with its checksum.
    Result<void> read_pages(int first, int n, std::span<std::uint8_t> to) const;
    /// Tells the kernel that the whole file will be read soon.
    static void will_read(const std::string& path);

  private:
    FileHandle file_;
    std::string path_;
    RecordHeader header_;
};

struct FileInfo {
    std::string name;
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;
    bool is_folder = false;
};
/// What is in a folder; empty when there is none. Without `.` and `..`.
std::vector<FileInfo> list_folder(const std::string& folder);
/// The names alone: no look at each file.
std::vector<std::string> list_names(const std::string& folder);
/// Of one file; 0 when it is not there.
std::int64_t modified_ns(const std::string& path);
std::string read_small_file(const std::string& path, std::size_t most_bytes);

/// Makes a folder and those above it, for this user alone.
Result<void> make_folder(const std::string& folder);
/// Writes folder/name under a temporary name, syncs and renames it, mode 0600. Whoever holds the
/// lock may remove temporary files: their writer is gone.
Result<void> write_whole_file(const std::string& folder, const std::string& name,
                              std::span<const std::uint8_t> bytes);
bool is_temporary(const std::string& name);
/// "read or written last": now, plus `order` ns so that files of one call differ.
void mark_used(const std::string& path, int order);

/// Waits for folder/lock, which is made when it is missing.
Result<FileHandle> take_lock(const std::string& folder);

}  // namespace hearth
