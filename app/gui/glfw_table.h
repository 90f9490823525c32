#pragma once
// GLFW, loaded when a window is wanted: the terminal chat needs no X11 library. A table of the
// functions in use; nothing else of the program calls GLFW.

#include <memory>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "engine/base/result.h"

namespace hearth::gui {

// Name in the table and name in the library.
#define HEARTH_GLFW_FUNCTIONS(X)                             \
    X(init, glfwInit)                                        \
    X(terminate, glfwTerminate)                              \
    X(get_error, glfwGetError)                               \
    X(window_hint, glfwWindowHint)                           \
    X(window_hint_string, glfwWindowHintString)              \
    X(create_window, glfwCreateWindow)                       \
    X(destroy_window, glfwDestroyWindow)                     \
    X(show_window, glfwShowWindow)                           \
    X(focus_window, glfwFocusWindow)                         \
    X(restore_window, glfwRestoreWindow)                     \
    X(request_attention, glfwRequestWindowAttention)         \
    X(should_close, glfwWindowShouldClose)                   \
    X(set_title, glfwSetWindowTitle)                         \
    X(set_size_limits, glfwSetWindowSizeLimits)              \
    X(get_window_attrib, glfwGetWindowAttrib)                \
    X(get_window_size, glfwGetWindowSize)                    \
    X(get_framebuffer_size, glfwGetFramebufferSize)          \
    X(get_content_scale, glfwGetWindowContentScale)          \
    X(get_primary_monitor, glfwGetPrimaryMonitor)            \
    X(get_video_mode, glfwGetVideoMode)                      \
    X(make_current, glfwMakeContextCurrent)                  \
    X(swap_interval, glfwSwapInterval)                       \
    X(swap_buffers, glfwSwapBuffers)                         \
    X(get_proc_address, glfwGetProcAddress)                  \
    X(wait_events_timeout, glfwWaitEventsTimeout)            \
    X(poll_events, glfwPollEvents)                           \
    X(post_empty_event, glfwPostEmptyEvent)                  \
    X(get_time, glfwGetTime)                                 \
    X(get_key_name, glfwGetKeyName)                          \
    X(get_cursor_pos, glfwGetCursorPos)                      \
    X(create_standard_cursor, glfwCreateStandardCursor)      \
    X(set_cursor, glfwSetCursor)                             \
    X(set_clipboard, glfwSetClipboardString)                 \
    X(get_clipboard, glfwGetClipboardString)                 \
    X(set_user_pointer, glfwSetWindowUserPointer)            \
    X(get_user_pointer, glfwGetWindowUserPointer)            \
    X(set_key_callback, glfwSetKeyCallback)                  \
    X(set_char_callback, glfwSetCharCallback)                \
    X(set_mouse_button_callback, glfwSetMouseButtonCallback) \
    X(set_cursor_pos_callback, glfwSetCursorPosCallback)     \
    X(set_cursor_enter_callback, glfwSetCursorEnterCallback) \
    X(set_scroll_callback, glfwSetScrollCallback)            \
    X(set_drop_callback, glfwSetDropCallback)                \
    X(set_refresh_callback, glfwSetWindowRefreshCallback)    \
    X(set_focus_callback, glfwSetWindowFocusCallback)        \
    X(set_size_callback, glfwSetFramebufferSizeCallback)

struct GlfwTable {
#define X(name, function) decltype(&::function) name = nullptr;
    HEARTH_GLFW_FUNCTIONS(X)
#undef X
};

/// Loads libglfw.so.3. The table stays valid as long as the program. Errors: failed, with what is
/// missing.
Result<std::unique_ptr<GlfwTable>> load_glfw();

}  // namespace hearth::gui
