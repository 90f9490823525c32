#include "app/gui/gui.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/gui/math.h"
#include "app/gui/words.h"
#include "engine/base/log.h"

namespace hearth::gui {
namespace {

constexpr double kToastS = 6;
constexpr float kSidebar = 260, kInspector = 300, kHeader = 44, kStatus = 26;

std::string duration(double seconds) {
    if (seconds < 1.5) return "1 s";
    if (seconds < 90) return fmt::format("{:.0f} s", seconds);
    return fmt::format("{:.0f} min", seconds / 60);
}

}  // namespace

Gui::Gui(ChatController& chat, TextureStore& textures, std::string state_dir)
    : chat_(chat),
      atlas_(fonts_, textures),
      ui_(fonts_, atlas_) {
    chat_.let_answers_go_on(true);
    if (!state_dir.empty()) {
        prefs_path_ = state_dir + "/window.json";
        prefs_ = saved_prefs_ = read_prefs(prefs_path_);
    }
}

std::string Gui::title() const {
    const std::string& name = view().chat.title;
    return name.empty() ? "Hearth" : name + " — Hearth";
}

void Gui::frame(ImDrawList& draw, Input input) {
    atlas_.begin_frame();
    input.scale *= prefs_.zoom;
    theme_ = make_theme(prefs_.theme, system_dark_);
    const bool busy = chat_.busy();
    if (busy && !was_busy_) {
        turn_began_s_ = input.now_s;
        prefill_first_ = -1;
        stopping_ = false;
    }
    if (busy != was_busy_ || view().answered_elsewhere != answered_) sidebar.stale = true;
    answered_ = view().answered_elsewhere;
    turn_ended_ = was_busy_ && !busy;
    was_busy_ = busy;
    if (view().phase == Phase::prefill && prefill_first_ < 0) {
        prefill_first_ = view().prefill_done;
        prefill_began_s_ = input.now_s;
    }
    draw.PushTextureID(atlas_.base_texture());
    ui_.begin(draw, input, theme_);
    for (const std::string& path : ui_.in().dropped) attach_file(path);
    take_notes();
    sync_draft();
    if (dialog_ == Dialog::none) run_shortcuts();
    layout();
    if (dialog_ != Dialog::none) {
        ui_.begin_layer();
        if (ui_.take_key(Key::escape)) {
            close_dialog();
        } else {
            draw_dialog(*this);
        }
        ui_.end_layer();
    } else if (std::exchange(focus_wanted_, false)) {
        ui_.set_focus(composer_id());
        ui_.frame_at(ui_.now());
    }
    draw_toast();
    typed_elsewhere();
    ui_.end();
    draw.PopTextureID();
    save_prefs();
}

void Gui::layout() {
    const ImVec2 size = ui_.in().size;
    const float status = ui_.px(kStatus), header = ui_.px(kHeader);
    float left = 0, right = size.x;
    // A narrow window shows the chat alone.
    const bool narrow = size.x < ui_.px(640);
    if (prefs_.sidebar && !narrow) {
        left = std::floor(ui_.px(kSidebar));
        draw_sidebar(*this, {0, 0, left, size.y - status});
    }
    if (prefs_.inspector && size.x - left > ui_.px(kInspector + 420)) {
        right = std::floor(size.x - ui_.px(kInspector));
        draw_inspector(*this, {right, header, size.x - right, size.y - status - header});
    }
    draw_status(*this, {0, size.y - status, size.x, status});
    draw_header(*this, {left, 0, size.x - left, header});
    Rect main = {left, header, right - left, size.y - status - header};
    if (view().model_path.empty()) return draw_first_start(*this, main);
    main.h -= draw_composer(*this, main);
    transcript.draw(*this, main);
}

/// Keys that every part of the window leaves alone.
void Gui::run_shortcuts() {
    for (const Command& command : commands()) {
        if (command.key == Key::none) continue;
        if (!ui_.take_key(command.key, command.mods)) continue;
        command.run(*this);
        ui_.frame_at(ui_.now());
        if (dialog_ != Dialog::none) return;
    }
    // Copy of what is selected in the transcript, unless an editor has a selection of its own.
    const bool editor_selects = ui_.focus() == composer_id() && composer.box.buffer.has_selection();
    if (transcript.has_selection() && !editor_selects &&
        ui_.take_key(Key::c, {false, true, false})) {
        copy(transcript.selected_text(*this), "");
    }
    if (ui_.take_key(Key::escape)) {
        if (chat_.busy()) {
            stop();
        } else if (find.open) {
            show_find(false);
        } else if (composer.editing) {
            composer.editing.reset();
            composer.box.buffer.set_text("");
        } else {
            transcript.clear_selection();
            focus_wanted_ = true;
        }
    }
    const float page = ui_.in().size.y * 0.7f;
    const bool reading = ui_.focus() != composer_id() || composer.box.buffer.text().empty();
    if (reading && ui_.take_key(Key::page_up)) transcript.scroll_by(-page);
    if (reading && ui_.take_key(Key::page_down)) transcript.scroll_by(page);
    if (ui_.take_key(Key::home, {false, true, true})) transcript.scroll_to_begin();
    if (ui_.take_key(Key::end, {false, true, true})) transcript.jump_to_end();
    if (ui_.focus() == composer_id() && composer.box.buffer.text().empty() &&
        ui_.take_key(Key::up)) {
        edit_last();
    }
}

/// Typing without a focus goes to the composer.
void Gui::typed_elsewhere() {
    if (dialog_ != Dialog::none || ui_.focus() == composer_id()) return;
    bool any = false;
    for (KeyIn& in : ui_.in().keys) {
        if (in.used || in.character == 0 || in.mods.ctrl != in.mods.alt) continue;
        std::string text;
        if (in.character == U' ' && ui_.focus() != 0) continue;
        in.used = any = true;
        append_character(text, in.character);
        composer.box.buffer.insert(text, true);
    }
    if (any) {
        ui_.set_focus(composer_id());
        ui_.frame_at(ui_.now());
    }
}

/// The unsent text belongs to its chat, also after a restart.
void Gui::sync_draft() {
    const ConversationId now = view().chat.id;
    if (composer.chat == now) return;
    keep_draft();
    kept_draft_ = chat_.store().draft(now).value_or("");
    composer.box.buffer.reset(kept_draft_);
    composer.editing.reset();
    composer.chat = now;
}

void Gui::keep_draft() {
    const std::string& text = composer.box.buffer.text();
    if (composer.chat < 0 || composer.editing || text == kept_draft_) return;
    if (auto kept = chat_.store().set_draft(composer.chat, text); !kept) return;
    kept_draft_ = text;
}

void Gui::take_notes() {
    for (const std::string& note : chat_.take_notes()) say(note);
    if (turn_ended_ && view().last && view().last->error) say_error(*view().last->error);
}

bool Gui::look_for_news() {
    keep_draft();
    if (!chat_.refresh()) return false;
    sidebar.stale = true;
    return true;
}

void Gui::say(const std::string& text, bool is_error) {
    if (text.empty()) return;
    for (const Notice& notice : notices_) {
        if (notice.text == text) return;
    }
    // The notice goes when it is dismissed; the log still has it.
    log(LogLevel::info, text);
    notices_.push_back({text, is_error});
    if (notices_.size() > 4) notices_.erase(notices_.begin());
}

void Gui::say_error(const Error& error) { say(error.what, true); }

void Gui::toast(std::string text, std::function<void(Gui&)> undo) {
    toast_ = Toast{std::move(text), ui_.now() + kToastS, std::move(undo)};
    ui_.frame_at(ui_.now());
}

void Gui::draw_toast() {
    if (!toast_) return;
    if (ui_.now() >= toast_->until_s) {
        toast_.reset();
        return;
    }
    ui_.frame_at(toast_->until_s + 0.01);
    const ImVec2 room = ui_.measure(toast_->text);
    const float button = toast_->undo ? ui_.px(64) : 0;
    const float w = room.x + ui_.px(32) + button, h = ui_.px(38);
    const ImVec2 size = ui_.in().size;
    const Rect box = {std::round((size.x - w) / 2), size.y - ui_.px(kStatus + 150), w, h};
    ui_.fill(box, Ink::raised, ui_.px(8));
    ui_.frame(box, Ink::line, ui_.px(8));
    ui_.text({box.x + ui_.px(16), box.y, room.x + 2, h}, toast_->text);
    if (!toast_->undo) return;
    ButtonLook look;
    look.ink = Ink::link;
    const Rect undo = {box.right() - button - ui_.px(6), box.y + ui_.px(4), button, h - ui_.px(8)};
    const bool by_key = dialog_ == Dialog::none && ui_.focus() != composer_id() &&
                        ui_.take_key(Key::z, {false, true, false});
    if (ui_.button(make_id("toast undo"), undo, "Undo", look) || by_key) {
        const auto back = std::move(toast_->undo);
        toast_.reset();
        back(*this);
    }
}

std::string Gui::progress_text() const {
    const ViewState& v = view();
    if (stopping_ && chat_.busy()) return "Stopping";
    switch (v.phase) {
        case Phase::queued:
            return v.queued_reason.empty() ? "Waiting" : v.queued_reason;
        case Phase::loading:
            return fmt::format("Loading {}", loading_name(v));
        case Phase::prefill: {
            const int todo = v.prefill_total - v.cached_tokens;
            if (todo <= 0) return "Thinking";
            const int done = std::max(0, v.prefill_done - v.cached_tokens);
            std::string out = fmt::format("Reading {} tokens · {} %", grouped_number(todo),
                                          std::min(100, 100 * done / todo));
            const double seconds = ui_.now() - prefill_began_s_;
            const int since = v.prefill_done - prefill_first_;
            if (since > 0 && seconds > 0.5) {
                out += fmt::format(" · {} left",
                                   duration(seconds * (v.prefill_total - v.prefill_done) / since));
            }
            return out;
        }
        case Phase::decoding: {
            const double seconds = ui_.now() - turn_began_s_;
            const auto n = static_cast<double>(v.answer_ids.size());
            if (n < 2 || seconds <= 0) return "Writing";
            return fmt::format("Writing · {} tokens", v.answer_ids.size());
        }
        case Phase::idle:
            break;
    }
    return "";
}

void Gui::open_dialog(Dialog dialog) {
    dialog_ = dialog;
    dialog_state = DialogState{};
    if (dialog == Dialog::models) dialog_state.models = chat_.models();
    ui_.set_focus(dialog == Dialog::none ? composer_id() : make_id("dialog query"));
    ui_.frame_at(ui_.now());
}

void Gui::close_dialog() {
    dialog_ = Dialog::none;
    focus_wanted_ = true;
    ui_.frame_at(ui_.now());
}

void Gui::save_prefs() {
    if (!ui_.in().down) {
        prefs_.width = static_cast<int>(ui_.in().size.x);
        prefs_.height = static_cast<int>(ui_.in().size.y);
    }
    if (prefs_ == saved_prefs_ || prefs_path_.empty()) return;
    saved_prefs_ = prefs_;
    if (auto written = write_prefs(prefs_path_, prefs_); !written) say_error(written.error());
}

}  // namespace hearth::gui
