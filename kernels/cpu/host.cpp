// default_cpu_threads: min(affinity mask, floor of the cgroup CPU quota, physical cores).
#include "kernels/cpu/host.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

#include "kernels/backend.h"

namespace hearth {
namespace {

std::vector<int> affinity_cpus() {
    std::vector<int> cpus;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
        for (int i = 0; i < CPU_SETSIZE; ++i)
            if (CPU_ISSET(i, &mask)) cpus.push_back(i);
    }
    if (cpus.empty()) {
        const int n = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
        for (int i = 0; i < n; ++i) cpus.push_back(i);
    }
    return cpus;
}

/// Processors that quota / period microseconds allow; a very large number where there is no limit.
double v2_limit(const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return 1e9;
    return std::atof(quota.c_str()) / period;
}

double v1_limit(const std::string& folder) {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us"),
        period_file(folder + "/cpu.cfs_period_us");
    double quota = -1, period = 0;
    if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return 1e9;
    return quota / period;
}

/// The tightest quota of this process's group and of the groups above it.
template <typename Limit>
double tightest(const std::string& root, std::string path, Limit limit) {
    double least = limit(root);
    while (path.size() > 1) {
        least = std::min(least, limit(root + path));
        path.resize(path.rfind('/'));
    }
    return least;
}

double cgroup_cpus() {
    double least = 1e9;
    std::ifstream file("/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {  // id:controllers:path
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string controllers = line.substr(first, second - first);
        controllers[0] = ',';
        controllers += ',';
        const std::string path = line.substr(second + 1);
        if (controllers == ",,")
            least = std::min(least, tightest("/sys/fs/cgroup", path, v2_limit));
        else if (controllers.find(",cpu,") != std::string::npos)
            least = std::min(least, tightest("/sys/fs/cgroup/cpu", path, v1_limit));
    }
    return least;
}

int quota_floor() {
    return std::max(1, static_cast<int>(std::floor(std::min(cgroup_cpus(), 1e6) + 1e-9)));
}

int physical_cores(const std::vector<int>& cpus) {
    std::set<std::string> cores;
    for (const int cpu : cpus) {
        std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                           "/topology/thread_siblings_list");
        std::string siblings;
        if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
        cores.insert(siblings);
    }
    return static_cast<int>(cores.size());
}

}  // namespace

int cpu::usable_cpus() { return std::min(static_cast<int>(affinity_cpus().size()), quota_floor()); }

int default_cpu_threads() {
    const std::vector<int> cpus = affinity_cpus();
    return std::max(1,
                    std::min({static_cast<int>(cpus.size()), quota_floor(), physical_cores(cpus)}));
}

}  // namespace hearth
