#pragma once
// Prefs: how the window looked when it was closed. Written whole to a new file that then takes the
// old one's place, so that a crash leaves one of the two.

#include <string>

#include "app/gui/theme.h"
#include "engine/base/result.h"

namespace hearth::gui {

struct Prefs {
    ThemeChoice theme = ThemeChoice::system;
    float zoom = 1;
    bool sidebar = true, inspector = false;
    bool ctrl_enter_sends = false;
    int width = 1200, height = 800;
    bool operator==(const Prefs&) const = default;
};

/// What the file says; what it does not say, or says wrongly, is as it is built in.
Prefs read_prefs(const std::string& path);
Result<void> write_prefs(const std::string& path, const Prefs& prefs);

}  // namespace hearth::gui
