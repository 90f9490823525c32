#pragma once
// Terminal: the tty as a device (raw mode, size, signals, bytes). Owns its state from open() on and
// gives it back on every way out: destruction, exit(), Ctrl+Z, a signal, a crash. At most one
// exists at a time. Knows nothing of lines or keys.

#include <array>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <termios.h>

#include "engine/base/result.h"

namespace hearth::repl {

class Terminal {
  public:
    /// `editing`: raw mode, bracketed paste, cursor movement; else the tty stays as it is and
    /// lines come from its own editor. Bytes are read from stdin and written to `out_fd`.
    static std::unique_ptr<Terminal> open(bool editing, int out_fd);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    bool editing() const { return editing_; }
    int columns() const;  ///< 80 when nobody knows
    int rows() const;     ///< 24 when nobody knows

    /// Writes all of it; what cannot be written (the terminal is gone) is dropped.
    void write(std::string_view bytes);

    struct Woken {
        bool input = false;      ///< read_bytes() has something, or the end
        bool other = false;      ///< the other descriptor is readable
        bool interrupt = false;  ///< SIGINT
        bool resized = false;
        bool resumed = false;  ///< the program was stopped and goes on: draw again
        int deadly = 0;        ///< SIGTERM or SIGHUP: leave
    };
    /// Waits for one of them, at most `timeout_ms` (-1 = for ever). `other_fd` -1 = none.
    Woken wait(int timeout_ms, int other_fd = -1);
    /// What is there now; empty at the end of the input.
    std::string read_bytes();

    /// Stops the program as Ctrl+Z does; returns when it goes on.
    void suspend();
    /// Runs a shell command with the terminal in its normal state; `argument` is $1.
    /// Errors: failed, when it cannot run or ends with a code other than 0.
    Result<void> run_command(const std::string& command, const std::string& argument);

  private:
    Terminal(bool editing, int out_fd);
    void enter_raw();
    void leave_raw();
    void install_signals();
    void take_typed_before();

    const bool editing_;
    const int out_fd_;
    std::string typed_before_;  ///< while the program started; read_bytes() gives it first
    std::vector<std::pair<int, struct sigaction>> old_actions_;
};

}  // namespace hearth::repl
