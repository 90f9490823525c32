#pragma once
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): a random number is a pure function of a key and a counter, so a draw depends on the seed,
// its purpose and the position in the text, and on nothing that happened before.

#include <array>
#include <cstdint>

namespace hearth {

inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                               std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
        const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0],
                   static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1],
                   static_cast<std::uint32_t>(a)};
        key[0] += 0x9E3779B9u;
        key[1] += 0xBB67AE85u;
    }
    return counter;
}

/// What a number is drawn for; never renumbered, answers depend on it.
enum class DrawPurpose : std::uint32_t { target_sample, draft_sample, accept_test, residual };

/// In [0, 1), 53 bits; of (seed, purpose, absolute position in the sequence).
inline double draw_uniform(std::uint64_t seed, DrawPurpose purpose, std::uint64_t position) {
    const auto r = philox4x32(
        {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
         static_cast<std::uint32_t>(purpose), 0},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    const std::uint64_t bits = (std::uint64_t{r[0]} << 32 | r[1]) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace hearth
