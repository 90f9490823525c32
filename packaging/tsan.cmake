# cmake -C packaging/tsan.cmake -B build/tsan: everything under the race detector; in simt_tests it
# looks at the kernels of the card.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(HEARTH_SANITIZE "thread" CACHE STRING "")
set(HEARTH_CUDA OFF CACHE BOOL "")
