#pragma once
// The GGUF container of one file: keys and tensor records, every count, size, offset and type
// checked against the bytes that are there before use. Views into those bytes; owns nothing else.
// Knows the format; does not know shards or what names mean.
//
// Layout, little-endian:
//   0   4  "GGUF"            4  u32 version (2, 3)
//   8  u64 tensor count      16 u64 key count
//   24     keys              u64 length, bytes; u32 type; value
//          tensor records    u64 length, name; u32 n_dims; u64 dims[n_dims]; u32 type; u64 offset
//          padding to general.alignment, then the data section; offsets are relative to it

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/weight_file.h"

namespace hearth {

enum class GgufType : std::uint32_t {
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    text,
    array,
    u64,
    i64,
    f64,
};
inline constexpr std::uint32_t kNumGgufTypes = 13;

/// "a string", "an integer", … for messages.
std::string_view gguf_type_name(GgufType type);
/// Bytes of a scalar; 0 for strings and arrays.
std::size_t gguf_scalar_bytes(GgufType type);
bool is_gguf_integer(GgufType type);

struct GgufKey {
    std::string_view name;
    GgufType type = GgufType::u32;
    GgufType element = GgufType::u32;     ///< of an array
    std::uint64_t count = 1;              ///< elements of an array
    std::span<const std::uint8_t> bytes;  ///< scalar, string without its length, array elements
};

struct GgufDirectory {
    std::vector<GgufKey> keys;
    std::vector<TensorInfo> tensors;
    std::size_t header_bytes = 0;  ///< keys and records, without the padding
};

/// Errors: model_invalid, beginning with `where`.
Result<GgufDirectory> read_gguf(std::span<const std::uint8_t> bytes, const std::string& where);

/// A text for messages: control characters and bytes that are not ASCII become '?', long ones end
/// in "...".
std::string printable(std::string_view text, std::size_t limit = 60);

}  // namespace hearth
