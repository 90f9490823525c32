#include "app/gui/first_window.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace hearth::gui {
namespace {

constexpr char kRaise = 'r', kDone = 'd';
constexpr int kAnswerMs = 2000;

bool address_of(const std::string& state_dir, sockaddr_un& address, std::string& path) {
    path = state_dir + "/window.sock";
    address = {};
    address.sun_family = AF_UNIX;
    if (state_dir.empty() || path.size() >= sizeof address.sun_path) return false;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return true;
}

int open_socket() { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

/// Connected, or -1.
int connect_to(const sockaddr_un& address) {
    const int fd = open_socket();
    if (fd < 0) return -1;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

}  // namespace

bool raise_first_window(const std::string& state_dir) {
    sockaddr_un address;
    std::string path;
    if (!address_of(state_dir, address, path)) return false;
    const int fd = connect_to(address);
    if (fd < 0) return false;
    char answer = 0;
    bool raised = ::send(fd, &kRaise, 1, MSG_NOSIGNAL) == 1;
    pollfd ready = {fd, POLLIN, 0};
    raised = raised && ::poll(&ready, 1, kAnswerMs) == 1 && ::read(fd, &answer, 1) == 1;
    ::close(fd);
    return raised && answer == kDone;
}

bool FirstWindow::listen(const std::string& state_dir, std::function<void()> raise) {
    sockaddr_un address;
    std::string path;
    if (!address_of(state_dir, address, path)) return false;
    // Nobody answered: what lies there was left by a crash.
    ::unlink(path.c_str());
    socket_ = open_socket();
    if (socket_ < 0 || ::pipe2(stop_, O_CLOEXEC) != 0) return false;
    const bool bound =
        ::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(socket_, 4) == 0;
    if (!bound) return false;
    path_ = path;
    thread_ = std::thread([this, call = std::move(raise)] {
        while (true) {
            pollfd waits[2] = {{socket_, POLLIN, 0}, {stop_[0], POLLIN, 0}};
            if (::poll(waits, 2, -1) < 0 && errno != EINTR) return;
            if (waits[1].revents != 0) return;
            if ((waits[0].revents & POLLIN) == 0) continue;
            const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) continue;
            char word = 0;
            pollfd ready = {client, POLLIN, 0};
            if (::poll(&ready, 1, kAnswerMs) == 1 && ::read(client, &word, 1) == 1 &&
                word == kRaise) {
                call();
                (void)::send(client, &kDone, 1, MSG_NOSIGNAL);
            }
            ::close(client);
        }
    });
    return true;
}

FirstWindow::~FirstWindow() {
    if (thread_.joinable()) {
        const char stop = 's';
        [[maybe_unused]] const ssize_t n = ::write(stop_[1], &stop, 1);
        thread_.join();
    }
    if (!path_.empty()) ::unlink(path_.c_str());
    for (const int fd : {socket_, stop_[0], stop_[1]}) {
        if (fd >= 0) ::close(fd);
    }
}

}  // namespace hearth::gui
