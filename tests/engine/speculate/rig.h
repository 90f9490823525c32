#pragma once
// A worker with one tiny model and drafters of the test's choice, stepped by hand: no thread, so
// every run is the same.

#include <algorithm>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/generate/setup.h"
#include "engine/generate/worker.h"
#include "engine/speculate/lookup.h"
#include "tests/engine/engine_client.h"

namespace hearth::test {

using Ids = std::vector<std::int32_t>;

/// Calls `propose_` and otherwise does nothing.
class FakeDrafter final : public Drafter {
  public:
    using Propose = std::function<Draft(const DraftAsk&)>;
    explicit FakeDrafter(Propose propose, double cost = 0)
        : propose_(std::move(propose)),
          cost_(cost) {}
    const char* name() const override { return "fake"; }
    int n_bins() const override { return 2; }
    double expected_acceptance(int bin) const override { return bin == 0 ? 0.3 : 0.8; }
    double expected_cost() const override { return cost_; }
    Draft propose(const DraftAsk& ask) override { return propose_(ask); }

  private:
    Propose propose_;
    double cost_;
};

inline Draft draft_of(Ids ids) {
    Draft d;
    d.bins.assign(ids.size(), 1);
    d.ids = std::move(ids);
    return d;
}

/// Proposes what follows `history` in `text`, spoiled by `spoil(id, index)`.
template <typename Spoil>
Draft follow_text(const DraftAsk& ask, const Ids& text, Spoil spoil) {
    Ids ids;
    for (std::size_t i = ask.history.size();
         i < text.size() && static_cast<int>(ids.size()) < ask.most_tokens; ++i) {
        ids.push_back(spoil(text[i], static_cast<int>(i)));
    }
    return draft_of(std::move(ids));
}

class Rig {
  public:
    explicit Rig(std::string path = tiny_path(), EngineOptions options = one_thread())
        : path_(std::move(path)),
          options_(std::move(options)) {
        backend_ = make_backend(options_).value();
        worker_ = std::make_unique<Worker>(*backend_, [this](Event e) { events_.push_back(e); });
        auto resident = Resident::load(path_, options_, *backend_);
        if (!resident) FAIL(resident.error().what);
        worker_->install(std::move(*resident));
    }
    static EngineOptions one_thread() {
        EngineOptions o;
        o.n_threads = 1;
        return o;
    }

    Worker& worker() { return *worker_; }
    Backend& backend() { return *backend_; }
    Resident& resident() { return const_cast<Resident&>(*worker_->resident()); }
    /// Only these draft from now on; what was learned is forgotten.
    void set_drafter(std::unique_ptr<Drafter> drafter, bool is_model = false) {
        const Tokenizer& t = *resident().model->tokenizer;
        resident().speculator = std::make_unique<Speculator>(
            t.vocab_size(), [&t](std::int32_t id) { return t.is_eog(id); });
        if (drafter) resident().speculator->add(std::move(drafter), is_model ? "any" : "");
    }

    RequestId start(Request request) {
        Ticket ticket;
        ticket.id = ++last_id_;
        ticket.request = std::move(request);
        ticket.request.model_path = path_;
        ticket.submitted = Clock::now();
        worker_->start(std::move(ticket));
        return last_id_;
    }
    void step() {
        const std::atomic<bool> stop{false};
        worker_->step(stop);
    }
    Answer take(RequestId id) {
        Answer a;
        for (const Event& e : events_) {
            if (const auto* text = std::get_if<event::Text>(&e); text && text->id == id) {
                a.text += text->text;
                a.ids.insert(a.ids.end(), text->token_ids.begin(), text->token_ids.end());
            }
            if (const auto* done = std::get_if<event::Done>(&e); done && done->id == id) {
                a.done = true;
                a.reason = done->reason;
                a.stats = done->stats;
            }
            if (const auto* failed = std::get_if<event::Failed>(&e); failed && failed->id == id) {
                a.failed = true;
                a.error = failed->error;
            }
        }
        return a;
    }
    Answer run(Request request) {
        events_.clear();
        const RequestId id = start(std::move(request));
        while (worker_->n_jobs() > 0) step();
        return take(id);
    }
    int pages() { return worker_->memory().pages_in_use; }

  private:
    std::string path_;
    EngineOptions options_;
    std::unique_ptr<Backend> backend_;
    std::vector<Event> events_;
    std::unique_ptr<Worker> worker_;
    RequestId last_id_ = 0;
};

inline void check_same(const Answer& a, const Answer& b) {
    REQUIRE(a.done);
    REQUIRE(b.done);
    CHECK(a.ids == b.ids);
    CHECK(a.text == b.text);
    CHECK(a.reason == b.reason);
    CHECK(a.stats.completion_tokens == b.stats.completion_tokens);
    CHECK(a.stats.context_used == b.stats.context_used);
    CHECK(a.stats.logits_hash.size() == 32);
    CHECK(a.stats.logits_hash == b.stats.logits_hash);
}

/// No drafts at all.
inline Request plain(Request r) {
    r.draft = {};
    r.draft.lookup = false;
    return r;
}
inline Request with_drafts(Request r, int fixed_tokens) {
    r.draft = {};
    r.draft.model_path = "any";  // tests put their own drafters in
    r.draft.fixed_tokens = fixed_tokens;
    return r;
}

}  // namespace hearth::test
