#pragma once
// Input: what came from the user since the last frame, in order; nothing is lost when a key goes
// down and up between two frames. Plain data; knows no windowing library.

#include <string>
#include <vector>

#include <imgui.h>

namespace hearth::gui {

/// Letters and digits are their ASCII capitals; the rest has the numbers of GLFW.
enum class Key : int {
    none = 0,
    space = 32,
    comma = 44,
    minus = 45,
    slash = 47,
    digit0 = 48,
    semicolon = 59,
    equal = 61,
    a = 65,
    b,
    c,
    d,
    e,
    f,
    g,
    h,
    i,
    j,
    k,
    l,
    m,
    n,
    o,
    p,
    q,
    r,
    s,
    t,
    u,
    v,
    w,
    x,
    y,
    z,
    escape = 256,
    enter,
    tab,
    backspace,
    insert,
    del,
    right,
    left,
    down,
    up,
    page_up,
    page_down,
    home,
    end,
    f1 = 290,
    f2,
    f3,
    keypad_subtract = 333,
    keypad_add = 334,
    keypad_enter = 335,
};

struct Mods {
    bool shift = false, ctrl = false, alt = false;
    bool operator==(const Mods&) const = default;
};

/// A key, or a character that a key (or an input method) made.
struct KeyIn {
    Key key = Key::none;
    Mods mods = {};
    char32_t character = 0;  ///< not 0: this is text
    bool repeat = false;
    bool used = false;  ///< somebody took it
};

struct Input {
    ImVec2 size{1200, 800};  ///< pixels
    float scale = 1;         ///< of the screen, times the zoom
    double now_s = 0;        ///< any steady clock
    ImVec2 mouse{-1, -1};
    bool down = false, pressed = false, released = false;  ///< left button; edges since last frame
    bool middle_pressed = false, right_pressed = false;
    int clicks = 0;  ///< 1, 2, 3 with `pressed`
    ImVec2 wheel{0, 0};
    Mods mods;
    std::vector<KeyIn> keys;
    std::vector<std::string> dropped;  ///< paths
};

}  // namespace hearth::gui
