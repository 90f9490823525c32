#include "engine/speculate/speculator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "engine/base/log.h"

namespace hearth {

namespace {

using SteadyClock = std::chrono::steady_clock;

double ms_since(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

}  // namespace

Speculator::Speculator(int n_tokens, std::function<bool(std::int32_t)> ends)
    : n_tokens_(n_tokens),
      ends_(std::move(ends)) {}

void Speculator::add(std::unique_ptr<Drafter> drafter, std::string model_path) {
    usual_.emplace(static_cast<int>(entries_.size()), Control(*drafter));
    entries_.push_back({std::move(drafter), std::move(model_path)});
}

void Speculator::remove_models() {
    while (!entries_.empty() && entries_.back().is_model()) {
        const int index = static_cast<int>(entries_.size()) - 1;
        usual_.erase(index);
        for (auto& [conversation, talk] : talks_) talk.controls.erase(index);
        entries_.pop_back();
    }
}

Control& Speculator::control(const std::string& conversation, int drafter) {
    if (talks_.size() >= kMostTalks && talks_.count(conversation) == 0) {
        talks_.erase(std::min_element(talks_.begin(), talks_.end(), [](auto& a, auto& b) {
            return a.second.last_use < b.second.last_use;
        }));
    }
    Talk& talk = talks_[conversation];
    talk.last_use = ++uses_;
    return talk.controls.emplace(drafter, usual_.at(drafter)).first->second;
}

/// Ids that the target never chooses, and what follows an end: nothing there can be accepted.
void Speculator::cut_impossible(Draft& d) const {
    const auto bad = std::find_if(d.ids.begin(), d.ids.end(), [&](std::int32_t id) {
        return id < 0 || id >= n_tokens_ || ends_(id);
    });
    const auto n = static_cast<int>(bad - d.ids.begin());
    d.resize(std::min(n, static_cast<int>(d.bins.size())));
}

void Speculator::give_up(Entry& entry, const std::exception& e) {
    entry.given_up = true;
    notes_.push_back(fmt::format("drafting by {} ended ({}); the answer goes on without it",
                                 entry.drafter->name(), e.what()));
    log(LogLevel::warning, notes_.back());
}

Draft Speculator::ask_one(int index, const DraftAsk& ask) {
    Entry& entry = entries_[static_cast<std::size_t>(index)];
    Draft d;
    try {
        d = entry.drafter->propose(ask);
    } catch (const std::exception& e) {
        give_up(entry, e);
        return {};
    }
    cut_impossible(d);
    const int n_bins = entry.drafter->n_bins();
    for (std::uint8_t& bin : d.bins)
        bin = static_cast<std::uint8_t>(std::min<int>(bin, n_bins - 1));
    if (d.size() > ask.most_tokens) d.resize(ask.most_tokens);
    d.drafter = index;
    return d;
}

int Speculator::n_to_read(Entry& entry, const DraftAsk& ask) {
    if (!entry.is_model()) return 0;
    try {
        return entry.drafter->n_to_read(ask);
    } catch (const std::exception& e) {
        give_up(entry, e);
        return 0;
    }
}

bool Speculator::wanted(const Entry& entry, const DraftChoice& choice) const {
    if (entry.given_up) return false;
    return entry.is_model() ? entry.model_path == choice.model_path : choice.lookup;
}

Draft Speculator::draft_with(int index, SpeculationTurn& turn, DraftAsk& ask, const StepState& s) {
    Entry& entry = entries_[static_cast<std::size_t>(index)];
    const bool fixed = turn.choice.fixed_tokens > 0;
    Control& c = control(ask.conversation, index);
    const auto start = SteadyClock::now();
    const bool may_ask = fixed || c.may_ask(s, n_to_read(entry, ask), turn.n_left);
    if (!may_ask || entry.given_up) {
        turn.spent_ms += ms_since(start);
        return {};
    }
    ask.go_on = [&](const Draft& d) { return fixed || c.go_on(d, s); };
    Draft d = ask_one(index, ask);
    const double ms = ms_since(start);
    turn.spent_ms += ms;
    if (!entry.is_model()) {
        if (!fixed) d.resize(c.choose(d, s, 0));
        return d;
    }
    const double drafting_ms = turn.drafting_ms = std::max(0.0, ms - d.read_ms);
    for (Control* each : {&c, &usual_.at(index)}) {
        if (d.n_read > 0) each->read(d.n_read, d.read_ms);
        if (d.size() > 0) each->drafted(d.size(), drafting_ms);
    }
    if (!fixed) d.resize(c.choose(d, s, drafting_ms));
    if (d.size() == 0 && !d.reads_on) {
        for (Control* each : {&c, &usual_.at(index)}) each->wasted(s, drafting_ms);
    }
    return d;
}

Draft Speculator::propose(SpeculationTurn& turn, DraftAsk ask, int n_sequences, int n_rows) {
    turn.spent_ms = turn.drafting_ms = 0;
    turn.n_left = ask.most_tokens;
    ask.most_tokens = std::min(ask.most_tokens, StepTimes::kMostRows - n_rows);
    if (ask.most_tokens < 1) return {};
    const int fixed = turn.choice.fixed_tokens;
    if (fixed > 0) ask.most_tokens = std::min(ask.most_tokens, fixed);
    // Without the plain time nothing can be weighed; long ago measured, it may be another.
    if (fixed == 0 && (!times_.knows(n_sequences) || since_plain_ >= kPlainEvery)) return {};
    const StepState s{times_, n_sequences, n_rows};
    for (int i = 0; i < static_cast<int>(entries_.size()); ++i) {
        if (!wanted(entries_[static_cast<std::size_t>(i)], turn.choice)) continue;
        Draft d = draft_with(i, turn, ask, s);
        if (d.size() > 0) return d;
    }
    return {};
}

void Speculator::ran(int n_rows, double ms) {
    if (n_rows <= StepTimes::kMostRows) times_.measured(n_rows, ms);
}

void Speculator::verified(SpeculationTurn& turn, const std::string& conversation, const Draft& d,
                          int n_accepted, int n_seen, int n_sequences, int n_rows, double step_ms) {
    const double actual = step_ms + std::exchange(turn.spent_ms, 0);
    turn.actual_ms += actual;
    since_plain_ = n_rows == n_sequences ? 0 : since_plain_ + 1;
    turn.stats.draft_ms += actual - step_ms;
    if (d.size() == 0) {
        turn.plain_ms += step_ms;
        for (auto& [index, c] : usual_) c.plain();
        const auto talk = talks_.find(conversation);
        if (talk == talks_.end()) return;
        for (auto& [index, c] : talk->second.controls) c.plain();
        return;
    }
    turn.plain_ms += (1 + n_accepted) * times_.ms(n_sequences);
    ++turn.stats.steps;
    turn.stats.drafted += d.size();
    turn.stats.accepted += n_accepted;
    turn.steps_by_drafter.resize(entries_.size());
    ++turn.steps_by_drafter[static_cast<std::size_t>(d.drafter)];
    const bool is_model = entries_[static_cast<std::size_t>(d.drafter)].is_model();
    const StepState before{times_, n_sequences, n_rows - d.size()};
    for (Control* c : {&control(conversation, d.drafter), &usual_.at(d.drafter)}) {
        c->verified(d, n_accepted, n_seen, before, is_model ? turn.drafting_ms : 0);
    }
}

SpeculationStats Speculator::finish(const SpeculationTurn& turn, const std::string& conversation,
                                    std::span<const std::int32_t> answer) {
    SpeculationStats stats = turn.stats;
    for (std::size_t i = 0; i < entries_.size() && i < turn.steps_by_drafter.size(); ++i) {
        if (turn.steps_by_drafter[i] == 0) continue;
        stats.drafter +=
            (stats.drafter.empty() ? "" : " + ") + std::string(entries_[i].drafter->name());
    }
    stats.speedup = turn.actual_ms > 0 ? turn.plain_ms / turn.actual_ms : 1;
    for (Entry& entry : entries_) {
        entry.drafter->answered(conversation, answer);
    }
    return stats;
}

void Speculator::drop(const std::string& conversation) {
    for (Entry& entry : entries_) entry.drafter->answered(conversation, {});
}

void Speculator::forget(const std::string& conversation) {
    talks_.erase(conversation);
    for (Entry& entry : entries_) entry.drafter->forget(conversation);
}

Drafter::Memory Speculator::memory() const {
    Drafter::Memory total;
    for (const Entry& entry : entries_) {
        const Drafter::Memory m = entry.drafter->memory();
        total.weight_bytes += m.weight_bytes;
        total.kv_bytes += m.kv_bytes;
        total.pages_in_use += m.pages_in_use;
    }
    return total;
}

std::string Speculator::check_idle() const {
    for (const Entry& entry : entries_) {
        if (std::string wrong = entry.drafter->check_idle(); !wrong.empty()) {
            return fmt::format("{}: {}", entry.drafter->name(), wrong);
        }
    }
    return {};
}

}  // namespace hearth
