#pragma once
// An engine that does what a test tells it: requests are kept, events are queued by the test.

#include <deque>
#include <utility>
#include <vector>

#include "app/chat_controller.h"

namespace hearth::test {

/// What the test sees after the controller has taken the engine away.
struct FakeEngineLog {
    std::vector<Request> requests;
    std::vector<RequestId> cancelled;
    std::vector<EngineOptions> made_with;
    std::deque<Event> events;
    std::function<void(const Request&)> on_submit;  ///< called inside submit
    bool ends_cancelled = true;                     ///< cancel queues Done{stopped}
};

class FakeEngine : public Engine {
  public:
    explicit FakeEngine(FakeEngineLog& log) : log_(log) {}
    RequestId submit(Request request) override {
        if (log_.on_submit) log_.on_submit(request);
        log_.requests.push_back(std::move(request));
        return log_.requests.size();
    }
    void cancel(RequestId id) override {
        log_.cancelled.push_back(id);
        if (log_.ends_cancelled) {
            log_.events.push_back(event::Done{id, FinishReason::stopped, Stats{}, "hash"});
        }
    }
    std::vector<Event> poll() override {
        std::vector<Event> events(log_.events.begin(), log_.events.end());
        log_.events.clear();
        return events;
    }
    bool wait(int) override { return !log_.events.empty(); }
    void forget(const std::string&) override {}
    Memory memory() const override { return {}; }

  private:
    FakeEngineLog& log_;
};

}  // namespace hearth::test
