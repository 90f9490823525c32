#pragma once
// HEARTH_CHECK(cond): a bug, on in release; prints condition and place, then stops the program.
// HEARTH_DCHECK(cond): the same in debug builds only.

#include <cstdio>
#include <cstdlib>

#define HEARTH_CHECK(cond)                                                               \
    do {                                                                                 \
        if (!(cond)) [[unlikely]] {                                                      \
            std::fprintf(stderr, "hearth: bug: %s is false at %s:%d\n", #cond, __FILE__, \
                         __LINE__);                                                      \
            std::abort();                                                                \
        }                                                                                \
    } while (false)

#ifdef NDEBUG
#define HEARTH_DCHECK(cond) \
    do {                    \
    } while (false)
#else
#define HEARTH_DCHECK(cond) HEARTH_CHECK(cond)
#endif
