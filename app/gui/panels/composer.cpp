// The composer: the message being written, attachments, context gauge, send and stop; notices
// above.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/gui/gui.h"
#include "app/gui/words.h"

namespace hearth::gui {
namespace {

constexpr std::size_t kPasteLimit = 6000;  ///< bytes; a longer paste becomes an attachment
constexpr std::size_t kBytesPerToken = 4;  ///< a guess, said to be one

float draw_notices(Gui& gui, const Rect& column, float bottom) {
    Ui& ui = gui.ui();
    std::vector<Notice>& notices = gui.notices();
    float y = bottom;
    for (std::size_t i = notices.size(); i-- > 0;) {
        const Notice& notice = notices[i];
        TextLook look;
        look.size = 13.5f;
        look.ink = notice.is_error ? Ink::error : Ink::text;
        look.max_lines = 0;
        const float side = ui.px(26), room = column.w - ui.px(28) - side;
        const float text = ui.measure(notice.text, look, room).y;
        const float h = text + ui.px(16);
        y -= h + ui.px(6);
        const Rect box = {column.x, y, column.w, h};
        ui.fill(box, notice.is_error ? Ink::raised : Ink::bubble, ui.px(8));
        ui.frame(box, notice.is_error ? Ink::error : Ink::line, ui.px(8));
        ui.text({box.x + ui.px(12), box.y + ui.px(8), room, text}, notice.text, look);
        ButtonLook small;
        small.ink = Ink::dim;
        if (ui.icon_button(make_id("dismiss", i),
                           {box.right() - side - ui.px(4), box.y + ui.px(4), side, side},
                           Icon::cross, "Dismiss", small)) {
            notices.erase(notices.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
    }
    return bottom - y;
}

/// How full the context is, the draft included.
void draw_gauge(Gui& gui, const Rect& row) {
    Ui& ui = gui.ui();
    const ViewState& view = gui.view();
    int used = 0, total = 0;
    if (view.last && view.last->stats.context_tokens > 0) {
        used = view.last->stats.context_used;
        total = view.last->stats.context_tokens;
    }
    std::size_t bytes = gui.composer.box.buffer.text().size();
    if (gui.chat().busy()) {
        used = view.prefill_total + static_cast<int>(view.answer_ids.size());
    } else if (total == 0) {
        for (const StoredMessage& message : view.messages) bytes += message.content.size();
    }
    const int draft = static_cast<int>((bytes + kBytesPerToken - 1) / kBytesPerToken);
    TextLook look;
    look.size = 12.5f;
    look.ink = Ink::dim;
    const std::string words =
        total > 0
            ? fmt::format("≈ {} of {} tokens", grouped_number(used + draft), grouped_number(total))
            : fmt::format("≈ {} tokens", grouped_number(used + draft));
    float x = row.x;
    if (total > 0) {
        const Rect bar = {x, row.y + row.h / 2 - ui.px(2), ui.px(70), ui.px(4)};
        const float share =
            std::min(1.0f, static_cast<float>(used + draft) / static_cast<float>(total));
        ui.fill(bar, Ink::line, ui.px(2));
        ui.fill({bar.x, bar.y, bar.w * share, bar.h}, share > 0.9f ? Ink::error : Ink::accent,
                ui.px(2));
        x += bar.w + ui.px(8);
    }
    ui.text({x, row.y, std::max(1.0f, row.right() - x), row.h}, words, look);
}

float draw_attachments(Gui& gui, Rect row) {
    Ui& ui = gui.ui();
    const auto& names = gui.view().attachments;
    if (names.empty()) return 0;
    row.h = ui.px(26);
    row.y -= row.h + ui.px(4);
    float x = row.x;
    TextLook look;
    look.size = 13;
    for (const std::string& name : names) {
        const std::string shown = name.empty() ? "pasted text" : name;
        const float w = std::min(ui.measure(shown, look).x + ui.px(20), ui.px(240));
        const Rect chip = {x, row.y, w, row.h};
        ui.fill(chip, Ink::bubble, ui.px(6));
        ui.frame(chip, Ink::line, ui.px(6));
        ui.text({chip.x + ui.px(10), chip.y, w - ui.px(16), chip.h}, shown, look);
        x += w + ui.px(6);
    }
    ButtonLook small;
    small.ink = Ink::dim;
    if (ui.icon_button(make_id("drop files"), {x, row.y, row.h, row.h}, Icon::cross,
                       "Remove attachments", small)) {
        gui.chat().clear_attachments();
    }
    return row.h + ui.px(4);
}

/// Ctrl+Enter, where that sends; or regenerates, when there is nothing to send.
void control_enter(Gui& gui) {
    if (gui.ui().focus() != composer_id() || !gui.ui().take_key(Key::enter, {false, true, false})) {
        return;
    }
    if (!gui.composer.box.buffer.text().empty()) return gui.send();
    gui.regenerate();
}

}  // namespace

Id composer_id() { return make_id("composer"); }

float draw_composer(Gui& gui, const Rect& area) {
    Ui& ui = gui.ui();
    ComposerState& s = gui.composer;
    const float width = std::min(ui.px(780), area.w - ui.px(48));
    const float x = std::round(area.x + (area.w - width) / 2);
    const float bottom_row = ui.px(30), side = ui.px(30);
    TextBoxLook look;
    look.framed = false;
    look.placeholder = s.editing ? "Change the question" : "Message";
    look.paste_limit = kPasteLimit;
    look.enter_submits = !gui.prefs().ctrl_enter_sends;
    const float text_width = width - ui.px(28);
    const float text = std::max(s.box.wanted_height(ui, text_width, look, 10), ui.px(22));
    const float h = text + bottom_row + ui.px(20);
    const Rect box = {x, area.bottom() - h - ui.px(12), width, h};
    const bool focused = ui.focus() == composer_id();
    ui.fill(box, Ink::raised, ui.px(14));
    ui.frame(box, focused ? Ink::accent : Ink::line, ui.px(14));
    control_enter(gui);
    const TextBoxResult done = s.box.show(
        ui, composer_id(), {box.x + ui.px(14), box.y + ui.px(10), text_width, text}, look);
    if (done.submitted) gui.send();
    if (!done.large_paste.empty()) {
        if (auto put = gui.chat().attach_text("pasted text", done.large_paste); !put) {
            gui.say_error(put.error());
        } else {
            gui.toast(
                fmt::format("The paste is attached ({}).", show_size(done.large_paste.size())));
        }
    }
    const Rect row = {box.x + ui.px(14), box.bottom() - bottom_row - ui.px(4), width - ui.px(28),
                      bottom_row};
    const Rect button = {box.right() - side - ui.px(8), box.bottom() - side - ui.px(7), side, side};
    ButtonLook send;
    send.filled = true;
    if (gui.chat().busy()) {
        send.tip = "Stop (Esc)";
        if (ui.icon_button(make_id("stop"), button, Icon::stop, "Stop", send)) gui.stop();
    } else {
        send.enabled = !s.box.buffer.text().empty() || !gui.view().attachments.empty();
        send.tip = gui.prefs().ctrl_enter_sends ? "Send (Ctrl+Enter)" : "Send (Enter)";
        if (ui.icon_button(make_id("send"), button, Icon::send, "Send", send)) gui.send();
    }
    draw_gauge(gui, {row.x, row.y, row.w - side - ui.px(10), row.h});
    float taken = area.bottom() - box.y + ui.px(6);
    taken += draw_attachments(gui, {x, area.bottom() - taken, width, 0});
    taken += draw_notices(gui, {x, 0, width, 0}, area.bottom() - taken);
    return taken;
}

}  // namespace hearth::gui
