#pragma once
// MappedFile: a whole file as read-only bytes. Owns a memory mapping or, on file systems that
// cannot map (ENODEV, EINVAL: some network and WSL mounts), a buffer that was read once.

#include <cstdint>
#include <span>
#include <string>

#include "engine/base/result.h"

namespace hearth {

class MappedFile {
  public:
    enum class Mode : std::uint8_t { map, read };  ///< read: always buffered (tests)

    /// Error: failed, with the system's reason. An empty file is an empty span.
    static Result<MappedFile> open(const std::string& path, Mode mode = Mode::map);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const std::uint8_t> bytes() const { return {data_, size_bytes_}; }
    bool is_mapped() const { return mapped_; }
    /// The file still has the size and the modification time that it had when it was opened.
    bool is_unchanged() const;
    /// Tells the kernel that the bytes will be read soon. Failure is of no consequence.
    void will_need() const;

  private:
    MappedFile() = default;
    void close();

    std::string path_;
    std::uint8_t* data_ = nullptr;
    std::size_t size_bytes_ = 0;
    std::int64_t modified_ns_ = 0;
    bool mapped_ = false;
};

}  // namespace hearth
