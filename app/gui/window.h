#pragma once
// The window: GLFW + OpenGL 3.3 + ImGui's renderer around Gui, and the loop that sleeps until
// something happened. The only file with a display.

#include <functional>

#include "app/chat_controller.h"
#include "app/options.h"

namespace hearth::gui {

class Gui;

/// Opens the window and runs until it is closed; the exit code. Errors: failed, when there is no
/// window to be had here (no display, no GLFW, no OpenGL 3.3): a sentence that says which.
/// Where the time of a frame went: panels into triangles, OpenGL's calls, the wait for the picture.
struct FrameTime {
    double panels_ms = 0, render_ms = 0, swap_ms = 0;
    double cpu_ms = 0;  ///< of all threads of the program, software OpenGL's too
    int draw_calls = 0, vertices = 0;
    double whole_ms() const { return panels_ms + render_ms + swap_ms; }
};

/// `probe` is for benchmarks: called after each frame with its time; false closes the window.
using WindowProbe = std::function<bool(Gui& gui, const FrameTime& time)>;
Result<int> run_window(ChatController& chat, const Options& options, WindowProbe probe = {});

}  // namespace hearth::gui
