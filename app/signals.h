#pragma once
// SIGINT, SIGTERM and SIGHUP as a flag, so that a partial answer is stored before the program ends;
// SIGPIPE and SIGXFSZ as a failed write. One per process, because signals are.

namespace hearth {

/// SIGINT (Ctrl+C), SIGTERM and SIGHUP only set a flag from now on; reads are interrupted (EINTR).
/// A second SIGINT before the flag is cleared ends the program at once with 130. SIGPIPE and
/// SIGXFSZ are ignored, and so is what was ignored before (nohup, `&`).
void catch_signals();
/// The signal that came, or 0.
int caught_signal();
void clear_signal();

}  // namespace hearth
