#pragma once
// Files of a split model: NAME-00001-of-0000N.gguf. Knows names and counts, not contents.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace hearth {

/// The split.* keys of one file.
struct SplitInfo {
    std::optional<std::uint64_t> index;      ///< split.no, from 0
    std::optional<std::uint64_t> count;      ///< split.count
    std::optional<std::uint64_t> n_tensors;  ///< split.tensors.count, over all files
};

/// Paths of all parts in order, given any of them. Errors: model_invalid when the name is not of
/// the canonical form or disagrees with `split`, or naming the first missing part.
Result<std::vector<std::string>> sibling_paths(const std::string& path, const SplitInfo& split);

/// What part `index` says must agree with what the entry point said.
Result<void> check_part(const std::string& path, const SplitInfo& part, std::size_t index,
                        const SplitInfo& entry);

}  // namespace hearth
