#pragma once
// Gui: everything inside the window, a frame at a time: layout, panels, keys, what the user wants.
// Draws from ViewState and asks ChatController; knows no windowing library, so tests drive it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/chat_controller.h"
#include "app/gui/panels/transcript.h"
#include "app/gui/prefs.h"
#include "app/gui/text_box.h"
#include "app/gui/ui.h"

namespace hearth::gui {

/// A command: reached by its key, by the palette, and listed in the shortcut sheet.
struct Command {
    const char* name;
    const char* keys;  ///< as shown: "Ctrl+N"; "" = palette only
    Key key;
    Mods mods;
    void (*run)(class Gui& gui);
    bool in_palette = true;
};
const std::vector<Command>& commands();

enum class Dialog : std::uint8_t {
    none,
    palette,
    shortcuts,
    models,
    settings,
    presets,
    log,
    link,
    rename
};

/// What stands above the composer until it is dismissed.
struct Notice {
    std::string text;
    bool is_error = false;
};

/// A short message with an optional way back; goes by itself.
struct Toast {
    std::string text;
    double until_s = 0;
    std::function<void(Gui&)> undo = {};
};

/// State of the panels that are drawn by functions; each panel uses its own part.
struct SidebarState {
    TextBox search;
    std::vector<Conversation> rows;
    std::string shown_query;
    int wanted = 200;  ///< rows to load; grows when scrolled to the end
    bool stale = true, more = false;
    ScrollState scroll;
};
struct ComposerState {
    TextBox box;
    ConversationId chat = -1;          ///< whose draft is in the box
    std::optional<MessageId> editing;  ///< the question that is being changed
};
struct InspectorState {
    TextBox system, value;
    std::string editing;  ///< setting whose value is being typed
    ConversationId chat = -1;
    std::string shown_system;
    ScrollState scroll;
};
struct DialogState {
    TextBox query;
    int chosen = 0, n_rows = 0;
    ScrollState scroll;
    std::vector<FoundModel> models;
    std::vector<Conversation> chats;
    std::string chats_query;
    std::string link, problem;
    bool accepted = false;  ///< Enter in the query
};
struct FindState {
    bool open = false;
    TextBox box;
};

class Gui {
  public:
    Gui(ChatController& chat, TextureStore& textures, std::string state_dir);

    /// Draws one frame. The chat has been pumped before.
    void frame(ImDrawList& draw, Input input);
    /// When the next frame is due without any event; 1e300 = never.
    double next_frame() const { return ui_.next_frame(); }
    void finish_frame() { atlas_.flush(); }
    void set_system_dark(bool dark) { system_dark_ = dark; }
    const Theme& theme() const { return theme_; }
    std::string title() const;  ///< of the window
    /// About once a second: what other programs wrote to the same store. True: draw.
    bool look_for_news();

    // --- what the user wants -------------------------------------------------------------------
    void send();
    void stop();
    void new_chat();
    void open_chat(ConversationId id);
    void remove_chat(ConversationId id);
    void regenerate();
    void continue_last();
    void edit_message(MessageId id);
    void edit_last();
    void branch(MessageId id);  ///< a new chat up to this message
    void pin_chat(ConversationId id, bool pinned);
    void take_back();  ///< the last question and its answer; its text goes to the composer
    void rename_chat();
    void show_version(MessageId id, int direction);
    void choose_model(const std::string& path);
    void copy(const std::string& text, const std::string& said);
    void copy_last_answer(bool code);
    void attach_file(const std::string& path);
    void set_zoom(float zoom);
    void open_dialog(Dialog dialog);
    void close_dialog();
    void ask_to_open(const std::string& link);
    void focus_composer() { focus_wanted_ = true; }
    void show_find(bool on);

    // --- for panels ----------------------------------------------------------------------------
    Ui& ui() { return ui_; }
    ChatController& chat() { return chat_; }
    const ViewState& view() const { return chat_.view(); }
    Prefs& prefs() { return prefs_; }
    void say_error(const Error& error);
    void say(const std::string& text, bool is_error = false);
    void toast(std::string text, std::function<void(Gui&)> undo = {});
    std::string progress_text() const;
    Dialog dialog() const { return dialog_; }
    std::vector<Notice>& notices() { return notices_; }
    bool quit_wanted = false, first_start_looked = false;
    std::function<void(const std::string&)> open_link = [](const std::string&) {};

    Transcript transcript;
    SidebarState sidebar;
    ComposerState composer;
    InspectorState inspector;
    DialogState dialog_state;
    FindState find;

  private:
    void layout();
    void run_shortcuts();
    void sync_draft();
    void keep_draft();
    void take_notes();
    void draw_toast();
    void save_prefs();
    void typed_elsewhere();

    ChatController& chat_;
    Fonts fonts_;
    GlyphAtlas atlas_;
    Ui ui_;
    Theme theme_;
    Prefs prefs_, saved_prefs_;
    std::string prefs_path_;
    bool system_dark_ = false, focus_wanted_ = true;
    Dialog dialog_ = Dialog::none;
    std::vector<Notice> notices_;
    std::optional<Toast> toast_;
    double turn_began_s_ = 0, prefill_began_s_ = 0;
    int prefill_first_ = -1;
    bool was_busy_ = false, turn_ended_ = false;
    std::vector<ConversationId> answered_;  ///< elsewhere, in the frame before
    bool stopping_ = false;
    std::string kept_draft_;  ///< as the store has it
};

// --- the panels, one file each in panels/
// ---------------------------------------------------------
void draw_sidebar(Gui& gui, const Rect& area);
void draw_header(Gui& gui, const Rect& area);
/// Returns the height it took, from the bottom of `area` upwards.
float draw_composer(Gui& gui, const Rect& area);
void draw_status(Gui& gui, const Rect& area);
void draw_inspector(Gui& gui, const Rect& area);
void draw_first_start(Gui& gui, const Rect& area);
void draw_dialog(Gui& gui);
void draw_palette(Gui& gui);
void draw_models(Gui& gui, const Rect& area);
void draw_presets(Gui& gui, const Rect& area);
void draw_log(Gui& gui, const Rect& area);
/// Id of the composer's text box.
Id composer_id();

}  // namespace hearth::gui
