// The inspector: system prompt, settings with their origin, speculation, cache, model.

#include <algorithm>

#include <fmt/format.h>

#include "app/gui/gui.h"
#include "app/gui/words.h"

namespace hearth::gui {
namespace {

/// One column, top to bottom.
struct Column {
    Gui& gui;
    Ui& ui;
    Rect area;
    float y;

    void title(const char* words) {
        y += ui.px(10);
        TextLook look;
        look.bold = true;
        look.size = 13.5f;
        ui.text({area.x, y, area.w, ui.px(26)}, words, look);
        y += ui.px(28);
    }
    void fact(std::string_view name, std::string_view value) {
        TextLook left, right;
        left.size = right.size = 13;
        left.ink = Ink::dim;
        right.align = TextLook::Align::right;
        ui.text({area.x, y, area.w * 0.55f, ui.px(22)}, name, left);
        ui.text({area.x + area.w * 0.4f, y, area.w * 0.6f, ui.px(22)}, value, right);
        y += ui.px(22);
    }
};

void system_prompt(Column& c) {
    InspectorState& s = c.gui.inspector;
    const std::string& now = c.gui.chat().system_prompt();
    if (s.chat != c.gui.view().chat.id || s.shown_system != now) {
        if (s.chat != c.gui.view().chat.id || s.system.buffer.text() == s.shown_system) {
            s.system.buffer.reset(now);
        }
        s.chat = c.gui.view().chat.id;
        s.shown_system = now;
    }
    c.title("System prompt");
    TextBoxLook look;
    look.size = 13.5f;
    look.enter_submits = false;
    look.placeholder = "None";
    const float h = std::max(c.ui.px(64), s.system.wanted_height(c.ui, c.area.w, look, 12));
    s.system.show(c.ui, make_id("system prompt"), {c.area.x, c.y, c.area.w, h}, look);
    c.y += h + c.ui.px(6);
    ButtonLook named;
    named.size = 13;
    named.ink = Ink::dim;
    named.align = TextLook::Align::left;
    named.tip = "Ctrl+P";
    if (c.ui.button(make_id("named"), {c.area.x - c.ui.px(8), c.y, c.area.w, c.ui.px(26)},
                    "Prompts and settings by name…", named)) {
        c.gui.open_dialog(Dialog::presets);
    }
    c.y += c.ui.px(30);
    if (s.system.buffer.text() == now) return;
    ButtonLook button;
    button.outlined = true;
    button.size = 13;
    button.enabled = !c.gui.chat().busy();
    if (c.ui.button(make_id("system save"), {c.area.x, c.y, c.ui.px(90), c.ui.px(28)}, "Apply",
                    button)) {
        if (auto done = c.gui.chat().set_system(s.system.buffer.text()); !done)
            c.gui.say_error(done.error());
    }
    c.y += c.ui.px(34);
}

void set_value(Gui& gui, const std::string& name, const std::string& value) {
    if (auto done = gui.chat().set_param(name, value); !done) return gui.say_error(done.error());
    gui.inspector.editing.clear();
    gui.focus_composer();
}

void setting(Column& c, const SettingValue& value) {
    InspectorState& s = c.gui.inspector;
    const Rect row = {c.area.x, c.y, c.area.w, c.ui.px(26)};
    c.y += row.h;
    const Id id = make_id(value.name, 77);
    if (s.editing == value.name) {
        TextLook name;
        name.size = 13;
        c.ui.text({row.x, row.y, row.w * 0.5f, row.h}, value.name, name);
        TextBoxLook look;
        look.single_line = true;
        look.size = 13;
        const Rect field = {row.x + row.w * 0.5f, row.y, row.w * 0.5f, row.h};
        const TextBoxResult done = s.value.show(c.ui, make_id("setting value"), field, look);
        if (done.submitted) set_value(c.gui, value.name, s.value.buffer.text());
        return;
    }
    ButtonLook look;
    look.tip = value.help + "\nEnter \"default\" for the value of the layers below.";
    if (c.ui.button(id, row, "", look)) {
        s.editing = value.name;
        s.value.buffer.reset(value.value);
        s.value.buffer.select_all();
        c.ui.set_focus(make_id("setting value"));
        c.ui.frame_at(c.ui.now());
    }
    TextLook name, amount, origin;
    name.size = amount.size = 13;
    origin.size = 11.5f;
    origin.ink = name.ink = Ink::dim;
    amount.align = TextLook::Align::right;
    const float middle = row.w * 0.44f, right = row.w * 0.73f;
    c.ui.text({row.x, row.y, middle, row.h}, value.name, name);
    c.ui.text({row.x + middle, row.y, right - middle - c.ui.px(10), row.h},
              value.value.empty() ? "—" : value.value, amount);
    origin.align = TextLook::Align::right;
    c.ui.text({row.x + right, row.y, row.w - right, row.h}, origin_name(value.origin), origin);
}

void measured(Column& c) {
    const ViewState& view = c.gui.view();
    c.title("Last answer");
    if (!view.last || view.last->error) return c.fact("nothing measured yet", "");
    const Stats& s = view.last->stats;
    // Stopped before the first token: nothing was measured of it.
    const bool any = s.completion_tokens > 0;
    if (s.completion_tokens > 1) c.fact("tokens/s", fmt::format("{:.1f}", s.decode_tok_s()));
    c.fact("first token", any ? fmt::format("{:.2f} s", s.first_token_ms / 1000) : "—");
    c.fact("reused tokens", fmt::format("{} of {}", grouped_number(s.cached_tokens),
                                        grouped_number(s.prompt_tokens)));
    c.fact("context", fmt::format("{} of {}", grouped_number(s.context_used),
                                  grouped_number(s.context_tokens)));
    c.fact("computed by", s.backend);
    c.fact("seed", std::to_string(view.last->seed));
    const SpeculationStats& d = s.speculation;
    c.title("Speculation");
    c.fact("drafted by", d.drafter.empty() ? "nothing" : d.drafter);
    if (d.drafted > 0) {
        c.fact("accepted",
               fmt::format("{} of {} ({} %)", d.accepted, d.drafted, 100 * d.accepted / d.drafted));
        c.fact("speed-up", fmt::format("{:.2f}×", d.speedup));
    }
}

}  // namespace

void draw_inspector(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    InspectorState& s = gui.inspector;
    ui.fill(area, Ink::side);
    ui.fill({area.x, area.y, 1, area.h}, Ink::line);
    const float pad = ui.px(14);
    ui.clip_push(area);
    Column c{gui, ui, {area.x + pad, area.y, area.w - 2 * pad, area.h}, area.y - s.scroll.y};
    const float begin = c.y;
    system_prompt(c);
    measured(c);
    c.title("Settings of this chat");
    for (const SettingValue& value : gui.chat().params()) setting(c, value);
    c.y += ui.px(20);
    ui.clip_pop();
    ui.scroll_bar(make_id("inspector bar"), area, c.y - begin, s.scroll);
}

}  // namespace hearth::gui
