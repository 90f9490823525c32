# cmake -C packaging/asan.cmake -B build/asan: everything under ASan and UBSan.
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(HEARTH_SANITIZE "address,undefined" CACHE STRING "")
