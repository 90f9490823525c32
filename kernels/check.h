#pragma once
// check: a bug in the caller (a shape, a type) stops the program with a sentence, in release too.
// kernels knows nothing of engine, hence not HEARTH_CHECK.

#include <cstdio>
#include <cstdlib>

namespace hearth {

// The builtins: clang 14 has no std::source_location with this standard library.
inline void check(bool ok, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
    if (ok) [[likely]]
        return;
    std::fprintf(stderr, "hearth: bug: %s (%s:%d)\n", what, file, line);
    std::abort();
}

}  // namespace hearth
