#include "tests/engine/template/reference_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

namespace hearth::test {
namespace {

std::filesystem::path folder() {
    const std::filesystem::path source = HEARTH_SOURCE_DIR;
    if (const char* set = std::getenv("HEARTH_REFERENCE")) {
        return std::filesystem::path(set) / "templates";
    }
    const auto beside = source.parent_path() / "shared" / "reference" / "templates";
    if (std::filesystem::exists(beside)) return beside;
    return source / "tests" / "golden" / "reference" / "templates";
}

}  // namespace

std::string read_template(const std::string& file) {
    const auto path = folder() / file;
    std::ifstream in(path, std::ios::binary);
    INFO("reading " << path << " (set HEARTH_REFERENCE to the folder of the reference data)");
    REQUIRE(in.good());
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

nlohmann::ordered_json read_cases(const std::string& file) {
    return nlohmann::ordered_json::parse(read_template(file));
}

std::vector<std::string> template_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
        if (entry.path().extension() == ".jinja") files.push_back(entry.path().filename());
    }
    return files;
}

}  // namespace hearth::test

TEST_CASE("the reference holds templates") { CHECK(hearth::test::template_files().size() >= 10); }
