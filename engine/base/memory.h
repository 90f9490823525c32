#pragma once
// How much memory this process may still take, and how much it has.

#include <cstdint>

namespace hearth {

/// Bytes: what the system calls available, or less where a control group limits this process.
/// -1 when neither is known.
std::int64_t free_memory_bytes();

/// Bytes of this process that are in memory now, mapped files included; -1 when unknown.
std::int64_t resident_memory_bytes();

}  // namespace hearth
