#pragma once
// How much memory this process may still take.

#include <cstdint>

namespace hearth {

/// Bytes: what the system calls available, or less where a control group limits this process.
/// -1 when neither is known.
std::int64_t free_memory_bytes();

}  // namespace hearth
