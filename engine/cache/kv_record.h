#pragma once
// KvRecord: keys and values of one block of at most 256 tokens as a file: its bytes, its name, and
// what must agree before it is believed. Knows bytes; opens no file.
//
// Blocks begin at multiples of 256 tokens and are chained: the hash of a block is xxh3-128 of the
// hash before it (of the identity for the first block) and its tokens, so a name stands for the
// whole text up to there. A block of fewer tokens is the end of a text; its last page is zero
// behind them. The same content always gives the same bytes.
//
// All integers little-endian:
//   offset  bytes  what
//        0      8  "HEARTHKV"
//        8      4  format version, kRecordVersion
//       12      4  4096, where the pages begin
//       16     16  identity: hash of model, KV type, shapes, backend, numeric revision
//       32     16  hash of the chain before this block
//       48     16  hash of the chain with this block
//       64      4  position of the first token, a multiple of 256
//       68      4  N, tokens: 1 to 256
//       72      4  P, pages: ceil(N / 16)
//       76      4  B, bytes of one page, all layers
//       80     48  name of the model, UTF-8, zero behind; only shown
//      128    4 N  token ids
//   128+4N   16 P  xxh3-128 of each page
//      ...    ...  zero
//     4080     16  xxh3-128 of the 4080 bytes before
//     4096    P B  pages; each: per layer the keys, then the values
// Hashes are stored high half first. The file ends there.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/model/model.h"

namespace hearth {

inline constexpr std::uint32_t kRecordVersion = 1;
inline constexpr int kBlockTokens = 256;
inline constexpr int kBlockPages = kBlockTokens / kPageTokens;
inline constexpr std::size_t kRecordHeaderBytes = 4096;

struct Hash128 {
    std::uint64_t high = 0, low = 0;
    auto operator<=>(const Hash128&) const = default;
};
std::string hex(const Hash128& h);  ///< 32 digits
Hash128 hash_bytes(std::span<const std::uint8_t> bytes);

/// Everything that the bits of keys and values depend on besides the tokens, as one hash; the
/// model by its content, not by its path.
Hash128 kv_identity(const Model& model, DType kv_type, std::string_view backend);

/// The hash of a chain that goes on with `tokens`.
Hash128 chain_hash(const Hash128& before, std::span<const std::int32_t> tokens);

struct RecordHeader {
    Hash128 identity, parent, own;
    std::int32_t first = 0;  ///< position of the first token
    std::vector<std::int32_t> tokens;
    std::uint32_t page_bytes = 0;
    std::string model_name;
    std::vector<Hash128> page_hashes;

    int n_pages() const { return static_cast<int>(page_hashes.size()); }
    std::int64_t file_bytes() const {
        return static_cast<std::int64_t>(kRecordHeaderBytes) + std::int64_t{page_bytes} * n_pages();
    }
};

/// kRecordHeaderBytes bytes. The page hashes are there already.
std::vector<std::uint8_t> write_record_header(const RecordHeader& header);
/// `bytes` are the first ones of a file of `file_bytes`. Errors are sentences without the path.
Result<RecordHeader> parse_record_header(std::span<const std::uint8_t> bytes,
                                         std::int64_t file_bytes);

/// What a file's name says: first 16 digits of the parent's hash, the block's own hash, tokens.
struct RecordName {
    std::uint64_t parent = 0;  ///< high half of the parent's hash
    Hash128 own;
    int n_tokens = 0;

    bool is_whole() const { return n_tokens == kBlockTokens; }
    std::string file() const;
    static std::optional<RecordName> parse(std::string_view file);
};

}  // namespace hearth
