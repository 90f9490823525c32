#pragma once
// GgufWriter: makes GGUF files byte by byte for tests, good ones and deliberately bad ones. All
// data is public so that a test can spoil one thing; nothing is checked here.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::test {

using Bytes = std::vector<std::uint8_t>;

/// A metadata value: its GGUF type id and its bytes as they lie in the file.
struct GgufValue {
    std::uint32_t type = 0;
    Bytes bytes;

    static GgufValue u8(std::uint8_t v);
    static GgufValue u16(std::uint16_t v);
    static GgufValue u32(std::uint32_t v);
    static GgufValue i32(std::int32_t v);
    static GgufValue u64(std::uint64_t v);
    static GgufValue f32(float v);
    static GgufValue boolean(bool v);
    static GgufValue text(std::string_view v);
    static GgufValue texts(const std::vector<std::string>& v);
    static GgufValue i32s(const std::vector<std::int32_t>& v);
    static GgufValue f32s(const std::vector<float>& v);
    static GgufValue bools(const std::vector<bool>& v);
};

struct GgufTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  ///< ne0, ne1, …
    std::uint32_t type = 0;            ///< GGUF type id
    Bytes data;
    bool forced_offset = false;  ///< use `offset` instead of the running padded sum
    std::uint64_t offset = 0;
};

class GgufWriter {
  public:
    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;  ///< padding really used; the key is separate
    bool forced_counts = false;    ///< use the two counts below
    std::uint64_t n_tensors = 0;
    std::uint64_t n_keys = 0;
    std::vector<std::pair<std::string, GgufValue>> keys;
    std::vector<GgufTensor> tensors;

    /// Replaces the value of `key`, or adds it at the end.
    void set(std::string_view key, GgufValue value);
    void erase(std::string_view key);
    const GgufValue* find(std::string_view key) const;
    GgufTensor* tensor(std::string_view name);
    void erase_tensor(std::string_view name);

    Bytes build() const;
};

void append_u32(Bytes& out, std::uint32_t v);
void append_u64(Bytes& out, std::uint64_t v);
/// u64 length, then the bytes.
void append_string(Bytes& out, std::string_view v);

/// Writes the file beside its place and puts it there whole: who reads the old one keeps that.
/// Stops the test program when that fails.
void write_file(const std::string& path, const Bytes& bytes);
/// A fresh empty folder under the system's temporary folder, named after `label`.
std::string temporary_folder(std::string_view label);

}  // namespace hearth::test
