# cmake -C packaging/debug.cmake -B build/debug: assertions on, no optimisation.
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
