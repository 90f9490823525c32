#pragma once
// WeightFile: a GGUF v2/v3 model (one file or its shards), mapped read-only, with a directory that
// was checked before use: every count, size, offset and type (gguf-and-quants.md sections 1, 2).
// Knows what the format is; does not know what the names mean.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/text/tokenizer.h"
#include "kernels/tensor.h"

namespace hearth {

struct GgufKey;

struct TensorInfo {
    std::string name;
    TensorView view;                  ///< rows = ne1 * ne2 * ne3, cols = ne0
    std::vector<std::int64_t> shape;  ///< ne0, ne1, … as in the file
};

class WeightFile {
  public:
    /// Any shard is an entry point; siblings are found and their counts verified.
    /// Errors: model_not_found, model_invalid (one sentence: where, expected, found).
    static Result<std::shared_ptr<WeightFile>> open(const std::string& path);
    /// Parses bytes that stay alive for the object's life: tests and fuzzing.
    static Result<std::shared_ptr<WeightFile>> parse(std::span<const std::uint8_t> bytes,
                                                     std::string name);
    ~WeightFile();

    const std::string& path() const;
    std::int64_t file_bytes() const;  ///< of all shards
    const std::vector<TensorInfo>& tensors() const;
    const TensorInfo* find(std::string_view name) const;

    /// Typed metadata. nullopt when the key is missing; an error when it has another type.
    /// Integers of any width convert where the value fits.
    Result<std::optional<std::int64_t>> get_int(std::string_view key) const;
    Result<std::optional<double>> get_float(std::string_view key) const;
    Result<std::optional<bool>> get_bool(std::string_view key) const;
    Result<std::optional<std::string>> get_string(std::string_view key) const;
    Result<std::optional<std::vector<std::int64_t>>> get_ints(std::string_view key) const;
    Result<std::optional<std::vector<double>>> get_floats(std::string_view key) const;
    Result<std::optional<std::vector<std::string>>> get_strings(std::string_view key) const;

    /// key = short printable value, in file order: for `show`.
    std::vector<std::pair<std::string, std::string>> describe() const;
    Result<Vocabulary> vocabulary() const;
    /// tokenizer.chat_template, empty when the file has none.
    Result<std::string> chat_template() const;
    /// xxh3-128 over metadata, directory and samples of the data: identity for stores and caches.
    const std::string& content_hash() const;
    /// Tells the kernel that the data will be read soon (posix_madvise WILLNEED).
    void will_need() const;
    /// No file has changed size or time since it was opened; a truncated mapping must not be read.
    bool is_unchanged() const;

    /// The keys as they lie in the file (gguf.h), for the typed access above.
    const GgufKey* find_key(std::string_view key) const;
    std::span<const GgufKey> keys() const;

  private:
    WeightFile();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
