// The whole program on the emulated card: app/main.cpp is linked with the emulator in place of the
// CUDA runtime. Only for tests of what happens around the kernels; it computes slowly.
//
// HEARTH_SIMT_MEMORY: bytes of the card. HEARTH_SIMT_LOSE_AFTER: launches until the card is lost.
#include <cstdlib>

#include "kernels/cuda/simt.h"

namespace {

/// -1: not set.
long long number_from(const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::atoll(text) : -1;
}

const bool is_configured = [] {
    auto& config = simt::config();
    config.abort_on_error = false;
    if (const auto bytes = number_from("HEARTH_SIMT_MEMORY"); bytes >= 0)
        config.device_memory = static_cast<std::size_t>(bytes);
    if (const auto launches = number_from("HEARTH_SIMT_LOSE_AFTER"); launches >= 0)
        config.lose_after_launches = launches;
    return true;
}();

}  // namespace
