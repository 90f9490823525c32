#pragma once
// check: a bug in the caller (a shape, a type) stops the program with a sentence, in release too.
// kernels knows nothing of engine, hence not HEARTH_CHECK.

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace hearth::cuda {

inline void check(bool ok, const char* what,
                  std::source_location at = std::source_location::current()) {
    if (ok) [[likely]]
        return;
    std::fprintf(stderr, "hearth: bug: %s (%s:%d)\n", what, at.file_name(),
                 static_cast<int>(at.line()));
    std::abort();
}

}  // namespace hearth::cuda
