#pragma once
// Sequence: one timeline of tokens and the KV pages that hold its computed part. Plain data; pages
// belong to the KvCache they came from.

#include <cstdint>
#include <vector>

namespace hearth {

struct Sequence {
    std::vector<std::int32_t> tokens;  ///< prompt, then what was generated
    std::vector<std::int32_t> pages;   ///< page ids; cover at least n_cached positions
    int n_cached = 0;                  ///< positions whose keys and values are computed

    int n_pending() const { return static_cast<int>(tokens.size()) - n_cached; }
};

}  // namespace hearth
