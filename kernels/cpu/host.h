#pragma once
// What the operating system lets this process use.

namespace hearth::cpu {

/// Logical processors in the affinity mask, less what a cgroup quota takes away; at least 1.
int usable_cpus();

}  // namespace hearth::cpu
