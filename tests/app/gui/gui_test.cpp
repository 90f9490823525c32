#include "app/gui/gui.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "tests/app/gui/gui_support.h"

using namespace hearth;
using namespace hearth::gui;
using hearth::test::GuiDriver;

TEST_CASE("the first start offers the models, and says so when there are none", "[gui]") {
    GuiDriver d(false);
    CHECK(d.shows("Welcome to Hearth"));
    CHECK(d.shows("No model was found on this machine"));
    d.input.dropped.push_back(d.model);
    d.frames(2);
    CHECK_FALSE(d.shows("Welcome to Hearth"));
    CHECK(d.view().model_path == d.model);
}

TEST_CASE("Enter sends, the answer streams in, figures follow", "[gui]") {
    GuiDriver d;
    d.type(U"Hello 你好 🚀");
    CHECK(d.draft() == "Hello 你好 🚀");
    d.press(Key::enter);
    REQUIRE(d.log.requests.size() == 1);
    CHECK(d.log.requests[0].messages.back().content == "Hello 你好 🚀");
    CHECK(d.draft().empty());
    CHECK(d.find("Stop", true) != nullptr);
    d.emit(event::Prefill{1, 10, 40, 0});
    d.frame();
    CHECK(d.shows("Reading 40 tokens · 25 %"));
    d.answer("Hi **there**");
    CHECK(d.view().messages.size() == 2);
    CHECK(d.find("Stop", true) == nullptr);
    CHECK(d.shows("19.0 tokens/s"));
    CHECK(d.shows("reused 30 of 40"));
    CHECK(d.find("Regenerate", true) != nullptr);
}

TEST_CASE("Shift+Enter makes a line; the option turns it around", "[gui]") {
    GuiDriver d;
    d.type(U"a");
    d.press(Key::enter, {true, false, false});
    d.type(U"b");
    CHECK(d.draft() == "a\nb");
    CHECK(d.log.requests.empty());
    d.gui->prefs().ctrl_enter_sends = true;
    d.press(Key::enter);
    CHECK(d.draft() == "a\nb\n");
    d.press(Key::enter, {false, true, false});
    CHECK(d.log.requests.size() == 1);
}

// G4: while an input method composes, its Enter never comes as a key; what comes is the text.
TEST_CASE("a committed composition is text and sends nothing", "[gui]") {
    GuiDriver d;
    d.type(U"世界");
    CHECK(d.draft() == "世界");
    CHECK(d.log.requests.empty());
}

TEST_CASE("Esc stops, in every phase", "[gui]") {
    GuiDriver d;
    d.log.ends_cancelled = false;
    d.type(U"q");
    d.press(Key::enter);
    d.press(Key::escape);
    CHECK(d.log.cancelled.size() == 1);
    CHECK(d.shows("Stopping"));
    d.emit(event::Done{1, FinishReason::stopped, Stats{}, "hash"});
    d.frames(2);
    CHECK_FALSE(d.chat->busy());
}

TEST_CASE("the message stays in the composer when it cannot be sent", "[gui]") {
    GuiDriver d;
    d.type(U"first");
    d.press(Key::enter);
    d.type(U"second");
    d.press(Key::enter);
    CHECK(d.draft() == "second");
    CHECK(d.log.requests.size() == 1);
}

TEST_CASE("an error stands in the window and says what to do", "[gui]") {
    GuiDriver d;
    d.type(U"q");
    d.press(Key::enter);
    d.emit(event::Failed{1, Error{Errc::out_of_memory, "the model needs 9 GB, 3 GB are free"}});
    d.frames(3);
    CHECK(d.shows("the model needs 9 GB, 3 GB are free"));
    CHECK(d.find("Dismiss", true) != nullptr);
    d.click("Dismiss");
    CHECK(d.find("Dismiss", true) == nullptr);
    d.ctrl(Key::r);
    CHECK(d.log.requests.size() == 2);
}

TEST_CASE("chats: new, list, switch back, each with its own unsent text", "[gui]") {
    GuiDriver d;
    d.turn(U"about cats", "Cats.");
    const ConversationId cats = d.view().chat.id;
    d.type(U"unsent");
    d.ctrl(Key::n);
    CHECK(d.view().chat.id == 0);
    CHECK(d.draft().empty());
    d.turn(U"about dogs", "Dogs.");
    d.frames(2);
    REQUIRE(d.find("about cats", true) != nullptr);
    d.click("about cats");
    CHECK(d.view().chat.id == cats);
    CHECK(d.draft() == "unsent");
}

TEST_CASE("a deleted chat comes back with Undo", "[gui]") {
    GuiDriver d;
    d.turn(U"keep me", "Yes.");
    const ConversationId id = d.view().chat.id;
    d.press(Key::d, {true, true, false});
    CHECK(d.view().chat.id == 0);
    CHECK(d.find("keep me", true) == nullptr);
    d.click("Undo");
    CHECK(d.view().chat.id == id);
    CHECK(d.view().messages.size() == 2);
}

TEST_CASE("regenerate keeps the old answer as a version", "[gui]") {
    GuiDriver d;
    d.turn(U"q", "first answer");
    d.ctrl(Key::r);
    d.answer("second answer");
    CHECK(d.view().messages.back().content == "second answer");
    CHECK(d.shows("2/2"));
    d.press(Key::left, {false, false, true});
    CHECK(d.view().messages.back().content == "first answer");
    CHECK(d.shows("1/2"));
    d.press(Key::right, {false, false, true});
    CHECK(d.view().messages.back().content == "second answer");
}

TEST_CASE("editing a question branches; Esc leaves it as it was", "[gui]") {
    GuiDriver d;
    d.turn(U"old question", "old answer");
    d.press(Key::up);
    CHECK(d.draft() == "old question");
    d.press(Key::escape);
    CHECK(d.draft().empty());
    CHECK(d.view().messages.size() == 2);
    d.press(Key::up);
    d.ctrl(Key::a);
    d.type(U"new question");
    d.press(Key::enter);
    d.answer("new answer");
    REQUIRE(d.view().messages.size() == 2);
    CHECK(d.view().messages[0].content == "new question");
    CHECK(d.chat->store().versions(d.view().chat.id, d.view().messages[0].id)->size() == 2);
}

TEST_CASE("the palette finds chats and commands by keyboard alone", "[gui]") {
    GuiDriver d;
    d.turn(U"about whales", "Big.");
    const ConversationId whales = d.view().chat.id;
    d.ctrl(Key::n);
    d.ctrl(Key::k);
    CHECK(d.gui->dialog() == Dialog::palette);
    d.type(U"whales");
    d.press(Key::enter);
    CHECK(d.gui->dialog() == Dialog::none);
    CHECK(d.view().chat.id == whales);
    d.ctrl(Key::k);
    d.type(U"inspector");
    d.press(Key::enter);
    CHECK(d.gui->prefs().inspector);
    d.ctrl(Key::k);
    d.press(Key::escape);
    CHECK(d.gui->dialog() == Dialog::none);
    d.type(U"x");
    CHECK(d.draft() == "x");
}

TEST_CASE("keys that a dialog has are not the window's", "[gui]") {
    GuiDriver d;
    d.ctrl(Key::k);
    d.type(U"a");
    d.press(Key::enter, {true, false, false});
    CHECK(d.draft().empty());
    CHECK(d.log.requests.empty());
}

TEST_CASE("find in chat goes from match to match", "[gui]") {
    GuiDriver d;
    d.turn(U"Straße one", "the WHALE is big");
    d.turn(U"two", "another whale");
    d.ctrl(Key::f);
    d.type(U"whale");
    CHECK(d.shows("2 of 2"));
    d.press(Key::enter);
    CHECK(d.shows("1 of 2"));
    d.press(Key::escape);
    CHECK_FALSE(d.gui->find.open);
}

TEST_CASE("text is selected across messages and copied", "[gui]") {
    GuiDriver d;
    d.turn(U"question text", "First paragraph.\n\nSecond **bold** one.");
    d.gui->transcript.select_all(*d.gui);
    d.gui->ui().set_focus(0);
    d.ctrl(Key::c);
    CHECK(d.clipboard == "question text\n\nFirst paragraph.\nSecond bold one.");
    d.press(Key::c, {true, true, false});
    CHECK(d.clipboard == "First paragraph.\n\nSecond **bold** one.");
}

TEST_CASE("code is copied as it was written", "[gui]") {
    GuiDriver d;
    d.turn(U"q", "Here:\n\n```cpp\nint x = 1;\n\nint y;\n```\n");
    d.click("Copy");
    CHECK(d.clipboard == "int x = 1;\n\nint y;");
    d.clipboard.clear();
    d.press(Key::semicolon, {true, true, false});
    CHECK(d.clipboard == "int x = 1;\n\nint y;");
}

TEST_CASE("a large paste becomes an attachment", "[gui]") {
    GuiDriver d;
    d.clipboard = std::string(2'000'000, 'a');
    d.ctrl(Key::v);
    CHECK(d.draft().empty());
    REQUIRE(d.view().attachments.size() == 1);
    d.clipboard = "short";
    d.ctrl(Key::v);
    CHECK(d.draft() == "short");
    d.press(Key::enter);
    CHECK(d.log.requests.at(0).messages.back().content.size() > 2'000'000);
}

TEST_CASE("a link asks before anything is opened", "[gui]") {
    GuiDriver d;
    std::string opened;
    d.gui->open_link = [&](const std::string& link) { opened = link; };
    d.gui->ask_to_open("https://example.org/x");
    d.frames(2);
    CHECK(d.shows("https://example.org/x"));
    CHECK(opened.empty());
    d.click("Open");
    CHECK(opened == "https://example.org/x");
    opened.clear();
    d.gui->ask_to_open("file:///etc/passwd");
    d.frames(2);
    const auto* open = d.find("Open", true);
    REQUIRE(open != nullptr);
    d.click_at(ImVec2(open->rect.x + 5, open->rect.y + 5));
    CHECK(opened.empty());
}

TEST_CASE("the inspector shows values with their origin and changes them", "[gui]") {
    GuiDriver d;
    d.gui->prefs().inspector = true;
    d.input.size = ImVec2(1200, 2400);
    d.frames(2);
    CHECK(d.shows("System prompt"));
    CHECK(d.shows("temperature"));
    CHECK(d.shows("built in"));
    const auto* row = d.find("temperature");
    REQUIRE(row != nullptr);
    d.click_at(ImVec2(row->rect.x + 4, row->rect.y + 4));
    d.ctrl(Key::a);
    d.type(U"0.1");
    d.press(Key::enter);
    bool found = false;
    for (const SettingValue& value : d.chat->params()) {
        if (value.name != "temperature") continue;
        found = true;
        CHECK(value.value == "0.1");
    }
    CHECK(found);
}

TEST_CASE("Tab reaches the buttons, Enter and Space press them", "[gui]") {
    GuiDriver d;
    d.turn(U"q", "a");
    bool reached = false;
    for (int i = 0; i < 60 && !reached; ++i) {
        d.press(Key::tab);
        reached = d.gui->ui().focus() == make_id("Regenerate", 2);
    }
    REQUIRE(reached);
    d.press(Key::enter);
    CHECK(d.log.requests.size() == 2);
}

// H8: the reader's place is kept while text grows below; at the end it follows.
TEST_CASE("scrolling up stays where it is while an answer streams", "[gui]") {
    GuiDriver d;
    std::string text;
    for (int i = 0; i < 60; ++i) text += "Line " + std::to_string(i) + "\n\n";
    d.turn(U"q", text);
    CHECK(d.gui->transcript.at_end());
    d.type(U"more");
    d.press(Key::enter);
    d.stream(text);
    CHECK(d.gui->transcript.at_end());
    d.input.mouse = ImVec2(700, 300);
    d.input.wheel.y = 10;
    d.frames(2);
    CHECK_FALSE(d.gui->transcript.at_end());
    CHECK(d.find("Jump to the end", true) != nullptr);
    d.stream(text);
    CHECK_FALSE(d.gui->transcript.at_end());
    d.click("Jump to the end");
    CHECK(d.gui->transcript.at_end());
}

// H1, H2: only what is visible is laid out, and a token does not lay out the chat.
TEST_CASE("ten thousand messages: only the visible ones are laid out", "[gui]") {
    auto store = *Store::in_memory();
    const ConversationId id = *store->create("m");
    MessageId parent = 0;
    for (int i = 0; i < 10000; ++i) {
        StoredMessage m;
        m.parent = parent;
        m.role = i % 2 == 0 ? "user" : "assistant";
        m.content = "Message " + std::to_string(i) + " with some words in it.";
        parent = *store->append(id, m);
    }
    GuiDriver d(true, std::move(store));
    d.gui->open_chat(id);
    d.frames(2);
    CHECK(d.gui->transcript.n_drawn() < 40);
    CHECK(d.gui->transcript.layouts_made() < 60);
    const std::size_t before = d.gui->transcript.layouts_made();
    d.gui->transcript.scroll_to_begin();
    d.frames(2);
    CHECK(d.gui->transcript.layouts_made() - before < 60);
    d.gui->transcript.jump_to_end();
    d.type(U"q");
    d.press(Key::enter);
    const std::size_t streaming = d.gui->transcript.layouts_made();
    for (int i = 0; i < 20; ++i) d.stream("word ");
    CHECK(d.gui->transcript.layouts_made() - streaming < 50);
}

// H13: nothing asks for frames when nothing happens.
TEST_CASE("an idle window asks for no frame", "[gui]") {
    GuiDriver d;
    d.turn(U"q", "a");
    d.input.mouse = ImVec2(-1, -1);
    d.input.now_s += 60;
    d.frames(3);
    CHECK(d.gui->next_frame() > 1e299);
}

TEST_CASE("zoom, theme and panels are kept in the state file", "[gui]") {
    const std::string dir =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-gui-state-{}", ::getpid()))
            .string();
    std::filesystem::create_directories(dir);
    {
        GuiDriver d(true, nullptr, dir);
        d.ctrl(Key::equal);
        d.ctrl(Key::b);
        d.gui->prefs().theme = ThemeChoice::dark;
        d.frames(2);
    }
    const Prefs prefs = read_prefs(dir + "/window.json");
    CHECK(prefs.zoom == Approx(1.1));
    CHECK_FALSE(prefs.sidebar);
    CHECK(prefs.theme == ThemeChoice::dark);
    std::ofstream(dir + "/window.json") << "{\"zoom\": \"big\", \"width\": -5";
    CHECK(read_prefs(dir + "/window.json") == Prefs{});
    std::filesystem::remove_all(dir);
}

TEST_CASE("every scale and a narrow window draw without trouble", "[gui]") {
    GuiDriver d;
    d.turn(U"q مرحبا हिन्दी",
           "# H\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n\n1. x\n\n```js\nlet a = 'b' // c\n```");
    d.gui->prefs().inspector = true;
    for (const float scale : {1.0f, 1.25f, 1.5f, 1.75f, 2.0f, 3.0f}) {
        for (const float width : {400.0f, 900.0f, 1900.0f}) {
            d.input.scale = scale;
            d.input.size = ImVec2(width, 600);
            d.frames(2);
            CHECK(d.gui->transcript.n_drawn() >= 1);
        }
    }
    for (const Dialog dialog :
         {Dialog::palette, Dialog::shortcuts, Dialog::models, Dialog::settings}) {
        d.gui->open_dialog(dialog);
        d.frames(2);
        CHECK(d.gui->ui().labels().size() > 3);
        d.press(Key::escape);
        CHECK(d.gui->dialog() == Dialog::none);
    }
}

TEST_CASE("a chat is renamed, and its last turn taken back and brought back", "[gui]") {
    GuiDriver d;
    d.turn(U"first", "one");
    d.turn(U"second", "two");
    d.press(Key::f2);
    d.ctrl(Key::a);
    d.type(U"Zahlen 数字");
    d.press(Key::enter);
    CHECK(d.view().chat.title == "Zahlen 数字");
    CHECK(d.gui->dialog() == Dialog::none);
    d.press(Key::z, {true, true, false});
    CHECK(d.view().messages.size() == 2);
    CHECK(d.draft() == "second");
    d.click("Undo");
    CHECK(d.view().messages.size() == 4);
    CHECK(d.draft().empty());
}

TEST_CASE("a branch is a new chat up to that message; a pinned chat stands first", "[gui]") {
    GuiDriver d;
    d.turn(U"root", "one");
    d.turn(U"second", "two");
    const ConversationId old = d.view().chat.id;
    d.gui->branch(d.view().messages[1].id);
    d.frames(2);
    CHECK(d.view().chat.id != old);
    CHECK(d.view().messages.size() == 2);
    d.gui->pin_chat(old, true);
    d.frames(3);
    CHECK(d.shows("Pinned"));
    REQUIRE_FALSE(d.gui->sidebar.rows.empty());
    CHECK(d.gui->sidebar.rows.front().id == old);
}
