// Panels and keys: the table of shortcuts entry by entry, keyboard alone, several chats at once,
// named prompts and presets, the log, what the model no longer sees.

#include "app/gui/math.h"
#include "app/log_file.h"
#include "engine/base/log.h"
#include "tests/app/gui/gui_support.h"

using namespace hearth;
using namespace hearth::test;
using gui::Dialog;
using gui::Key;
using gui::Mods;

namespace {

constexpr Mods kCtrl = {false, true, false}, kCtrlShift = {true, true, false},
               kAlt = {false, false, true}, kShift = {true, false, false},
               kAltGr = {false, true, true};

/// A key of a layout on which AltGr and this key make a character: both arrive.
void alt_gr(GuiDriver& d, Key key, char32_t character) {
    gui::KeyIn pressed, text;
    pressed.key = key;
    pressed.mods = kAltGr;
    text.character = character;
    text.mods = kAltGr;
    d.input.keys = {pressed, text};
    d.frames(2);
}

/// Tab until the button of that name has the focus; false when it never has.
bool tab_to(GuiDriver& d, const std::string& name) {
    for (int i = 0; i < 200; ++i) {
        d.press(Key::tab);
        const gui::Ui::Label* label = d.find(name, true);
        if (label == nullptr) continue;
        // The ring is the focus; what has it answers to Enter, which the caller presses.
        if (d.gui->ui().focused_rect() && d.gui->ui().focused_rect()->x == label->rect.x &&
            d.gui->ui().focused_rect()->y == label->rect.y) {
            return true;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("the key table holds, entry by entry", "[gui][keys]") {
    GuiDriver d;
    d.turn(U"First", "Some `code`:\n\n```\nlet x = 1\n```\n");
    const ConversationId first = d.view().chat.id;

    SECTION("Ctrl+N and Ctrl+Shift+O begin a chat") {
        d.press(Key::n, kCtrl);
        CHECK(d.view().chat.id == 0);
        d.gui->open_chat(first);
        d.press(Key::o, kCtrlShift);
        CHECK(d.view().chat.id == 0);
    }
    SECTION("Ctrl+K is the palette, Ctrl+L the models, Ctrl+, the settings, Ctrl+P what is kept") {
        d.press(Key::k, kCtrl);
        CHECK(d.gui->dialog() == Dialog::palette);
        d.press(Key::escape);
        d.press(Key::l, kCtrl);
        CHECK(d.gui->dialog() == Dialog::models);
        d.press(Key::escape);
        d.press(Key::comma, kCtrl);
        CHECK(d.gui->dialog() == Dialog::settings);
        d.press(Key::escape);
        d.press(Key::p, kCtrl);
        CHECK(d.gui->dialog() == Dialog::presets);
        d.press(Key::escape);
        CHECK(d.gui->dialog() == Dialog::none);
    }
    SECTION("F1 and Ctrl+/ show the shortcuts, F2 renames") {
        d.press(Key::f1);
        CHECK(d.gui->dialog() == Dialog::shortcuts);
        d.press(Key::escape);
        d.press(Key::slash, kCtrl);
        CHECK(d.gui->dialog() == Dialog::shortcuts);
        d.press(Key::escape);
        d.press(Key::f2);
        CHECK(d.gui->dialog() == Dialog::rename);
    }
    SECTION("Ctrl+F finds, Ctrl+B and Ctrl+I show and hide") {
        d.press(Key::f, kCtrl);
        CHECK(d.gui->find.open);
        d.press(Key::escape);
        const bool sidebar = d.gui->prefs().sidebar, inspector = d.gui->prefs().inspector;
        d.press(Key::b, kCtrl);
        d.press(Key::i, kCtrl);
        CHECK(d.gui->prefs().sidebar != sidebar);
        CHECK(d.gui->prefs().inspector != inspector);
    }
    SECTION("Ctrl+R, and Ctrl+Enter on an empty composer, answer again") {
        d.press(Key::r, kCtrl);
        CHECK(d.log.requests.size() == 2);
        d.answer("Second.");
        d.press(Key::enter, kCtrl);
        CHECK(d.log.requests.size() == 3);
        d.answer("Third.");
        CHECK(d.view().messages.back().n_versions == 3);
    }
    SECTION("Alt+Enter goes on") {
        d.press(Key::enter, kAlt);
        REQUIRE(d.log.requests.size() == 2);
        CHECK(d.log.requests.back().continue_last);
        d.answer(" More.");
    }
    SECTION("Alt+Left and Alt+Right change the version of the last answer") {
        d.press(Key::r, kCtrl);
        d.answer("Second.");
        d.press(Key::left, kAlt);
        CHECK(d.view().messages.back().version == 1);
        d.press(Key::right, kAlt);
        CHECK(d.view().messages.back().version == 2);
    }
    SECTION("Ctrl+Shift+C copies the answer, Ctrl+Shift+; its code") {
        d.press(Key::c, kCtrlShift);
        CHECK(d.clipboard == d.view().messages.back().content);
        d.press(Key::semicolon, kCtrlShift);
        CHECK(d.clipboard == "let x = 1");
    }
    SECTION("Shift+Esc and typing go to the composer") {
        d.press(Key::tab);
        REQUIRE(d.gui->ui().focus() != gui::composer_id());
        d.press(Key::escape, kShift);
        CHECK(d.gui->ui().focus() == gui::composer_id());
        d.press(Key::tab);
        d.type(U"x");
        CHECK(d.draft() == "x");
        CHECK(d.gui->ui().focus() == gui::composer_id());
    }
    SECTION("Up in an empty composer edits, Esc leaves it") {
        d.press(Key::up);
        CHECK(d.draft() == "First");
        d.press(Key::escape);
        CHECK(d.draft().empty());
    }
    SECTION("Ctrl and plus, minus, zero change the size") {
        d.press(Key::equal, kCtrl);
        CHECK(d.gui->prefs().zoom == Approx(1.1f));
        d.press(Key::keypad_add, kCtrl);
        CHECK(d.gui->prefs().zoom == Approx(1.2f));
        d.press(Key::minus, kCtrl);
        CHECK(d.gui->prefs().zoom == Approx(1.1f));
        d.press(Key::digit0, kCtrl);
        CHECK(d.gui->prefs().zoom == 1.0f);
    }
    SECTION("Ctrl+Shift+D deletes the chat") {
        d.press(Key::d, kCtrlShift);
        CHECK(d.view().chat.id == 0);
        CHECK(d.chat->chats(10)->empty());
        d.click("Undo");
        CHECK(d.view().chat.id == first);
    }
    SECTION("Ctrl+Shift+Z takes the last question back") {
        d.press(Key::z, kCtrlShift);
        CHECK(d.view().messages.empty());
        CHECK(d.draft() == "First");
    }
    SECTION("Ctrl+Q ends") {
        d.press(Key::q, kCtrl);
        CHECK(d.gui->quit_wanted);
    }
}

TEST_CASE("characters made with AltGr are text and no command", "[gui][keys]") {
    GuiDriver d;
    d.turn(U"First", "Answer.");
    const std::size_t requests = d.log.requests.size();
    const bool sidebar = d.gui->prefs().sidebar, inspector = d.gui->prefs().inspector;
    const ConversationId chat = d.view().chat.id;
    // German, Polish, Spanish, Czech: @ € ł ñ-side brackets, and every letter that has a command.
    const std::vector<std::pair<Key, char32_t>> keys = {
        {Key::q, U'@'},     {Key::e, U'€'},     {Key::l, U'ł'},      {Key::n, U'ń'},
        {Key::o, U'ó'},     {Key::k, U'ł'},     {Key::f, U'['},      {Key::b, U'{'},
        {Key::i, U'→'},     {Key::r, U'¶'},     {Key::p, U'þ'},      {Key::c, U'ć'},
        {Key::d, U'đ'},     {Key::z, U'ż'},     {Key::comma, U'<'},  {Key::minus, U'–'},
        {Key::equal, U'≠'}, {Key::slash, U'¿'}, {Key::digit0, U'}'}, {Key::a, U'ą'},
        {Key::v, U'„'},     {Key::x, U'ź'},     {Key::y, U'←'},
    };
    std::string wanted;
    for (const auto& [key, character] : keys) {
        alt_gr(d, key, character);
        gui::append_character(wanted, character);
        CHECK(d.draft() == wanted);
    }
    CHECK(d.gui->dialog() == Dialog::none);
    CHECK_FALSE(d.gui->find.open);
    CHECK_FALSE(d.gui->quit_wanted);
    CHECK(d.gui->prefs().sidebar == sidebar);
    CHECK(d.gui->prefs().inspector == inspector);
    CHECK(d.gui->prefs().zoom == 1.0f);
    CHECK(d.view().chat.id == chat);
    CHECK(d.log.requests.size() == requests);
}

TEST_CASE("every command is found and run by keyboard alone", "[gui][keys]") {
    for (const gui::Command& command : gui::commands()) {
        if (!command.in_palette) continue;
        GuiDriver d;
        d.turn(U"First", "Answer.");
        d.press(Key::k, kCtrl);
        std::u32string name;
        for (const char* c = command.name; *c != '\0'; ++c) {
            name += static_cast<char32_t>(static_cast<unsigned char>(*c));
        }
        d.type(name);
        INFO(command.name);
        CHECK(d.shows(command.name));
        d.press(Key::enter);
        CHECK(d.gui->dialog() != Dialog::palette);
    }
}

TEST_CASE("what was not measured is not shown as a number", "[gui]") {
    GuiDriver d;
    d.gui->prefs().inspector = true;
    d.type(U"First");
    d.press(Key::enter);
    Stats stats;
    stats.prompt_tokens = 38;
    stats.context_tokens = 8192;
    stats.backend = "cpu";
    d.emit(event::Done{1, FinishReason::stopped, stats, "hash"});
    d.frames(3);
    CHECK(d.shows("reused 0 of 38"));
    CHECK_FALSE(d.shows("0.00 s"));
    CHECK_FALSE(d.shows("0.0 tokens/s"));
    CHECK_FALSE(d.shows("tokens/s"));
}

TEST_CASE("a search that finds nothing says so", "[gui]") {
    GuiDriver d;
    d.turn(U"First", "Answer.");
    d.press(Key::k, kCtrl);
    CHECK_FALSE(d.shows("Nothing is called so."));
    d.type(U"xyzzy");
    CHECK(d.shows("Nothing is called so."));
    d.press(Key::enter);
    CHECK(d.gui->dialog() == Dialog::palette);
}

TEST_CASE("Tab reaches every button of every panel", "[gui][keys]") {
    GuiDriver d;
    d.gui->prefs().inspector = true;
    d.turn(U"First", "Answer.");
    for (const char* name :
         {"New chat", "Chats", "Inspector", "Copy message", "Regenerate", "Continue",
          "Branch into a new chat", "Prompts and settings by name…"}) {
        INFO(name);
        CHECK(tab_to(d, name));
    }
    for (const auto& [dialog, names] : std::vector<std::pair<Dialog, std::vector<const char*>>>{
             {Dialog::settings, {"dark", "light high contrast", "Smaller", "Larger"}},
             {Dialog::presets, {"Keep prompt", "Keep settings"}},
             {Dialog::rename, {"Save"}},
             {Dialog::log, {"Copy all"}}}) {
        d.gui->open_dialog(dialog);
        d.frames(2);
        for (const char* name : names) {
            INFO(name);
            CHECK(tab_to(d, name));
        }
        d.press(Key::escape);
    }
}

TEST_CASE("several chats are answered at once", "[gui][chats]") {
    GuiDriver d;
    d.type(U"One");
    d.press(Key::enter);
    const ConversationId one = d.view().chat.id;
    d.emit(event::Text{1, "first ", {1}});
    d.frames(2);
    d.ctrl(Key::n);
    CHECK(d.view().chat.id == 0);
    CHECK_FALSE(d.chat->busy());
    CHECK(d.log.cancelled.empty());
    d.type(U"Two");
    d.press(Key::enter);
    const ConversationId two = d.view().chat.id;
    REQUIRE(two != one);
    REQUIRE(d.log.requests.size() == 2);
    d.emit(event::Text{2, "second ", {2}});
    d.emit(event::Text{1, "answer", {3}});
    d.frames(2);
    CHECK(d.view().answer == "second ");
    CHECK(d.view().writing_elsewhere == std::vector<ConversationId>{one});

    SECTION("going back shows what came meanwhile, and goes on") {
        d.gui->open_chat(one);
        d.frames(2);
        CHECK(d.chat->busy());
        CHECK(d.view().answer == "first answer");
        CHECK(d.view().writing_elsewhere == std::vector<ConversationId>{two});
        d.emit(event::Text{1, ".", {4}});
        d.emit(event::Done{1, FinishReason::stop, Stats{}, "hash"});
        d.frames(2);
        CHECK_FALSE(d.chat->busy());
        CHECK(d.view().messages.back().content == "first answer.");
        d.gui->open_chat(two);
        CHECK(d.view().answer == "second ");
    }
    SECTION("one that ends behind is stored and marked until it is looked at") {
        d.emit(event::Done{1, FinishReason::stop, Stats{}, "hash"});
        d.frames(2);
        CHECK(d.view().chat.id == two);
        CHECK(d.chat->busy());
        CHECK(d.view().writing_elsewhere.empty());
        CHECK(d.view().answered_elsewhere == std::vector<ConversationId>{one});
        CHECK(d.chat->messages_of(one)->back().content == "first answer");
        CHECK(d.chat->messages_of(one)->back().state == MessageState::complete);
        d.gui->open_chat(one);
        d.frames(2);
        CHECK(d.view().answered_elsewhere.empty());
        CHECK(d.view().messages.back().content == "first answer");
    }
    SECTION("an error behind is said with the name of its chat") {
        d.emit(event::Failed{1, Error{Errc::out_of_memory, "there is no memory for it"}});
        d.frames(2);
        CHECK(d.shows("\"One\": there is no memory for it"));
        CHECK(d.view().answer == "second ");
    }
    SECTION("Esc stops the shown one only") {
        d.press(Key::escape);
        CHECK(d.log.cancelled == std::vector<RequestId>{2});
        CHECK(d.view().writing_elsewhere == std::vector<ConversationId>{one});
    }
    SECTION("a chat that is being answered is not deleted") {
        d.gui->remove_chat(one);
        d.frames(2);
        CHECK(d.shows("stop it before you remove it"));
        CHECK(d.chat->chats(10)->size() == 2);
    }
    SECTION("the end of the program keeps both as far as they are") {
        d.gui.reset();
        CHECK(d.log.cancelled.empty());
        d.chat.reset();
        CHECK(d.log.cancelled.size() == 2);
    }
}

TEST_CASE("what another process writes is shown without a key", "[gui][chats]") {
    const auto folder =
        std::filesystem::temp_directory_path() / fmt::format("hearth-gui-two-{}", ::getpid());
    struct Remove {
        std::filesystem::path path;
        ~Remove() {
            std::error_code error;
            std::filesystem::remove_all(path, error);
        }
    } remove{folder};
    const std::string path = (folder / "hearth.db").string();
    GuiDriver d(true, *Store::open(path));
    d.turn(U"From the window", "Heard.");
    const auto other = *Store::open(path);
    const auto seen = other->path(d.view().chat.id);
    REQUIRE(seen);
    CHECK(seen->back().content == "Heard.");
    CHECK_FALSE(d.gui->look_for_news());
    StoredMessage message;
    message.parent = seen->back().id;
    message.role = "user";
    message.content = "From the terminal";
    REQUIRE(other->append(d.view().chat.id, message));
    CHECK_FALSE(d.shows("From the terminal"));
    CHECK(d.gui->look_for_news());
    d.frames(2);
    CHECK(d.view().messages.back().content == "From the terminal");
}

TEST_CASE("a prompt and settings are kept by name and used again", "[gui][presets]") {
    GuiDriver d;
    REQUIRE(d.chat->set_system("Answer in verse."));
    REQUIRE(d.chat->set_param("temperature", "0.1"));
    d.ctrl(Key::p);
    d.type(U"Poet");
    REQUIRE(tab_to(d, "Keep prompt"));
    d.press(Key::enter);
    CHECK(d.shows("Poet"));
    d.gui->ui().set_focus(gui::make_id("dialog query"));
    d.type(U"Cold");
    REQUIRE(tab_to(d, "Keep settings"));
    d.press(Key::enter);
    CHECK(d.shows("Cold"));
    d.press(Key::escape);
    REQUIRE(d.chat->named(Kept::prompt)->size() == 1);
    REQUIRE(d.chat->named(Kept::preset)->size() == 1);

    SECTION("used in another chat") {
        d.ctrl(Key::n);
        CHECK(d.chat->system_prompt().empty());
        REQUIRE(d.chat->use_named(Kept::prompt, "Poet"));
        REQUIRE(d.chat->use_named(Kept::preset, "Cold"));
        CHECK(d.chat->system_prompt() == "Answer in verse.");
        d.turn(U"Go", "on");
        CHECK(d.log.requests.back().sampling.temperature == Approx(0.1f));
        CHECK(d.log.requests.back().messages.front().content == "Answer in verse.");
    }
    SECTION("new chats of this model begin with them") {
        REQUIRE(d.chat->set_model_default(Kept::prompt, "Poet"));
        REQUIRE(d.chat->set_model_default(Kept::preset, "Cold"));
        d.ctrl(Key::n);
        CHECK(d.chat->system_prompt() == "Answer in verse.");
        d.turn(U"Go", "on");
        CHECK(d.log.requests.back().sampling.temperature == Approx(0.1f));
        REQUIRE(d.chat->set_model_default(Kept::prompt, ""));
        d.ctrl(Key::n);
        CHECK(d.chat->system_prompt().empty());
    }
    SECTION("removed") {
        REQUIRE(d.chat->remove_named(Kept::prompt, "Poet"));
        CHECK(d.chat->named(Kept::prompt)->empty());
        CHECK_FALSE(d.chat->use_named(Kept::prompt, "Poet"));
        CHECK_FALSE(d.chat->remove_named(Kept::prompt, "Poet"));
    }
    SECTION("nothing is kept without a name") {
        d.ctrl(Key::p);
        REQUIRE(tab_to(d, "Keep settings"));
        d.press(Key::enter);
        CHECK(d.shows("give the preset a name first"));
        CHECK(d.chat->named(Kept::preset)->size() == 1);
    }
}

TEST_CASE("the log shows what was said", "[gui][log]") {
    GuiDriver d;
    Options options;
    options.no_log = true;
    open_log(options);
    d.gui->say("the context is limited to 8,192 tokens");
    log(LogLevel::warning, "a cache file was left out");
    d.gui->open_dialog(Dialog::log);
    d.frames(2);
    CHECK(d.shows("the context is limited to 8,192 tokens"));
    CHECK(d.shows("warning: a cache file was left out"));
    d.click("Copy all");
    CHECK(d.clipboard.find("a cache file was left out") != std::string::npos);
    set_log_sink({});
}

TEST_CASE("a line shows what the model no longer sees", "[gui]") {
    GuiDriver d;
    d.turn(U"One", "First answer.");
    d.turn(U"Two", "Second answer.");
    CHECK_FALSE(d.shows("no longer sees"));
    d.type(U"Three");
    d.press(Key::enter);
    // The request has five messages; the first two are left out.
    d.emit(event::LeftOut{3, 0, 2, 9000, 8192});
    d.stream("Third");
    CHECK(d.view().unseen_end == 2);
    CHECK(d.shows("The model no longer sees what is above this line"));
    d.answer(" answer.");
    CHECK(d.shows("The model no longer sees what is above this line"));
}
