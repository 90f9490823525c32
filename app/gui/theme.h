#pragma once
// Theme: every colour of the window by its role. Plain data.

#include <array>
#include <cstdint>
#include <string_view>

#include <imgui.h>

namespace hearth::gui {

enum class Ink : std::uint8_t {
    text,
    dim,
    accent,
    on_accent,
    link,
    error,
    warning,
    good,
    // surfaces
    back,         ///< behind the transcript
    side,         ///< sidebar, inspector, status line
    raised,       ///< composer, menus
    bubble,       ///< the user's messages
    hover,        ///< under the pointer
    selected,     ///< the chosen row
    line,         ///< borders and rules
    code_back,    ///< behind code
    select_text,  ///< behind selected text
    found,        ///< behind what a search found
    shade,        ///< over everything behind a dialog
    // code
    keyword,
    string,
    number,
    comment,
    count
};

struct Theme {
    std::array<ImU32, static_cast<std::size_t>(Ink::count)> colors{};
    bool dark = false;
    ImU32 operator[](Ink ink) const { return colors[static_cast<std::size_t>(ink)]; }
};

enum class ThemeChoice : std::uint8_t { system, light, dark, light_contrast, dark_contrast };
const char* theme_name(ThemeChoice choice);          ///< "dark", …
ThemeChoice theme_from_name(std::string_view name);  ///< system when unknown

/// `system_dark`: what the desktop prefers.
Theme make_theme(ThemeChoice choice, bool system_dark);

/// Contrast of two opaque colours as WCAG 2 defines it, 1 to 21.
double contrast(ImU32 a, ImU32 b);

}  // namespace hearth::gui
