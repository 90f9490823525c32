#include "engine/base/memory.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace hearth {

namespace {

/// The number in a file of one number; -1 when there is none ("max").
std::int64_t read_number(const std::string& path) {
    std::ifstream file(path);
    std::int64_t value = -1;
    return file >> value ? value : -1;
}

std::int64_t available_bytes() {
    std::ifstream file("/proc/meminfo");
    std::string key;
    std::int64_t kib = 0;
    for (std::string rest; file >> key >> kib; std::getline(file, rest)) {
        if (key == "MemAvailable:") return kib << 10;
    }
    return -1;
}

/// Limit less use of the control group (v2, then v1) as it is seen from inside a container.
std::int64_t group_bytes() {
    const std::string root = "/sys/fs/cgroup/";
    std::int64_t limit = read_number(root + "memory.max");
    std::int64_t used = read_number(root + "memory.current");
    if (limit < 0) {
        limit = read_number(root + "memory/memory.limit_in_bytes");
        used = read_number(root + "memory/memory.usage_in_bytes");
    }
    return limit < 0 || used < 0 ? -1 : std::max<std::int64_t>(0, limit - used);
}

}  // namespace

std::int64_t free_memory_bytes() {
    const std::int64_t system = available_bytes(), group = group_bytes();
    if (system < 0 || group < 0) return std::max(system, group);
    return std::min(system, group);
}

std::int64_t resident_memory_bytes() {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("VmRSS:", 0) == 0) return std::strtoll(line.c_str() + 6, nullptr, 10) << 10;
    }
    return -1;
}

}  // namespace hearth
