#pragma once
// EngineClient: an Engine as a front end sees it: submits, collects events by request, waits.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "tests/support/tiny_model.h"

namespace hearth::test {

/// Everything that came for one request.
struct Answer {
    std::vector<std::string> kinds;  ///< names of the events, in order
    std::string text, tokenizer_hash;
    std::vector<std::int32_t> ids;
    std::vector<event::Prefill> prefills;
    event::LeftOut left_out{};
    std::vector<std::string> reasons, notes;  ///< of Queued, of Loaded
    bool done = false, failed = false;
    FinishReason reason = FinishReason::error;
    Stats stats;
    Error error;
    bool ended() const { return done || failed; }
};

class EngineClient {
  public:
    explicit EngineClient(EngineOptions options = {}) {
        options.self_check = true;
        auto made = Engine::make_local(std::move(options));
        if (!made) FAIL(made.error().what);
        engine_ = std::move(*made);
    }

    Engine& engine() { return *engine_; }
    RequestId submit(Request r) { return engine_->submit(std::move(r)); }

    /// Until `ready` is true; fails after a minute.
    void pump_until(const std::function<bool()>& ready) {
        const auto start = std::chrono::steady_clock::now();
        while (!ready()) {
            if (engine_->wait(20)) pump();
            if (std::chrono::steady_clock::now() - start > std::chrono::seconds(120)) {
                FAIL("the engine did not answer within two minutes");
            }
        }
    }
    Answer& wait_for(RequestId id) {
        pump_until([&] { return answers[id].ended(); });
        return answers[id];
    }
    Answer& run(Request r) { return wait_for(submit(std::move(r))); }
    void pump() {
        for (Event& e : engine_->poll()) {
            std::visit([this](auto& x) { take(x); }, e);
        }
    }

    std::map<RequestId, Answer> answers;
    std::vector<std::string> unloaded;
    std::vector<std::string> notes;  ///< of no request
    std::vector<RequestId> ended;    ///< in order

  private:
    void take(event::Queued& e) {
        answers[e.id].kinds.push_back("queued");
        answers[e.id].reasons.push_back(e.reason);
    }
    void take(event::Loading& e) { answers[e.id].kinds.push_back("loading"); }
    void take(event::Loaded& e) {
        answers[e.id].kinds.push_back("loaded");
        answers[e.id].notes = e.notes;
    }
    void take(event::LeftOut& e) {
        answers[e.id].kinds.push_back("left out");
        answers[e.id].left_out = e;
    }
    void take(event::Prefill& e) {
        answers[e.id].kinds.push_back("prefill");
        answers[e.id].prefills.push_back(e);
    }
    void take(event::Text& e) {
        Answer& a = answers[e.id];
        CHECK_FALSE(a.ended());
        a.kinds.push_back("text");
        a.text += e.text;
        a.ids.insert(a.ids.end(), e.token_ids.begin(), e.token_ids.end());
    }
    void take(event::Done& e) {
        Answer& a = answers[e.id];
        CHECK_FALSE(a.ended());
        a.kinds.push_back("done");
        a.done = true;
        a.reason = e.reason;
        a.stats = e.stats;
        a.tokenizer_hash = e.tokenizer_hash;
        ended.push_back(e.id);
    }
    void take(event::Failed& e) {
        Answer& a = answers[e.id];
        CHECK_FALSE(a.ended());
        a.kinds.push_back("failed");
        a.failed = true;
        a.error = e.error;
        ended.push_back(e.id);
    }
    void take(event::Unloaded& e) { unloaded.push_back(e.model_path); }
    void take(event::Note& e) { notes.push_back(e.text); }

    std::unique_ptr<Engine> engine_;
};

/// Path of a tiny model, written once per run, whichever threads ask.
inline const std::string& tiny_path(const std::string& name = "tiny", const TinyOptions& o = {}) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    static std::map<std::string, std::string> written;
    static const std::string folder = temporary_folder("engine");
    auto it = written.find(name);
    if (it == written.end()) {
        it = written.emplace(name, write_tiny_model(folder + "/" + name + ".gguf", o)).first;
    }
    return it->second;
}

/// Ids that every tiny vocabulary has, of no control token.
inline std::vector<std::int32_t> tiny_ids(int n, int salt = 0) {
    std::vector<std::int32_t> ids;
    for (int i = 0; i < n; ++i) ids.push_back(10 + (i * 37 + salt * 101 + i * i % 11) % 250);
    return ids;
}

/// A greedy request of raw ids that does not end by itself before max_tokens.
inline Request raw_request(std::string conversation, std::vector<std::int32_t> ids,
                           int max_tokens = 20) {
    Request r;
    r.conversation = std::move(conversation);
    r.model_path = tiny_path();
    r.raw_ids = std::move(ids);
    r.sampling.temperature = 0;
    r.sampling.max_tokens = max_tokens;
    r.sampling.ignore_eos = true;
    r.want_logits_hash = true;
    return r;
}

}  // namespace hearth::test
