#include "engine/text/special_tokens.h"

namespace hearth {

SpecialTokens::SpecialTokens() : nodes_(1), first_(256, 0) {}

std::uint32_t SpecialTokens::child(std::uint32_t node, unsigned char byte) const {
    if (node == 0) return first_[byte];
    for (const auto& [label, index] : nodes_[node].next) {
        if (label == byte) return index;
    }
    return 0;
}

void SpecialTokens::add(std::string_view spelling, TokenId id) {
    if (spelling.empty()) return;
    std::uint32_t node = 0;
    for (const char c : spelling) {
        const auto byte = static_cast<unsigned char>(c);
        std::uint32_t next = child(node, byte);
        if (next == 0) {
            next = static_cast<std::uint32_t>(nodes_.size());
            nodes_.emplace_back();
            if (node == 0) {
                first_[byte] = next;
            } else {
                nodes_[node].next.emplace_back(byte, next);
            }
        }
        node = next;
    }
    if (nodes_[node].id < 0) nodes_[node].id = id;
}

SpecialTokens::Match SpecialTokens::longest_at(std::string_view text, std::size_t at) const {
    Match best;
    std::uint32_t node = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
        node = child(node, static_cast<unsigned char>(text[i]));
        if (node == 0) break;
        if (nodes_[node].id >= 0) best = {i + 1 - at, nodes_[node].id};
    }
    return best;
}

}  // namespace hearth
