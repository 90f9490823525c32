// What the user wants, as calls to ChatController; errors become notices.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/gui/gui.h"
#include "app/gui/markdown.h"

namespace hearth::gui {

void Gui::send() {
    const std::string text = composer.box.buffer.text();
    const bool blank = text.find_first_not_of(" \n\t\r") == std::string::npos;
    if (blank && view().attachments.empty()) return;
    if (chat_.busy()) {
        toast("An answer is being written; Esc stops it.");
        return;
    }
    // The old question stays as a version.
    const auto sent = composer.editing ? chat_.edit(*composer.editing, text) : chat_.send(text);
    if (!sent) return say_error(sent.error());
    composer.editing.reset();
    composer.box.buffer.reset("");
    keep_draft();
    composer.chat = view().chat.id;
    keep_draft();
    notices_.clear();
    sidebar.stale = true;
    transcript.clear_selection();
    transcript.jump_to_end();
    ui_.frame_at(ui_.now());
}

void Gui::stop() {
    if (!chat_.busy()) return;
    stopping_ = true;
    chat_.stop();
    ui_.frame_at(ui_.now());
}

void Gui::new_chat() {
    if (auto done = chat_.new_chat(); !done) return say_error(done.error());
    notices_.clear();
    show_find(false);
    focus_wanted_ = true;
}

void Gui::open_chat(ConversationId id) {
    if (id == view().chat.id) return;
    if (auto done = chat_.switch_to(id); !done) return say_error(done.error());
    notices_.clear();
    show_find(false);
    transcript.jump_to_end();
    focus_wanted_ = true;
}

void Gui::remove_chat(ConversationId id) {
    if (id == 0) return;
    if (auto done = chat_.remove_chat(id); !done) return say_error(done.error());
    sidebar.stale = true;
    toast("The chat is deleted.", [](Gui& gui) {
        const auto back = gui.chat().restore_chat();
        if (!back) return gui.say_error(back.error());
        gui.sidebar.stale = true;
        gui.open_chat(back->id);
    });
}

void Gui::regenerate() {
    if (auto done = chat_.regenerate(); !done) return say_error(done.error());
    transcript.jump_to_end();
}

void Gui::continue_last() {
    if (auto done = chat_.continue_last(); !done) return say_error(done.error());
    transcript.jump_to_end();
}

void Gui::edit_message(MessageId id) {
    if (chat_.busy()) return toast("An answer is being written; Esc stops it.");
    for (const StoredMessage& message : view().messages) {
        if (message.id != id || message.role != "user") continue;
        composer.editing = id;
        composer.box.buffer.set_text(message.content);
        focus_wanted_ = true;
        ui_.frame_at(ui_.now());
        return;
    }
}

void Gui::edit_last() {
    const auto& messages = view().messages;
    const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                   [](const StoredMessage& m) { return m.role == "user"; });
    if (last != messages.rend()) edit_message(last->id);
}

void Gui::take_back() {
    if (view().messages.empty()) return;
    const ConversationId conversation = view().chat.id;
    const MessageId leaf = view().messages.back().id;
    auto text = chat_.undo();
    if (!text) return say_error(text.error());
    if (composer.box.buffer.text().empty()) composer.box.buffer.set_text(*text);
    toast("The last question is taken back.", [conversation, leaf](Gui& gui) {
        if (gui.view().chat.id != conversation) return gui.open_chat(conversation);
        if (auto done = gui.chat().show_version(leaf); !done) return gui.say_error(done.error());
        gui.composer.box.buffer.set_text("");
    });
}

void Gui::branch(MessageId id) {
    if (auto done = chat_.fork(id); !done) return say_error(done.error());
    sidebar.stale = true;
    transcript.jump_to_end();
    toast("A new chat with everything up to here.");
}

void Gui::pin_chat(ConversationId id, bool pinned) {
    if (auto done = chat_.set_pinned(id, pinned); !done) return say_error(done.error());
    sidebar.stale = true;
}

void Gui::rename_chat() {
    open_dialog(Dialog::rename);
    dialog_state.query.buffer.reset(view().chat.title);
    dialog_state.query.buffer.select_all();
}

void Gui::show_version(MessageId id, int direction) {
    if (chat_.busy()) return;
    const auto versions = chat_.versions(id);
    if (!versions) return say_error(versions.error());
    const auto n = static_cast<int>(versions->size());
    for (int i = 0; i < n; ++i) {
        if ((*versions)[static_cast<std::size_t>(i)].id != id) continue;
        const int to = i + direction;
        if (to < 0 || to >= n) return;
        const MessageId wanted = (*versions)[static_cast<std::size_t>(to)].id;
        if (auto done = chat_.show_version(wanted); !done) say_error(done.error());
        return;
    }
}

void Gui::choose_model(const std::string& path) {
    if (auto done = chat_.set_model(path); !done) return say_error(done.error());
    close_dialog();
    notices_.clear();
}

void Gui::copy(const std::string& text, const std::string& said) {
    if (text.empty()) return;
    ui_.set_clipboard(text);
    if (!said.empty()) toast(said);
}

void Gui::copy_last_answer(bool code) {
    const auto& messages = view().messages;
    const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                   [](const StoredMessage& m) { return m.role == "assistant"; });
    if (last == messages.rend()) return toast("There is no answer yet.");
    const ThinkingSplit split = split_thinking(last->content);
    if (!code) return copy(std::string(split.answer), "The answer is copied.");
    const MarkdownDocument document = parse_markdown(split.answer);
    for (auto block = document.blocks.rbegin(); block != document.blocks.rend(); ++block) {
        if (block->kind == BlockKind::code) return copy(block->body.text, "The code is copied.");
    }
    toast("The last answer has no code.");
}

void Gui::attach_file(const std::string& path) {
    if (path.size() > 5 && path.ends_with(".gguf")) return choose_model(path);
    const auto sentence = chat_.attach(path);
    if (!sentence) return say_error(sentence.error());
    toast(*sentence);
}

void Gui::set_zoom(float zoom) {
    prefs_.zoom = std::clamp(std::round(zoom * 10) / 10, 0.5f, 3.0f);
    ui_.frame_at(ui_.now());
}

void Gui::ask_to_open(const std::string& link) {
    open_dialog(Dialog::link);
    dialog_state.link = link;
}

void Gui::show_find(bool on) {
    find.open = on;
    if (on) {
        ui_.set_focus(make_id("find"));
        find.box.buffer.select_all();
    } else {
        transcript.find(*this, "");
        focus_wanted_ = true;
    }
}

}  // namespace hearth::gui
