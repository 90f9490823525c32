// hearth_gui_bench: a chat of 10,000 messages in a real window: time to open, frame times while a
// scripted engine streams and the wheel turns. Needs a display (Xvfb serves); not a test.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

#include "app/gui/gui.h"
#include "app/gui/window.h"

namespace {

using namespace hearth;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Streams words at 50 a second until it is cancelled.
class ScriptedEngine : public Engine {
  public:
    explicit ScriptedEngine(std::function<void()> wake) : wake_(std::move(wake)) {}
    ~ScriptedEngine() override { stop(); }
    RequestId submit(Request) override {
        stop();
        on_ = true;
        thread_ = std::thread([this] {
            for (int i = 0; on_; ++i) {
                const std::lock_guard lock(mutex_);
                const char* end = i % 40 == 39 ? ".\n\n" : " ";
                events_.push_back(event::Text{1, "word" + std::to_string(i) + end, {i}});
                wake_();
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
        });
        return 1;
    }
    void cancel(RequestId) override {
        stop();
        const std::lock_guard lock(mutex_);
        events_.push_back(event::Done{1, FinishReason::stopped, Stats{}, ""});
    }
    std::vector<Event> poll() override {
        const std::lock_guard lock(mutex_);
        return std::exchange(events_, {});
    }
    bool wait(int) override { return true; }
    void forget(const std::string&) override {}
    Memory memory() const override { return {}; }

  private:
    void stop() {
        on_ = false;
        if (thread_.joinable()) thread_.join();
    }
    std::function<void()> wake_;
    std::atomic<bool> on_{false};
    std::thread thread_;
    std::mutex mutex_;
    std::vector<Event> events_;
};

ConversationId fill(Store& store, int n) {
    const ConversationId id = *store.create("m");
    MessageId parent = 0;
    for (int i = 0; i < n; ++i) {
        StoredMessage m;
        m.parent = parent;
        m.role = i % 2 == 0 ? "user" : "assistant";
        m.content = "Message " + std::to_string(i) + ".";
        for (int k = 0; k < i * 7 % 90; ++k) m.content += " some **words** of it";
        if (i % 10 == 9) m.content += "\n\n```cpp\nint x = " + std::to_string(i) + ";\n```\n";
        parent = *store.append(id, m);
    }
    return id;
}

}  // namespace

int main(int argc, char** argv) {
    const ParsedOptions parsed = parse_options({"window", "--no-log"}, process_environment);
    if (argc < 2) {
        std::fputs("usage: hearth_gui_bench MODEL.gguf   (the file is not computed with)\n",
                   stderr);
        return 2;
    }
    ChatSetup setup;
    setup.store = *Store::in_memory();
    const ConversationId id = fill(*setup.store, 10000);
    setup.make_engine = [](const EngineOptions&, std::function<void()> wake) {
        return Result<std::unique_ptr<Engine>>(std::make_unique<ScriptedEngine>(std::move(wake)));
    };
    ChatController chat(std::move(setup));
    if (auto model = chat.set_model(argv[1]); !model)
        return std::puts(model.error().what.c_str()), 1;
    std::vector<gui::FrameTime> streaming, scrolling;
    double open_ms = 0;
    int frame = 0;
    Clock::time_point begin;
    const auto probe = [&](gui::Gui& gui, const gui::FrameTime& time) {
        ++frame;
        gui.ui().frame_at(0);
        if (frame == 5) {
            begin = Clock::now();
            gui.open_chat(id);
        } else if (frame == 6) {
            open_ms = ms_since(begin);
        } else if (frame == 10) {
            gui.composer.box.buffer.insert("go on");
            gui.send();
        } else if (frame > 20 && frame <= 320) {
            streaming.push_back(time);
        } else if (frame > 320) {
            gui.transcript.scroll_by(frame % 200 < 100 ? -400.0f : 300.0f);
            scrolling.push_back(time);
        }
        return frame < 620;
    };
    const Result<int> code = gui::run_window(chat, parsed.options, probe);
    if (!code) return std::fprintf(stderr, "%s\n", code.error().what.c_str()), 1;
    const auto report = [](const char* name, const std::vector<gui::FrameTime>& times) {
        const auto line = [&](const char* part, auto value) {
            std::vector<double> ms;
            for (const gui::FrameTime& time : times) ms.push_back(value(time));
            std::sort(ms.begin(), ms.end());
            const std::size_t n = ms.size();
            std::printf("%-24s %-9s median %6.2f ms   p99 %6.2f ms   longest %6.2f ms\n", name,
                        part, ms[n / 2], ms[n * 99 / 100], ms[n - 1]);
        };
        using gui::FrameTime;
        line("whole", [](const FrameTime& t) { return t.whole_ms(); });
        line("panels", [](const FrameTime& t) { return t.panels_ms; });
        line("render", [](const FrameTime& t) { return t.render_ms; });
        line("processor", [](const FrameTime& t) { return t.cpu_ms; });
        line("swap", [](const FrameTime& t) { return t.swap_ms; });
        std::printf("%-24s %d draw calls, %d vertices in the last of %zu frames\n", name,
                    times.back().draw_calls, times.back().vertices, times.size());
    };
    std::printf("open a chat of 10,000 messages   %.1f ms\n", open_ms);
    report("streaming at the end", streaming);
    report("streaming and scrolling", scrolling);
    return 0;
}
