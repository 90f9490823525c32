#pragma once
// Where things are on this machine, from flags and environment variables. With options.cpp the
// only reader of the environment; every name is in environment_help().

#include <string>
#include <vector>

#include "app/options.h"

namespace hearth {

struct EnvironmentVariable {
    const char *name, *help;
};
/// All variables that Hearth reads.
const std::vector<EnvironmentVariable>& environment_variables();

/// XDG folders; everything in one folder with `data_dir` (flag or HEARTH_DATA_DIR) or portable.
AppPaths find_paths(Environment environment, const std::string& data_dir, bool portable);
/// A file `hearth.portable` lies beside the program.
bool has_portable_marker();
/// Whether the desktop's settings (GTK, KDE) ask for dark windows.
bool prefers_dark(Environment environment);
/// Folders of this and other programs that can hold models; they need not exist.
ModelPlaces find_places(Environment environment, const AppPaths& paths);
/// The colon-separated parts of a path list, without empty ones.
std::vector<std::string> split_path_list(const std::string& list);

}  // namespace hearth
