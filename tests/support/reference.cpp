#include "tests/support/reference.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace hearth::test {
namespace {
std::string env_or(const char* name, const std::string& fallback) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : fallback;
}
}  // namespace

std::string reference_dir() {
    return env_or("HEARTH_REFERENCE", std::string(HEARTH_SOURCE_DIR) + "/tests/golden/reference");
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string model_path(const std::string& file) {
    const std::string path =
        env_or("HEARTH_TEST_MODELS", env_or("HOME", "") + "/.cache/hearth-models") + "/" + file;
    if (!std::filesystem::exists(path)) {
        throw std::runtime_error(path + " is missing: packaging/fetch_models.sh gets it");
    }
    return path;
}

bool full_run() { return env_or("HEARTH_TEST_FULL", "0") == "1"; }

}  // namespace hearth::test
