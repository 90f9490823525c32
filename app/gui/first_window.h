#pragma once
// One window for each state folder: the first one listens on a socket there; a later start asks it
// to come to the front and ends. Knows no window.

#include <functional>
#include <string>
#include <thread>

namespace hearth::gui {

/// True when a running window answered and comes to the front.
bool raise_first_window(const std::string& state_dir);

class FirstWindow {
  public:
    FirstWindow() = default;
    ~FirstWindow();  ///< stops listening, removes the socket
    FirstWindow(const FirstWindow&) = delete;
    FirstWindow& operator=(const FirstWindow&) = delete;

    /// Listens; `raise` is called from a thread of its own. False when that is not possible here
    /// (a path too long for a socket, a full disk): then there may be two windows.
    bool listen(const std::string& state_dir, std::function<void()> raise);

  private:
    std::string path_;
    int socket_ = -1, stop_[2] = {-1, -1};
    std::thread thread_;
};

}  // namespace hearth::gui
