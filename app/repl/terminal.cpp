#include "app/repl/terminal.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/check.h"

namespace hearth::repl {
namespace {

/// What a signal handler needs. A handler has no object, so this is static; only the one Terminal
/// writes it, and the handlers call async-signal-safe functions only.
struct SignalState {
    termios normal{};
    std::atomic<bool> raw{false};
    std::atomic<int> out_fd{1};
    int pipe_read = -1, pipe_write = -1;
};
SignalState g_signals;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr std::string_view kBegin = "\x1b[?2004h";  ///< bracketed paste
constexpr std::string_view kEnd = "\x1b[?2004l\x1b[0m\x1b[?25h";
constexpr int kWakers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT, SIGTSTP};
constexpr int kCrashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT};

void give_back() {
    if (!g_signals.raw.exchange(false)) return;
    [[maybe_unused]] const auto n = ::write(g_signals.out_fd, kEnd.data(), kEnd.size());
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &g_signals.normal);
}

extern "C" void hearth_on_waker(int signal) {
    const int saved = errno;
    const char byte = static_cast<char>(signal);
    [[maybe_unused]] const auto n = ::write(g_signals.pipe_write, &byte, 1);
    errno = saved;
}

extern "C" void hearth_on_crash(int signal) {
    give_back();
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

struct sigaction action_of(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    return action;
}

winsize size_of(int fd) {
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 && ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) {
        size = {};
    }
    return size;
}

}  // namespace

std::unique_ptr<Terminal> Terminal::open(bool editing, int out_fd) {
    return std::unique_ptr<Terminal>(new Terminal(editing, out_fd));
}

Terminal::Terminal(bool editing, int out_fd) : editing_(editing), out_fd_(out_fd) {
    HEARTH_CHECK(g_signals.pipe_read < 0);
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0) {
        g_signals.pipe_read = ends[0];
        g_signals.pipe_write = ends[1];
    }
    g_signals.out_fd = out_fd;
    install_signals();
    if (editing_) {
        static const bool once = std::atexit(give_back) == 0;
        static_cast<void>(once);
        // Read once: later it might be our own raw mode (stopped and continued from outside).
        ::tcgetattr(STDIN_FILENO, &g_signals.normal);
        enter_raw();
        take_typed_before();
    }
}

/// Until raw mode the tty made each Enter a newline, which would mean Ctrl+J from now on.
void Terminal::take_typed_before() {
    int n_waiting = 0;
    if (::ioctl(STDIN_FILENO, FIONREAD, &n_waiting) != 0 || n_waiting <= 0) return;
    std::string bytes(static_cast<std::size_t>(n_waiting), '\0');
    const ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    std::replace(bytes.begin(), bytes.end(), '\n', '\r');
    typed_before_ = std::move(bytes);
}

Terminal::~Terminal() {
    leave_raw();
    for (const auto& [signal, action] : old_actions_) ::sigaction(signal, &action, nullptr);
    ::close(g_signals.pipe_read);
    ::close(g_signals.pipe_write);
    g_signals.pipe_read = g_signals.pipe_write = -1;
}

void Terminal::install_signals() {
    const auto install = [&](int signal, void (*handler)(int)) {
        const struct sigaction action = action_of(handler);
        struct sigaction old {};
        if (::sigaction(signal, &action, &old) == 0) old_actions_.emplace_back(signal, old);
    };
    for (const int signal : kWakers) {
        // Without raw mode the tty stops the program by itself, as it always does.
        if (signal == SIGTSTP && !editing_) continue;
        install(signal, hearth_on_waker);
    }
    if (!editing_) return;
    for (const int signal : kCrashes) install(signal, hearth_on_crash);
}

void Terminal::enter_raw() {
    if (!editing_) return;
    termios raw = g_signals.normal;
    raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON | IEXTEN | ISIG);
    raw.c_cflag |= CS8;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    g_signals.raw = true;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    write(kBegin);
}

void Terminal::leave_raw() { give_back(); }

int Terminal::columns() const {
    const int n = size_of(out_fd_).ws_col;
    return n > 0 ? n : 80;
}

int Terminal::rows() const {
    const int n = size_of(out_fd_).ws_row;
    return n > 0 ? n : 24;
}

void Terminal::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(out_fd_, bytes.data(), bytes.size());
        if (n >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            pollfd ready{out_fd_, POLLOUT, 0};
            ::poll(&ready, 1, 100);
        } else if (errno != EINTR) {
            return;
        }
    }
}

Terminal::Woken Terminal::wait(int timeout_ms, int other_fd) {
    pollfd fds[] = {
        {STDIN_FILENO, POLLIN, 0}, {g_signals.pipe_read, POLLIN, 0}, {other_fd, POLLIN, 0}};
    Woken woken;
    const bool has_input = !typed_before_.empty();
    if (::poll(fds, 3, has_input ? 0 : timeout_ms) <= 0) {
        woken.input = has_input;
        return woken;
    }
    woken.input = has_input || fds[0].revents != 0;
    woken.other = fds[2].revents != 0;
    char signals[64];
    const ssize_t n = fds[1].revents != 0 ? ::read(g_signals.pipe_read, signals, 64) : 0;
    for (ssize_t i = 0; i < n; ++i) {
        switch (signals[i]) {
            case SIGINT:
                woken.interrupt = true;
                break;
            case SIGWINCH:
                woken.resized = true;
                break;
            case SIGTSTP:
                suspend();
                woken.resumed = true;
                break;
            case SIGCONT:  // the shell may have changed the modes meanwhile
                if (editing_ && g_signals.raw.exchange(false)) enter_raw();
                woken.resumed = true;
                break;
            default:
                woken.deadly = signals[i];
        }
    }
    return woken;
}

std::string Terminal::read_bytes() {
    if (!typed_before_.empty()) return std::exchange(typed_before_, "");
    std::string bytes(64 * 1024, '\0');
    ssize_t n = 0;
    do {
        n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    } while (n < 0 && errno == EINTR);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return bytes;
}

void Terminal::suspend() {
    leave_raw();
    // The whole job stops, as when the tty does it. Our own SIGCONT handler must not run before
    // the modes are back, which is why they are set here.
    struct sigaction ours {};
    const struct sigaction stop = action_of(SIG_DFL);
    ::sigaction(SIGTSTP, &stop, &ours);
    ::kill(0, SIGTSTP);
    ::sigaction(SIGTSTP, &ours, nullptr);
    enter_raw();
    char drop[64];  // the SIGCONT that woke us
    while (::read(g_signals.pipe_read, drop, sizeof drop) > 0) {
    }
}

Result<void> Terminal::run_command(const std::string& command, const std::string& argument) {
    const std::string script = command + " \"$1\"";
    leave_raw();
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int signal : kWakers) ::signal(signal, SIG_DFL);
        for (const int signal : kCrashes) ::signal(signal, SIG_DFL);
        ::execl("/bin/sh", "sh", "-c", script.c_str(), "sh", argument.c_str(),
                static_cast<char*>(nullptr));
        ::_exit(127);
    }
    int status = -1;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    enter_raw();
    if (child < 0)
        return fail(Errc::failed, "{} did not start: {}.", command, std::strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        return fail(Errc::failed, "{} was not found.", command);
    }
    return fail(Errc::failed, "{} ended with an error.", command);
}

}  // namespace hearth::repl
