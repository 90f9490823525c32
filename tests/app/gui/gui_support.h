#pragma once
// The window without a display: Gui over a fake engine and a store in memory, driven by events and
// looked at through what it drew.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <imgui.h>
#include <unistd.h>

#include "app/gui/gui.h"
#include "tests/app/fake_engine.h"
#include "tests/support/tiny_model.h"

namespace hearth::test {

/// Textures that only have names.
class NoTextures : public gui::TextureStore {
  public:
    ImTextureID create(int) override {
        return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(++made + 1));
    }
    void update(ImTextureID, int, int, int, int, int, const std::uint32_t*) override { ++updates; }
    int made = 0, updates = 0;
};

/// An ImGui context that draws nowhere.
class NoScreen {
  public:
    NoScreen() : context_(ImGui::CreateContext()) {
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
        unsigned char* pixels = nullptr;
        int width = 0, height = 0;
        io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
        io.Fonts->SetTexID(reinterpret_cast<ImTextureID>(std::uintptr_t{1}));
    }
    ~NoScreen() { ImGui::DestroyContext(context_); }
    NoScreen(const NoScreen&) = delete;
    NoScreen& operator=(const NoScreen&) = delete;
    ImDrawList& begin(ImVec2 size) {
        ImGui::GetIO().DisplaySize = size;
        ImGui::GetIO().DeltaTime = 1.0f / 60;
        ImGui::NewFrame();
        return *ImGui::GetBackgroundDrawList();
    }
    void end() { ImGui::Render(); }

  private:
    ImGuiContext* context_;
};

struct GuiDriver {
    FakeEngineLog log;
    NoScreen screen;
    NoTextures textures;
    std::string model, clipboard;
    std::unique_ptr<ChatController> chat;
    std::unique_ptr<gui::Gui> gui;
    gui::Input input;

    explicit GuiDriver(bool with_model = true, std::unique_ptr<Store> store = nullptr,
                       const std::string& state_dir = "") {
        model =
            (std::filesystem::temp_directory_path() / fmt::format("hearth-gui-{}.gguf", ::getpid()))
                .string();
        if (!std::filesystem::exists(model)) write_tiny_model(model, {});
        ChatSetup setup;
        setup.store = store ? std::move(store) : *Store::in_memory();
        setup.model_card = [](const std::string&) {
            return Result<inspect::ModelCard>(inspect::ModelCard());
        };
        setup.make_engine = [this](const EngineOptions&, std::function<void()>) {
            return Result<std::unique_ptr<Engine>>(std::make_unique<FakeEngine>(log));
        };
        chat = std::make_unique<ChatController>(std::move(setup));
        if (with_model) REQUIRE(chat->set_model(model));
        gui = std::make_unique<gui::Gui>(*chat, textures, state_dir);
        gui->ui().set_clipboard = [this](const std::string& text) { clipboard = text; };
        gui->ui().clipboard = [this] { return clipboard; };
        input.size = ImVec2(1200, 800);
        frames(3);
    }

    /// One frame with what is in `input`; edges and keys are gone afterwards.
    void frame() {
        chat->pump(0);
        input.now_s += 1.0 / 60;
        gui->frame(screen.begin(input.size), input);
        screen.end();
        gui->finish_frame();
        input.keys.clear();
        input.dropped.clear();
        input.wheel = ImVec2(0, 0);
        input.pressed = input.released = false;
    }
    void frames(int n) {
        for (int i = 0; i < n; ++i) frame();
    }

    void type(const std::u32string& text) {
        for (const char32_t c : text) {
            gui::KeyIn in;
            in.character = c;
            input.keys.push_back(in);
        }
        frames(2);
    }
    void press(gui::Key key, gui::Mods mods = {}) {
        gui::KeyIn in;
        in.key = key;
        in.mods = mods;
        input.keys.push_back(in);
        frames(2);
    }
    void ctrl(gui::Key key) { press(key, {false, true, false}); }

    void click_at(ImVec2 at, int clicks = 1) {
        input.mouse = at;
        frame();
        input.down = input.pressed = true;
        input.clicks = clicks;
        frame();
        input.down = false;
        input.released = true;
        frames(2);
    }
    const gui::Ui::Label* find(const std::string& text, bool buttons_only = false) const {
        for (const gui::Ui::Label& label : gui->ui().labels()) {
            if (label.text == text && (!buttons_only || label.is_button)) return &label;
        }
        return nullptr;
    }
    bool shows(const std::string& part) const {
        return std::any_of(
            gui->ui().labels().begin(), gui->ui().labels().end(),
            [&](const gui::Ui::Label& l) { return l.text.find(part) != std::string::npos; });
    }
    void click(const std::string& button) {
        const gui::Ui::Label* label = find(button, true);
        INFO("button " << button);
        REQUIRE(label != nullptr);
        click_at(ImVec2(label->rect.x + label->rect.w / 2, label->rect.y + label->rect.h / 2));
    }

    const ViewState& view() const { return chat->view(); }
    std::string draft() const { return gui->composer.box.buffer.text(); }
    void emit(Event event) { log.events.push_back(std::move(event)); }
    void stream(const std::string& text) {
        emit(event::Text{log.requests.size(), text, {1}});
        frames(2);
    }
    void answer(const std::string& text) {
        stream(text);
        Stats stats;
        stats.completion_tokens = 20;
        stats.decode_ms = 1000;
        stats.prompt_tokens = 40;
        stats.cached_tokens = 30;
        stats.first_token_ms = 210;
        stats.context_tokens = 8192;
        stats.context_used = 60;
        stats.backend = "cpu avx2, 2 threads";
        emit(event::Done{log.requests.size(), FinishReason::stop, stats, "hash"});
        frames(3);
    }
    /// A question and its answer.
    void turn(const std::u32string& question, const std::string& answer_text) {
        type(question);
        press(gui::Key::enter);
        answer(answer_text);
    }
};

}  // namespace hearth::test
