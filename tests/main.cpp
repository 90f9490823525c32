// The one translation unit that holds Catch2's implementation (12 s to compile, once).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
