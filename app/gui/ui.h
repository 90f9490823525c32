#pragma once
// Ui: the small set of things every panel is made of (text, button, list row, scroll bar), drawn
// into an ImDrawList with own text. Immediate: a call draws and answers. Keeps between frames only
// focus, what is held, and layouts of recent texts. Knows no chat.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/gui/input.h"
#include "app/gui/text/layout.h"
#include "app/gui/theme.h"

namespace hearth::gui {

using Id = std::uint64_t;
/// `part` keeps rows of one list apart.
constexpr Id make_id(std::string_view name, std::uint64_t part = 0) {
    std::uint64_t h = 1469598103934665603ull ^ (part * 0x9E3779B97F4A7C15ull);
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return h | 1;
}

struct TextLook {
    float size = 14;  ///< at scale 1
    Ink ink = Ink::text;
    bool bold = false, italic = false, mono = false;
    int max_lines = 1;  ///< 0 = as many as it takes
    enum class Align : std::uint8_t { left, center, right } align = Align::left;
};

struct ButtonLook {
    bool filled = false;  ///< in the accent colour
    bool outlined = false;
    bool selected = false;
    bool enabled = true;
    bool focusable = true;
    Ink ink = Ink::text;
    float size = 14;
    TextLook::Align align = TextLook::Align::center;
    std::string tip = {};  ///< shown after a moment under the pointer
};

enum class Icon : std::uint8_t {
    none,
    plus,
    cross,
    search,
    send,
    stop,
    menu,
    panel,
    chevron_left,
    chevron_right,
    chevron_down,
    arrow_down,
    copy,
    pencil,
    refresh,
    trash,
    pin,
    check,
    play,
    branch
};

/// Where a scrollable list stands.
struct ScrollState {
    float y = 0;
    float grab = 0;  ///< where the bar is held
};

enum class CursorShape : std::uint8_t { arrow, text, hand, resize };

class Ui {
  public:
    Ui(Fonts& fonts, GlyphAtlas& atlas) : fonts_(fonts), atlas_(atlas) {}

    // --- a frame -----------------------------------------------------------------------------
    void begin(ImDrawList& draw, const Input& input, const Theme& theme);
    void end();
    Input& in() { return input_; }
    ImDrawList& draw() { return *draw_; }
    const Theme& theme() const { return *theme_; }
    Fonts& fonts() { return fonts_; }
    GlyphAtlas& atlas() { return atlas_; }
    float px(float at_scale_1) const { return at_scale_1 * input_.scale; }
    int font_px(float size) const;
    double now() const { return input_.now_s; }
    /// Asks for a frame at that time even when nothing happens.
    void frame_at(double time_s) { next_frame_ = next_frame_ < time_s ? next_frame_ : time_s; }
    double next_frame() const { return next_frame_; }
    CursorShape cursor = CursorShape::arrow;

    // --- layers: a dialog takes the pointer and the keys from what is below --------------------
    void begin_layer();
    void end_layer();
    bool layer_active() const { return layer_ >= top_layer_; }

    // --- focus -------------------------------------------------------------------------------
    Id focus() const { return focus_; }
    void set_focus(Id id) { focus_ = id; }
    /// Takes part in Tab order; true when it has the focus.
    bool focusable(Id id, const Rect& rect, bool is_text = false);
    /// First unused press of that key with these modifiers; takes it.
    bool take_key(Key key, Mods mods = {});
    void clip_push(const Rect& rect);
    void clip_pop();

    // --- pointer -----------------------------------------------------------------------------
    bool hovered(const Rect& rect) const;
    /// Press, hold, release on a rectangle. True on the click.
    bool click_area(Id id, const Rect& rect);
    bool is_held(Id id) const { return held_ == id; }
    void hold(Id id) { held_ = id; }

    // --- what panels draw ----------------------------------------------------------------------
    void fill(const Rect& rect, Ink ink, float radius = 0);
    void frame(const Rect& rect, Ink ink, float radius = 0);
    void rule(float x0, float y, float x1, Ink ink = Ink::line);
    /// Text inside a rectangle, vertically centred when it is one line. Returns its height.
    float text(const Rect& rect, std::string_view words, const TextLook& look = {});
    /// How much room a text takes.
    ImVec2 measure(std::string_view words, const TextLook& look = {}, float wrap_width = 0);
    bool button(Id id, const Rect& rect, std::string_view label, const ButtonLook& look = {},
                Icon icon = Icon::none);
    bool icon_button(Id id, const Rect& rect, Icon icon, std::string_view name,
                     const ButtonLook& look = {});
    void icon(Icon icon, const Rect& rect, Ink ink);
    /// Wheel and bar; keeps state.y in range. Call after the content was drawn.
    void scroll_bar(Id id, const Rect& view, float content_height, ScrollState& state);
    void tip(const Rect& rect, std::string_view words);

    // --- for tests and the accessible tree -----------------------------------------------------
    struct Label {
        Rect rect;
        std::string text;
        bool is_button = false;
    };
    const std::vector<Label>& labels() const { return labels_; }
    std::optional<Rect> focused_rect() const;  ///< of what has the focus in the last frame

    // --- the system's clipboard ------------------------------------------------------------------
    std::function<void(const std::string&)> set_clipboard = [](const std::string&) {};
    std::function<std::string()> clipboard = [] { return std::string(); };

  private:
    struct CachedLayout {
        TextLayout layout;
        std::uint64_t last_frame = 0;
    };
    const TextLayout& layout_of(std::string_view words, const TextLook& look, float wrap_width);
    void move_focus();
    void draw_tip();
    void fill_main(const Rect& rect, bool enabled, float radius);

    Fonts& fonts_;
    GlyphAtlas& atlas_;
    ImDrawList* draw_ = nullptr;
    const Theme* theme_ = nullptr;
    Input input_;
    Rect clip_;
    std::vector<Rect> clips_;

    struct Focusable {
        Id id;
        Rect rect;
        int layer;
    };
    std::vector<Focusable> focusables_;
    Id focus_ = 0, held_ = 0;
    bool focus_by_key_ = false;  ///< the ring is drawn
    int layer_ = 0, top_layer_ = 0, layers_seen_ = 0;
    double next_frame_ = 1e300;

    std::unordered_map<std::uint64_t, CachedLayout> layouts_;
    std::uint64_t frame_ = 0;
    std::vector<Label> labels_;
    std::string tip_text_, tip_last_;
    Rect tip_rect_;
    double tip_since_ = 0;
};

}  // namespace hearth::gui
