#include "app/gui/first_window.h"

#include <atomic>
#include <filesystem>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <unistd.h>

using namespace hearth::gui;

TEST_CASE("a second start raises the first window", "[gui][first]") {
    const std::string dir =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-first-{}", ::getpid()))
            .string();
    std::filesystem::create_directories(dir);
    CHECK_FALSE(raise_first_window(dir));
    {
        std::atomic<int> raised{0};
        FirstWindow first;
        REQUIRE(first.listen(dir, [&] { ++raised; }));
        CHECK(raise_first_window(dir));
        CHECK(raise_first_window(dir));
        CHECK(raised == 2);
    }
    CHECK_FALSE(raise_first_window(dir));
    // What a crash left is no window.
    std::filesystem::remove(dir + "/window.sock");
    FirstWindow again;
    CHECK(again.listen(dir, [] {}));
    CHECK(raise_first_window(dir));
    CHECK_FALSE(FirstWindow().listen(dir + std::string(200, 'x'), [] {}));
    std::filesystem::remove_all(dir);
}
