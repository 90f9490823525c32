#pragma once
// LocalEngine: the Engine that computes in this process. Owns the engine thread, the queue of
// requests that wait, and who is resident; the worker runs them. A loader thread reads a model
// while the engine thread goes on answering commands.

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "engine/base/mailbox.h"
#include "engine/engine.h"
#include "engine/generate/worker.h"

namespace hearth {

class LocalEngine final : public Engine {
  public:
    LocalEngine(EngineOptions options, std::unique_ptr<Backend> backend,
                std::function<void()> wake);
    ~LocalEngine() override;

    RequestId submit(Request request) override;
    void cancel(RequestId id) override;
    std::vector<Event> poll() override;
    bool wait(int timeout_ms) override;
    void forget(const std::string& conversation) override;
    Memory memory() const override;

  private:
    struct Cancel {
        RequestId id;
    };
    struct Forget {
        std::string conversation;
    };
    struct Refuse {  ///< too many requests wait
        RequestId id;
    };
    struct LoadEnded {
        Result<std::unique_ptr<Resident>> resident;
    };
    struct DraftLoadEnded {
        std::string path;
        Result<std::unique_ptr<ModelDrafter>> drafter;
    };
    struct LoadProgress {  ///< of the copy onto a card
        int percent;
    };
    struct DiskNews {};  ///< the writer has room, or something to tell
    struct Quit {};
    using Command = std::variant<Ticket, Cancel, Forget, Refuse, LoadProgress, LoadEnded,
                                 DraftLoadEnded, DiskNews, Quit>;
    struct Handle;  ///< one overload per command

    // The engine thread.
    void run();
    void turn();
    void wait_for_command();
    void admit();
    bool is_resident(const std::string& path) const;
    void start(Ticket ticket);
    void begin_load();
    bool tell_load_progress(std::int64_t done, std::int64_t total, int& told);
    void end_load(Result<std::unique_ptr<Resident>> resident);
    bool lacks_draft(const Request& request) const;
    void begin_draft_load(const Ticket& ticket);
    void end_draft_load(DraftLoadEnded& ended);
    void tell_queued(Ticket& ticket, int ahead, std::string reason);
    void tell_all_queued();
    std::string why_queued(std::size_t index) const;
    void unload();
    void cancel_queued(RequestId id);
    void forget_now(const std::string& conversation);
    void fail_everything(const Error& error);
    void emit(Event e);
    void publish();

    const EngineOptions options_;
    const std::function<void()> wake_;
    std::unique_ptr<Backend> backend_;
    Worker worker_;
    std::deque<Ticket> queue_;              ///< in order of arrival
    std::deque<Command> commands_;          ///< drained, not handled yet
    std::optional<RequestId> loading_for_;  ///< set while a model is being read
    std::string loading_path_;
    bool told_loaded_ = true;  ///< the Loaded event of the resident model is out
    Clock::time_point last_activity_ = Clock::now();
    bool quit_ = false;

    // Shared with the callers.
    Mailbox<Command> inbox_;
    Mailbox<Event> outbox_;
    std::atomic<bool> interrupt_{false};  ///< the running step is given up: commands wait
    std::atomic<bool> quitting_{false};   ///< a load is given up
    std::atomic<RequestId> next_id_{1};
    mutable std::mutex mutex_;
    std::set<RequestId> live_;  ///< submitted and not ended
    Memory memory_;

    std::jthread loader_;
    std::jthread thread_;  ///< last: everything is there before it starts
};

}  // namespace hearth
