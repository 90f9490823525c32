#include "app/gui/theme.h"

#include <algorithm>
#include <cmath>

namespace hearth::gui {
namespace {

constexpr const char* kNames[] = {"system", "light", "dark", "light high contrast",
                                  "dark high contrast"};

struct Row {
    Ink ink;
    std::uint32_t light, dark, light_contrast, dark_contrast;  ///< 0xRRGGBBAA
};

constexpr Row kRows[] = {
    {Ink::text, 0x1F2328FF, 0xE6E4DFFF, 0x000000FF, 0xFFFFFFFF},
    {Ink::dim, 0x636870FF, 0x9C9A94FF, 0x2B2B2BFF, 0xDADADAFF},
    {Ink::accent, 0xB4500FFF, 0xE8935AFF, 0x7A2E00FF, 0xFFB27AFF},
    {Ink::on_accent, 0xFFFFFFFF, 0x1B1917FF, 0xFFFFFFFF, 0x000000FF},
    {Ink::link, 0x0B62B5FF, 0x7DB7F2FF, 0x003E8AFF, 0x9CCBFFFF},
    {Ink::error, 0xB42318FF, 0xF28B82FF, 0x8F0000FF, 0xFF9C94FF},
    {Ink::warning, 0x8A5A00FF, 0xE5B567FF, 0x5C3B00FF, 0xFFD27AFF},
    {Ink::good, 0x1A7F37FF, 0x7CC68DFF, 0x005A1BFF, 0x8CF0A0FF},
    {Ink::back, 0xFFFFFFFF, 0x1E1D1BFF, 0xFFFFFFFF, 0x000000FF},
    {Ink::side, 0xF5F4F1FF, 0x171615FF, 0xFFFFFFFF, 0x000000FF},
    {Ink::raised, 0xFFFFFFFF, 0x2A2826FF, 0xFFFFFFFF, 0x101010FF},
    {Ink::bubble, 0xF3F0EAFF, 0x2B2926FF, 0xF0F0F0FF, 0x1C1C1CFF},
    {Ink::hover, 0x0000000F, 0xFFFFFF12, 0x00000020, 0xFFFFFF28},
    {Ink::selected, 0xE9E2D8FF, 0x3A3530FF, 0xD0E4FFFF, 0x003A75FF},
    {Ink::line, 0xDEDAD3FF, 0x3A3835FF, 0x000000FF, 0xFFFFFFFF},
    {Ink::code_back, 0xF4F2EEFF, 0x161514FF, 0xF2F2F2FF, 0x141414FF},
    {Ink::select_text, 0xF6CFA9FF, 0x6B4524FF, 0xFFD08AFF, 0x004C99FF},
    {Ink::found, 0xFFE58AFF, 0x6B5A00FF, 0xFFE000FF, 0x6B5A00FF},
    {Ink::shade, 0x00000055, 0x00000088, 0x000000AA, 0x000000BB},
    {Ink::keyword, 0x8A2BA8FF, 0xD3A0E8FF, 0x5B007AFF, 0xE8BEFFFF},
    {Ink::string, 0x0F6E4AFF, 0x9CCB95FF, 0x00482EFF, 0xB4F0ACFF},
    {Ink::number, 0x9A4A00FF, 0xE5B07AFF, 0x6B3200FF, 0xFFC894FF},
    {Ink::comment, 0x686C72FF, 0x8F8C86FF, 0x404040FF, 0xC4C4C4FF},
};

ImU32 color(std::uint32_t rgba) {
    return IM_COL32(rgba >> 24, rgba >> 16 & 255, rgba >> 8 & 255, rgba & 255);
}

double luminance(ImU32 c) {
    const auto channel = [](ImU32 v) {
        const double x = static_cast<double>(v & 255) / 255.0;
        return x <= 0.03928 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * channel(c >> IM_COL32_R_SHIFT) + 0.7152 * channel(c >> IM_COL32_G_SHIFT) +
           0.0722 * channel(c >> IM_COL32_B_SHIFT);
}

}  // namespace

const char* theme_name(ThemeChoice choice) { return kNames[static_cast<std::size_t>(choice)]; }

ThemeChoice theme_from_name(std::string_view name) {
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
        if (name == kNames[i]) return static_cast<ThemeChoice>(i);
    }
    return ThemeChoice::system;
}

Theme make_theme(ThemeChoice choice, bool system_dark) {
    if (choice == ThemeChoice::system)
        choice = system_dark ? ThemeChoice::dark : ThemeChoice::light;
    Theme theme;
    theme.dark = choice == ThemeChoice::dark || choice == ThemeChoice::dark_contrast;
    for (const Row& row : kRows) {
        const std::uint32_t value = choice == ThemeChoice::light            ? row.light
                                    : choice == ThemeChoice::dark           ? row.dark
                                    : choice == ThemeChoice::light_contrast ? row.light_contrast
                                                                            : row.dark_contrast;
        theme.colors[static_cast<std::size_t>(row.ink)] = color(value);
    }
    return theme;
}

double contrast(ImU32 a, ImU32 b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace hearth::gui
