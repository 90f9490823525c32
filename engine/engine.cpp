// The engine thread: drain commands, admit what may run, step, emit events.

#include "engine/engine.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/base/log.h"
#include "engine/cache_files.h"
#include "engine/generate/setup.h"
#include "engine/local_engine.h"

namespace hearth {

namespace {

constexpr std::size_t kMostRequests = 4096;       ///< waiting and running
constexpr std::size_t kEventsBeforeMerge = 1024;  ///< a caller that never polls costs no more

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Folds `e` into the event that waits, when both are news of the same kind of one request.
bool merge_events(Event& waiting, Event& e) {
    if (waiting.index() != e.index()) return false;
    if (auto* text = std::get_if<event::Text>(&waiting)) {
        auto& more = std::get<event::Text>(e);
        if (text->id != more.id) return false;
        text->text += more.text;
        text->token_ids.insert(text->token_ids.end(), more.token_ids.begin(), more.token_ids.end());
        return true;
    }
    if (auto* progress = std::get_if<event::Prefill>(&waiting)) {
        if (progress->id != std::get<event::Prefill>(e).id) return false;
        *progress = std::get<event::Prefill>(e);
        return true;
    }
    if (auto* loading = std::get_if<event::Loading>(&waiting)) {
        auto& more = std::get<event::Loading>(e);
        // The first one is news of its own kind.
        if (loading->id != more.id || loading->percent == 0 || more.percent == 0) return false;
        *loading = std::move(more);
        return true;
    }
    if (auto* queued = std::get_if<event::Queued>(&waiting)) {
        if (queued->id != std::get<event::Queued>(e).id) return false;
        *queued = std::move(std::get<event::Queued>(e));
        return true;
    }
    return false;
}

/// The request that ends with this event; 0 when none does.
RequestId ended_by(const Event& e) {
    if (const auto* done = std::get_if<event::Done>(&e)) return done->id;
    if (const auto* failed = std::get_if<event::Failed>(&e)) return failed->id;
    return 0;
}

Error describe(const std::exception& e) {
    if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) {
        return {Errc::out_of_memory,
                "there is not enough memory for this; close other programs, or use a smaller model "
                "or context"};
    }
    return {Errc::failed, fmt::format("the engine stopped on an unexpected error: {}", e.what())};
}

}  // namespace

double Stats::prefill_tok_s() const {
    return prefill_ms > 0 ? (prompt_tokens - cached_tokens) * 1000.0 / prefill_ms : 0;
}
double Stats::decode_tok_s() const {
    return decode_ms > 0 ? std::max(0, completion_tokens - 1) * 1000.0 / decode_ms : 0;
}

const char* finish_reason_name(FinishReason r) {
    switch (r) {
        case FinishReason::stop:
            return "stop";
        case FinishReason::length:
            return "length";
        case FinishReason::stopped:
            return "stopped";
        case FinishReason::error:
            return "error";
    }
    return "?";
}

Result<std::unique_ptr<Engine>> Engine::make_local(EngineOptions options,
                                                   std::function<void()> wake) {
    HEARTH_TRY_VOID(check_options(options));
    HEARTH_TRY(auto backend, make_backend(options));
    return std::make_unique<LocalEngine>(std::move(options), std::move(backend), std::move(wake));
}

// --- called from any thread ----------------------------------------------------------------------

LocalEngine::LocalEngine(EngineOptions options, std::unique_ptr<Backend> backend,
                         std::function<void()> wake)
    : options_(std::move(options)),
      wake_(std::move(wake)),
      backend_(std::move(backend)),
      worker_(*backend_, [this](Event e) { emit(std::move(e)); }),
      inbox_(kMostRequests),
      outbox_(kEventsBeforeMerge),
      thread_([this] { run(); }) {}

LocalEngine::~LocalEngine() {
    quitting_ = true;
    inbox_.push_always(Quit{});
    interrupt_ = true;
    thread_.join();
}

RequestId LocalEngine::submit(Request request) {
    Ticket ticket;
    ticket.id = next_id_++;
    ticket.request = std::move(request);
    ticket.submitted = Clock::now();
    const RequestId id = ticket.id;
    bool accepted = false;
    {
        const std::lock_guard lock(mutex_);
        accepted = live_.size() < kMostRequests;
        live_.insert(id);
        memory_.busy = true;
    }
    if (accepted)
        inbox_.push_always(std::move(ticket));
    else
        inbox_.push_always(Refuse{id});
    return id;
}

void LocalEngine::cancel(RequestId id) {
    {
        const std::lock_guard lock(mutex_);
        if (live_.count(id) == 0) return;
    }
    inbox_.push_always(Cancel{id});
    interrupt_ = true;  // after the push: the thread clears it before it drains
}

std::vector<Event> LocalEngine::poll() { return outbox_.drain(); }

bool LocalEngine::wait(int timeout_ms) {
    return outbox_.wait_for(std::chrono::milliseconds(std::max(0, timeout_ms)));
}

void LocalEngine::forget(const std::string& conversation) {
    inbox_.push_always(Forget{conversation});
}

Engine::Memory LocalEngine::memory() const {
    const std::lock_guard lock(mutex_);
    return memory_;
}

// --- the engine thread ---------------------------------------------------------------------------

struct LocalEngine::Handle {
    LocalEngine& e;

    void operator()(Ticket& ticket) const { e.queue_.push_back(std::move(ticket)); }
    void operator()(const Cancel& c) const {
        if (!e.worker_.cancel(c.id)) e.cancel_queued(c.id);
    }
    void operator()(const Forget& f) const { e.forget_now(f.conversation); }
    void operator()(const Refuse& r) const {
        e.emit(event::Failed{
            r.id, Error{Errc::failed, fmt::format("{} requests wait already; try again when "
                                                  "some are answered",
                                                  kMostRequests)}});
    }
    void operator()(const LoadProgress& p) const {
        if (e.loading_for_) e.emit(event::Loading{*e.loading_for_, e.loading_path_, p.percent});
    }
    void operator()(DraftLoadEnded& d) const { e.end_draft_load(d); }
    void operator()(LoadEnded& l) const { e.end_load(std::move(l.resident)); }
    void operator()(const DiskNews&) const { e.worker_.tell_disk_news(); }
    void operator()(const Quit&) const { e.quit_ = true; }
};

void LocalEngine::run() {
    while (!quit_) {
        try {
            turn();
        } catch (const std::exception& e) {  // what libraries throw; ours throws nothing
            log(LogLevel::error, e.what());
            fail_everything(describe(e));
        }
    }
    while (worker_.n_jobs() > 0 || !queue_.empty()) {
        std::vector<RequestId> ids;
        {
            const std::lock_guard lock(mutex_);
            ids.assign(live_.begin(), live_.end());
        }
        for (const RequestId id : ids) {
            if (!worker_.cancel(id)) cancel_queued(id);
        }
    }
    if (loader_.joinable()) loader_.join();
    worker_.unload();  // while the inbox is there: the writer of the disk cache wakes us
}

void LocalEngine::turn() {
    // A request that waits while nothing runs or loads can start now: the last turn ended its wait.
    const bool can_admit = !queue_.empty() && !loading_for_;
    const bool can_work = worker_.n_jobs() > 0 || worker_.can_save();
    if (!can_work && commands_.empty() && !can_admit) wait_for_command();
    interrupt_ = false;
    for (Command& c : inbox_.drain()) {
        if (!std::holds_alternative<DiskNews>(c)) last_activity_ = Clock::now();
        commands_.push_back(std::move(c));
    }
    while (!commands_.empty()) {  // one that throws is gone, the others wait for the next turn
        Command c = std::move(commands_.front());
        commands_.pop_front();
        std::visit(Handle{*this}, c);
    }
    if (quit_) return;
    admit();
    if (worker_.n_jobs() > 0) {
        worker_.step(interrupt_);
        last_activity_ = Clock::now();
    }
    worker_.save_one();
    publish();
}

/// Sleeps until there is a command, or until the idle model has been kept long enough.
void LocalEngine::wait_for_command() {
    if (!worker_.resident() || options_.keep_alive_s < 0 || !queue_.empty()) return inbox_.wait();
    const auto kept =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_activity_);
    const auto rest = std::chrono::seconds(options_.keep_alive_s) - kept;
    if (rest.count() > 0 && inbox_.wait_for(std::max(rest, std::chrono::milliseconds(1)))) return;
    if (inbox_.wait_for(std::chrono::milliseconds(0))) return;
    if (Clock::now() - last_activity_ < std::chrono::seconds(options_.keep_alive_s)) return;
    unload();
    publish();
}

bool LocalEngine::is_resident(const std::string& path) const {
    const Resident* r = worker_.resident();
    // A file that changed under the mapping may not be read any more: it is loaded anew.
    return r != nullptr && r->path == path && r->model->file->is_unchanged();
}

/// Starts what may run now. Order of arrival holds between models, so that none waits for ever.
void LocalEngine::admit() {
    std::set<std::string> earlier;  // conversations with a request that still waits
    bool other_model = false;
    for (std::size_t i = 0; i < queue_.size() && !loading_for_;) {
        const Request& request = queue_[i].request;
        const bool here = is_resident(request.model_path);
        if (here && !other_model && worker_.n_jobs() < kMostSequences &&
            earlier.count(request.conversation) == 0 && !worker_.is_running(request.conversation)) {
            if (lacks_draft(request)) {
                begin_draft_load(queue_[i]);
                break;
            }
            Ticket ticket = std::move(queue_[i]);
            queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
            start(std::move(ticket));
            continue;
        }
        if (!here && i == 0 && worker_.n_jobs() == 0) {
            begin_load();
            break;
        }
        other_model = other_model || !here;
        earlier.insert(request.conversation);
        ++i;
    }
    tell_all_queued();
}

void LocalEngine::start(Ticket ticket) {
    if (!std::exchange(told_loaded_, true)) {
        const Resident& r = *worker_.resident();
        emit(event::Loaded{ticket.id, r.model->config.name, r.load_ms, r.notes});
    }
    worker_.start(std::move(ticket));
}

void LocalEngine::begin_load() {
    if (worker_.resident()) unload();
    loading_for_ = queue_.front().id;
    loading_path_ = queue_.front().request.model_path;
    emit(event::Loading{*loading_for_, loading_path_});
    if (loader_.joinable()) loader_.join();
    loader_ = std::jthread([this, path = loading_path_] {
        LoadEnded ended{tl::unexpected<Error>(Error{})};
        try {
            ended.resident = Resident::load(path, options_, *backend_,
                                            [&, told = 0](auto done, auto total) mutable {
                                                return tell_load_progress(done, total, told);
                                            });
        } catch (const std::exception& e) {
            ended.resident = tl::unexpected<Error>(describe(e));
        }
        inbox_.push_always(std::move(ended));
    });
}

/// On the loader thread, for each stretch that was copied. False: the load is given up.
bool LocalEngine::tell_load_progress(std::int64_t done, std::int64_t total, int& told) {
    const int percent = total > 0 ? static_cast<int>(100 * done / total) : 100;
    if (percent > told) inbox_.push_always(LoadProgress{told = percent});
    return !quitting_;
}

void LocalEngine::end_load(Result<std::unique_ptr<Resident>> resident) {
    const RequestId id = *std::exchange(loading_for_, std::nullopt);
    const auto ticket =
        std::find_if(queue_.begin(), queue_.end(), [&](const Ticket& t) { return t.id == id; });
    if (!resident) {
        if (ticket == queue_.end()) return;  // nobody wants it any more
        queue_.erase(ticket);
        return emit(event::Failed{id, std::move(resident.error())});
    }
    if (ticket != queue_.end()) ticket->load_ms = (*resident)->load_ms;
    worker_.install(std::move(*resident), [this] { inbox_.push_always(DiskNews{}); });
    told_loaded_ = false;
}

/// A model that drafts is read when a request asks for it; what runs goes on meanwhile.
bool LocalEngine::lacks_draft(const Request& request) const {
    const Resident& r = *worker_.resident();
    const std::string& path = request.draft.model_path;
    return !path.empty() && !request.background && path != r.draft_path &&
           r.bad_drafts.count(path) == 0;
}

void LocalEngine::begin_draft_load(const Ticket& ticket) {
    loading_for_ = ticket.id;
    loading_path_ = ticket.request.draft.model_path;
    emit(event::Loading{*loading_for_, loading_path_});
    if (loader_.joinable()) loader_.join();
    loader_ = std::jthread([this, path = loading_path_] {
        DraftLoadEnded ended{path, tl::unexpected<Error>(Error{})};
        try {
            ended.drafter = ModelDrafter::load(path, options_, *backend_);
        } catch (const std::exception& e) {
            ended.drafter = tl::unexpected<Error>(describe(e));
        }
        inbox_.push_always(std::move(ended));
    });
}

void LocalEngine::end_draft_load(DraftLoadEnded& ended) {
    loading_for_.reset();
    if (worker_.resident() == nullptr) return;  // it left memory while nobody wanted either
    worker_.set_draft(ended.path, std::move(ended.drafter), told_loaded_);
    told_loaded_ = false;
}

std::string LocalEngine::why_queued(std::size_t index) const {
    const Request& request = queue_[index].request;
    if (loading_for_) return fmt::format("waiting while {} is loaded", file_name(loading_path_));
    const Resident* r = worker_.resident();
    if (r != nullptr && r->path != request.model_path) {
        return fmt::format("waiting for {} to finish (another model is in use)",
                           r->model->config.name);
    }
    const auto same = [&](const Ticket& t) {
        return t.request.conversation == request.conversation;
    };
    const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(index);
    if (worker_.is_running(request.conversation) || std::any_of(queue_.begin(), end, same)) {
        return "waiting for the answer before it in this conversation";
    }
    return fmt::format("waiting for {} other conversations", worker_.n_jobs());
}

void LocalEngine::tell_all_queued() {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        if (loading_for_ == queue_[i].id) continue;  // it has its own event
        tell_queued(queue_[i], worker_.n_jobs() + static_cast<int>(i), why_queued(i));
    }
}

void LocalEngine::tell_queued(Ticket& ticket, int ahead, std::string reason) {
    if (ticket.told_ahead == ahead && ticket.told_reason == reason) return;
    ticket.told_ahead = ahead;
    ticket.told_reason = reason;
    emit(event::Queued{ticket.id, ahead, std::move(reason)});
}

void LocalEngine::unload() {
    const std::string path = worker_.resident()->path;
    worker_.unload();
    emit(event::Unloaded{path});
}

void LocalEngine::cancel_queued(RequestId id) {
    const auto it =
        std::find_if(queue_.begin(), queue_.end(), [&](const Ticket& t) { return t.id == id; });
    if (it == queue_.end()) return;
    Stats stats;
    stats.queue_ms = stats.total_ms = ms_between(it->submitted, Clock::now());
    stats.backend = backend_text(*backend_);
    queue_.erase(it);
    emit(event::Done{id, FinishReason::stopped, std::move(stats), ""});
}

void LocalEngine::forget_now(const std::string& conversation) {
    worker_.forget(conversation);
    const bool has_disk = worker_.resident() && worker_.resident()->disk;
    if (has_disk || options_.cache_dir.empty()) return;
    if (const auto done = cache_files::forget(options_.cache_dir, conversation); !done) {
        log(LogLevel::warning, "a deleted conversation stays cached: " + done.error().what);
    }
}

void LocalEngine::fail_everything(const Error& error) {
    worker_.fail_all(error);
    for (; !queue_.empty(); queue_.pop_front()) emit(event::Failed{queue_.front().id, error});
}

void LocalEngine::emit(Event e) {
    if (const RequestId id = ended_by(e); id != 0) {
        const std::lock_guard lock(mutex_);
        live_.erase(id);
    }
    publish();  // who has seen the event sees the memory after it
    const bool was_empty = outbox_.push_merged(std::move(e), merge_events);
    if (was_empty && wake_) wake_();
}

void LocalEngine::publish() {
    const std::lock_guard lock(mutex_);
    memory_ = worker_.memory();
    memory_.busy = !live_.empty();
}

}  // namespace hearth
