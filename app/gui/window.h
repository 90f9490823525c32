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
/// `probe` is for benchmarks: called after each frame with its time; false closes the window.
using WindowProbe = std::function<bool(Gui& gui, double frame_ms)>;
Result<int> run_window(ChatController& chat, const Options& options, WindowProbe probe = {});

}  // namespace hearth::gui
