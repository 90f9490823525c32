// The models of this machine, with whether they fit: as a dialog, and as the first start.

#include <algorithm>

#include <fmt/format.h>

#include "app/gui/gui.h"
#include "app/gui/words.h"
#include "engine/base/memory.h"

namespace hearth::gui {
namespace {

/// Weights, and a fifth for pages and work space.
std::string fit_of(const FoundModel& model, Ink& ink) {
    const std::int64_t free = free_memory_bytes();
    const std::int64_t need = model.bytes + model.bytes / 5;
    if (free < 0) return "";
    if (need <= free) {
        ink = Ink::good;
        return "fits";
    }
    ink = Ink::warning;
    return fmt::format("needs about {}, {} free", show_size(static_cast<std::uint64_t>(need)),
                       show_size(static_cast<std::uint64_t>(free)));
}

}  // namespace

void draw_models(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    DialogState& s = gui.dialog_state;
    std::vector<const FoundModel*> rows;
    const std::string query = lower_case(s.query.buffer.text());
    for (const FoundModel& model : s.models) {
        if (query.empty() || lower_case(model.name).find(query) != std::string::npos) {
            rows.push_back(&model);
        }
    }
    const int n = static_cast<int>(rows.size());
    if (n > 0) {
        if (ui.take_key(Key::down)) s.chosen = (s.chosen + 1) % n;
        if (ui.take_key(Key::up)) s.chosen = (s.chosen + n - 1) % n;
        s.chosen = std::clamp(s.chosen, 0, n - 1);
    }
    const float height = ui.px(46);
    ui.clip_push(area);
    float y = area.y - s.scroll.y;
    const bool enter = n > 0 && (std::exchange(s.accepted, false) || ui.take_key(Key::enter));
    for (int i = 0; i < n; ++i, y += height) {
        const FoundModel& model = *rows[static_cast<std::size_t>(i)];
        const Rect row = {area.x, y, area.w - ui.px(10), height - ui.px(4)};
        if (row.bottom() < area.y || row.y > area.bottom()) continue;
        const bool current = model.path == gui.view().model_path;
        ButtonLook look;
        look.selected = i == s.chosen;
        look.focusable = false;
        look.tip = model.path;
        const bool hit =
            ui.button(make_id("model row", static_cast<std::uint64_t>(i)), row, "", look);
        Ink ink = Ink::dim;
        const std::string fit = fit_of(model, ink);
        TextLook name, facts;
        name.bold = current;
        facts.size = 12.5f;
        facts.ink = Ink::dim;
        const float half = row.h / 2, pad = ui.px(12);
        ui.text({row.x + pad, row.y + ui.px(3), row.w - 2 * pad, half - ui.px(2)},
                model.name + (current ? "  (in use)" : ""), name);
        ui.text({row.x + pad, row.y + half, row.w * 0.55f, half - ui.px(3)},
                fmt::format("{} · {}", show_size(static_cast<std::uint64_t>(model.bytes)),
                            model.origin),
                facts);
        facts.ink = ink;
        facts.align = TextLook::Align::right;
        ui.text({row.x + row.w * 0.5f, row.y + half, row.w * 0.5f - pad, half - ui.px(3)}, fit,
                facts);
        if (hit || (enter && i == s.chosen)) {
            const std::string path = model.path;
            ui.clip_pop();
            return gui.choose_model(path);
        }
    }
    ui.clip_pop();
    ui.scroll_bar(make_id("models bar"), area, height * static_cast<float>(n), s.scroll);
    if (n > 0) return;
    TextLook none;
    none.max_lines = 0;
    none.ink = Ink::dim;
    ui.text(
        area,
        s.models.empty()
            ? "No model was found on this machine. Drop a .gguf file onto this window, or put one "
              "into the models folder (hearth paths names it). packaging/run.sh in the source "
              "folder gets a small one to begin with."
            : "No model has this name.",
        none);
}

void draw_first_start(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    if (gui.dialog() == Dialog::none && gui.dialog_state.models.empty() &&
        !std::exchange(gui.first_start_looked, true)) {
        gui.dialog_state.models = gui.chat().models();
    }
    const float w = std::min(ui.px(560), area.w - ui.px(40));
    const float x = area.x + (area.w - w) / 2;
    float y = area.y + area.h * 0.12f;
    TextLook title, words;
    title.size = 26;
    title.bold = true;
    ui.text({x, y, w, ui.px(36)}, "Welcome to Hearth", title);
    y += ui.px(44);
    words.max_lines = 0;
    words.ink = Ink::dim;
    y += ui.text({x, y, w, 0},
                 "Everything stays on this machine. Choose the model that answers; another can be "
                 "taken at any time (Ctrl+L).",
                 words);
    y += ui.px(18);
    if (gui.dialog() == Dialog::none) draw_models(gui, {x, y, w, area.bottom() - y - ui.px(20)});
}

}  // namespace hearth::gui
