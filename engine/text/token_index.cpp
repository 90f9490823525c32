#include "engine/text/token_index.h"

#include <algorithm>
#include <bit>

#include <xxhash.h>

#include "engine/base/check.h"

namespace hearth {

TokenIndex::TokenIndex(std::size_t n_tokens)
    : slots_(std::bit_ceil(2 * std::max<std::size_t>(n_tokens, 1))),
      texts_(n_tokens) {}

bool TokenIndex::add(std::string_view text, TokenId id) {
    HEARTH_CHECK(id >= 0 && static_cast<std::size_t>(id) < texts_.size());
    const std::uint64_t hash = XXH3_64bits(text.data(), text.size());
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
        Slot& slot = slots_[at];
        if (slot.id < 0) {
            slot = {tag, id};
            texts_[static_cast<std::size_t>(id)] = text;
            return true;
        }
        if (slot.tag == tag && texts_[static_cast<std::size_t>(slot.id)] == text) {
            return slot.id == id;
        }
    }
}

TokenId TokenIndex::find(std::string_view text) const {
    if (slots_.empty()) return -1;
    const std::uint64_t hash = XXH3_64bits(text.data(), text.size());
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
        const Slot& slot = slots_[at];
        if (slot.id < 0) return -1;
        if (slot.tag == tag && texts_[static_cast<std::size_t>(slot.id)] == text) return slot.id;
    }
}

}  // namespace hearth
