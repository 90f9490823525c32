#pragma once
// The log: warnings and errors of the engine in a file of the state folder, never on stdout.

#include <string>
#include <vector>

#include "app/options.h"

namespace hearth {

/// Sets the sink of engine/base/log.h as the options ask. Nothing with --no-log or level "off".
/// A log that cannot be written is no reason to stop: then there is none.
void open_log(const Options& options);
/// The newest lines of this process, oldest first, whatever goes to the file; for the window.
std::vector<std::string> recent_log();

}  // namespace hearth
