#include "engine/generate/worker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/base/log.h"
#include "engine/generate/context_fit.h"
#include "engine/generate/setup.h"
#include "kernels/device.h"

namespace hearth {

namespace {

Error overflow(std::size_t n_prompt, int context, int trained) {
    const std::string more =
        trained > context
            ? fmt::format("raise the context with --ctx or /set context (at most {}), ", trained)
            : std::string();
    return {Errc::context_overflow,
            fmt::format("the conversation is {} tokens long, but the context holds {} and the "
                        "answer needs at least one; {}shorten the messages or start a new chat",
                        n_prompt, context, more)};
}

/// What is to be shown after `to`, in one go.
void append_step(Job::Step& to, const Job::Step& step) {
    to.text += step.text;
    to.ids.insert(to.ids.end(), step.ids.begin(), step.ids.end());
    to.done = step.done;
    to.reason = step.reason;
}

}  // namespace

Worker::Worker(Backend& backend, Emit emit) : backend_(backend), emit_(std::move(emit)) {}

Worker::~Worker() {
    jobs_.clear();
    if (resident_) unload();
}

void Worker::install(std::unique_ptr<Resident> resident, std::function<void()> wake) {
    HEARTH_CHECK(jobs_.empty());
    resident_ = std::move(resident);
    if (resident_->disk) resident_->disk->set_wake(std::move(wake));
}

void Worker::unload() {
    HEARTH_CHECK(jobs_.empty());
    if (resident_ && resident_->disk) {
        resident_->disk->flush();
        tell_disk_news();
    }
    // They are found by addresses that the file gives back.
    if (CardBackend* const card = as_card(backend_)) card->drop_weights();
    resident_.reset();
}

void Worker::set_draft(const std::string& path, Result<std::unique_ptr<ModelDrafter>> drafter,
                       bool notes_told) {
    if (notes_told) resident_->notes.clear();
    resident_->set_draft(path, std::move(drafter));
}

bool Worker::is_running(const std::string& conversation) const {
    return std::any_of(jobs_.begin(), jobs_.end(),
                       [&](const auto& j) { return j->conversation() == conversation; });
}

void Worker::start(Ticket ticket) {
    Resident& r = *resident_;
    const RequestId id = ticket.id;
    const Tokenizer& tokenizer = *r.model->tokenizer;
    if (auto good = check_sampling(ticket.request.sampling, tokenizer.vocab_size()); !good) {
        return emit_(event::Failed{id, std::move(good.error())});
    }
    auto prompt = fit_prompt(ticket.request, r.context_tokens, [&](const Request& request) {
        return make_prompt(request, *r.model, r.chat_template);
    });
    if (!prompt) return emit_(event::Failed{id, std::move(prompt.error())});
    if (static_cast<int>(prompt->ids.size()) >= r.context_tokens) {
        return emit_(event::Failed{
            id, overflow(prompt->ids.size(), r.context_tokens, r.model->config.context_length)});
    }
    if (prompt->n_left_out > 0) {
        emit_(event::LeftOut{id, prompt->first_left_out, prompt->n_left_out, prompt->whole_tokens,
                             r.context_tokens});
    }
    auto job = std::make_unique<Job>(std::move(ticket), std::move(prompt->ids), r.context_tokens,
                                     tokenizer);
    r.prefixes->acquire(job->sequence, job->lease, !job->is_background());
    job->stats.cached_tokens = job->stats.cached_ram_tokens = job->sequence.n_cached;
    find_on_disk(*job);
    jobs_.push_back(std::move(job));
}

bool Worker::cancel(RequestId id) {
    const auto it =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j->id() == id; });
    if (it == jobs_.end()) return false;
    Job::Step step = (*it)->flush(FinishReason::stopped);
    emit_text(**it, step);
    end(**it, FinishReason::stopped);
    return true;
}

void Worker::fail_all(const Error& error) {
    while (!jobs_.empty()) fail(*jobs_.back(), error);
}

void Worker::forget(const std::string& conversation) {
    if (resident_) resident_->prefixes->forget(conversation);
    if (resident_ && resident_->disk) resident_->disk->forget(conversation);
    if (resident_) resident_->speculator->forget(conversation);
    for (const auto& job : jobs_) {
        if (job->conversation() == conversation) job->forgotten = true;
    }
}

/// Pages for n_tokens more of job `index`: from what is free, then from what is only kept, then
/// from background jobs and jobs that came later (they compute again what is lost). So the oldest
/// job always goes on. A background job takes what is free and nothing else.
bool Worker::reserve(std::size_t index, int n_tokens) {
    Job& job = *jobs_[index];
    const bool may_evict = !job.is_background();
    const auto can_give = [&](std::size_t i) {
        return i != index && (i > index || jobs_[i]->is_background()) &&
               !jobs_[i]->sequence.pages.empty();
    };
    while (
        !resident_->prefixes->reserve(job.sequence, job.sequence.n_cached + n_tokens, may_evict)) {
        if (!may_evict) return false;
        std::size_t victim = jobs_.size();
        while (victim > 0 && !can_give(victim - 1)) --victim;
        if (victim == 0) return false;
        give_up_pages(*jobs_[victim - 1]);
    }
    return true;
}

/// What the job has computed stays as long as nobody needs the room.
void Worker::give_up_pages(Job& job) {
    job.restore.clear();
    if (job.keeps_pages())
        resident_->prefixes->keep(job.sequence, job.lease, job.conversation());
    else
        resident_->prefixes->drop(job.sequence, job.lease);
}

std::vector<Worker::Share> Worker::plan() {
    std::vector<Scheduler::Waiting> waiting;
    bool others_generate = false;
    for (const auto& job : jobs_) {
        if (job->lease.node == nullptr) {  // it gave its pages up
            resident_->prefixes->acquire(job->sequence, job->lease, !job->is_background());
        }
        const int n_pending = job->restore.is_pending() ? 0 : job->sequence.n_pending();
        waiting.push_back({job->id(), n_pending, job->sequence.n_cached});
        others_generate = others_generate || job->is_generating();
    }
    const int chunk = resident_->chunk.next(others_generate);
    const std::vector<int> counts = scheduler_.plan(waiting, chunk);
    std::vector<Share> shares;
    const auto add = [&](std::size_t i, int n_tokens) {
        // A job that gave its pages up above waits for the next step.
        if (n_tokens == 0 || jobs_[i]->lease.node == nullptr || !reserve(i, n_tokens)) return;
        shares.push_back({jobs_[i].get(), n_tokens, jobs_[i]->in_prompt()});
    };
    for (const bool background : {false, true}) {  // those who may take pages from others first
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (jobs_[i]->is_background() == background) add(i, counts[i]);
        }
    }
    // Those whose turn it was found no page free: the oldest may take everybody's.
    for (std::size_t i = 0; i < jobs_.size() && shares.empty(); ++i) {
        add(i, scheduler_.plan({&waiting[i], 1}, chunk).front());
    }
    return shares;
}

/// Adds tokens that may follow, for steps in which every sequence only needs its newest token: what
/// such a step costs is known. They take pages that are free, nobody's.
void Worker::draft(std::vector<Share>& shares, const std::atomic<bool>& stop) {
    only_decodes_ = std::all_of(shares.begin(), shares.end(), [](const Share& s) {
        return s.job->is_generating() && s.job->sequence.n_pending() == 1;
    });
    if (!only_decodes_) return;
    n_decoding_ = static_cast<int>(shares.size());
    int n_rows = n_decoding_;
    for (Share& s : shares) {
        Job& job = *s.job;
        Sequence& seq = job.sequence;
        const auto start = Clock::now();
        if (job.n_left() > 1 && !stop) {
            const DraftAsk ask{job.conversation(), seq.tokens, job.sampling(),
                               job.n_left() - 1,   {},         stop};
            s.draft = resident_->speculator->propose(job.speculation, ask, n_decoding_, n_rows);
        }
        if (!resident_->kv->reserve(seq.pages, seq.n_cached + 1 + s.draft.size())) {
            s.draft.resize(static_cast<int>(seq.pages.size()) * kPageTokens - seq.n_cached - 1);
        }
        n_rows += s.draft.size();
        job.stats.decode_ms += ms_between(start, Clock::now());
    }
}

void Worker::record(const std::vector<Share>& shares) {
    batch_.clear();
    for (const Share& s : shares) {
        const bool is_last = s.n_tokens == s.job->sequence.n_pending();
        batch_.add(s.job->sequence, s.n_tokens, is_last ? 1 + s.draft.size() : 0, *resident_->kv,
                   s.draft.ids);
    }
    view_ = batch_.view();
}

/// The pages that this step wrote are undefined: what is not computed starts on a fresh page.
void Worker::drop(const std::vector<Share>& shares) {
    for (const Share& s : shares) {
        Sequence& seq = s.job->sequence;
        const int n_pages = seq.n_cached / kPageTokens;
        resident_->kv->cut(seq.pages, n_pages);
        seq.n_cached = n_pages * kPageTokens;
    }
}

void Worker::announce(Job& job) {
    emit_(event::Prefill{job.id(), std::min(job.sequence.n_cached, job.n_prompt()), job.n_prompt(),
                         job.stats.cached_tokens});
    job.announced = true;
}

void Worker::step(const std::atomic<bool>& stop) {
    HEARTH_CHECK(!jobs_.empty());
    if (!resident_->model->file->is_unchanged()) {
        return fail_all(
            {Errc::model_invalid,
             fmt::format("{} was changed while it was in use; ask again to load it anew",
                         resident_->path)});
    }
    const bool is_reading = restore();
    std::vector<Share> shares = plan();
    if (shares.empty() && is_reading) return;
    if (shares.empty()) {  // only background jobs are left, and no page is free
        HEARTH_CHECK(jobs_.front()->is_background());
        return fail(*jobs_.front(), {Errc::out_of_memory,
                                     "the memory for keys and values is in use by conversations; "
                                     "a background job takes nothing from them"});
    }
    for (const Share& s : shares) {
        if (s.in_prompt && !s.job->announced) announce(*s.job);
    }
    draft(shares, stop);
    record(shares);
    const auto start = Clock::now();
    const bool ran = resident_->pass(backend_).run(view_, &stop);
    const CardBackend* const card = as_card(backend_);
    if (card != nullptr && !card->failure().empty()) {
        drop(shares);
        return fail_all({Errc::device_lost, card->failure()});
    }
    if (!ran) return drop(shares);
    logits_ = on_host(backend_, resident_->activations->logits.top(
                                    static_cast<std::int64_t>(view_.output_rows.size())));
    const double step_ms = ms_between(start, Clock::now());
    resident_->chunk.measured(batch_.n_rows(), step_ms);
    if (only_decodes_) resident_->speculator->ran(batch_.n_rows(), step_ms);
    advance(shares, step_ms);
}

void Worker::advance(const std::vector<Share>& shares, double step_ms) {
    for (const Share& s : shares) {
        s.job->sequence.n_cached += s.n_tokens;
        (s.job->is_generating() ? s.job->stats.decode_ms : s.job->stats.prefill_ms) += step_ms;
        if (s.in_prompt && !s.job->is_generating()) announce(*s.job);
    }
    int output = 0;
    for (const Share& s : shares) {
        if (s.job->sequence.n_pending() > 0) continue;
        take_tokens(s, output, step_ms);
        output += 1 + s.draft.size();
    }
}

/// Takes the token of each row as long as the row's input was the token before it: the rows of
/// drafts that the sampler did not choose were computed for another text. What stays is what
/// decoding without drafts would have computed, row by row.
void Worker::take_tokens(const Share& share, int output, double step_ms) {
    Job& job = *share.job;
    const Draft& draft = share.draft;
    const auto start = Clock::now();
    const MatrixView& logits = logits_;
    const bool first = !job.is_generating();
    Job::Step shown;
    int row = 0, n_seen = 0;
    for (;; ++row) {
        auto step = job.take_token(
            {logits.data + (output + row) * logits.stride, static_cast<std::size_t>(logits.cols)});
        if (!step) {
            Job::Step rest = job.flush(FinishReason::error);
            append_step(shown, rest);
            emit_text(job, shown);
            return fail(job, std::move(step.error()));
        }
        append_step(shown, *step);
        if (step->done || row == draft.size()) break;
        ++n_seen;
        if (job.sequence.tokens.back() != draft.ids[static_cast<std::size_t>(row)]) break;
        ++job.sequence.n_cached;
    }
    (first ? job.stats.prefill_ms : job.stats.decode_ms) += ms_between(start, Clock::now());
    if (only_decodes_) {
        resident_->speculator->verified(job.speculation, job.conversation(), draft, row, n_seen,
                                        n_decoding_, batch_.n_rows(), step_ms);
    }
    emit_text(job, shown);
    if (shown.done) return end(job, shown.reason);
    // Pages that only rejected drafts reached are given back.
    Sequence& seq = job.sequence;
    resident_->kv->cut(seq.pages, (seq.n_cached + kPageTokens) / kPageTokens);
    if (first && job.keeps_pages()) {  // others may share the prompt from now on
        resident_->prefixes->publish(seq, job.lease, job.conversation());
    }
}

void Worker::emit_text(const Job& job, Job::Step& step) {
    if (step.text.empty() && step.ids.empty()) return;
    emit_(event::Text{job.id(), std::move(step.text), std::move(step.ids)});
}

std::unique_ptr<Job> Worker::remove(const Job& job) {
    const auto it =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const auto& j) { return j.get() == &job; });
    std::unique_ptr<Job> out = std::move(*it);
    jobs_.erase(it);
    scheduler_.forget(out->id());
    return out;
}

void Worker::end(Job& ending, FinishReason reason) {
    const std::unique_ptr<Job> job = remove(ending);
    Sequence& seq = job->sequence;
    std::span<const std::int32_t> answer = seq.tokens;
    answer = job->forgotten ? answer.first(0) : answer.subspan(std::size_t(job->n_prompt()));
    job->stats.speculation =
        resident_->speculator->finish(job->speculation, job->conversation(), answer);
    note_for_disk(*job);
    give_up_pages(*job);
    check_idle();
    job->complete_stats(resident_->placement(backend_text(backend_)));
    emit_(
        event::Done{job->id(), reason, std::move(job->stats), resident_->model->tokenizer->hash()});
}

void Worker::fail(Job& failing, Error error) {
    const std::unique_ptr<Job> job = remove(failing);
    resident_->prefixes->drop(job->sequence, job->lease);
    resident_->speculator->drop(job->conversation());
    check_idle();
    emit_(event::Failed{job->id(), std::move(error)});
}

void Worker::check_idle() const {
    if (!resident_->self_check || !jobs_.empty()) return;
    std::string wrong = resident_->prefixes->check_idle();
    if (wrong.empty()) wrong = resident_->speculator->check_idle();
    if (!wrong.empty()) log(LogLevel::error, "KV cache: " + wrong);
    HEARTH_CHECK(wrong.empty());
}

Engine::Memory Worker::memory() const {
    Engine::Memory m;
    if (!resident_) return m;
    m.model_loaded = true;
    m.weight_bytes = resident_->model->weight_bytes();
    m.kv_bytes = resident_->kv->bytes_in_use();
    m.pages_total = resident_->kv->pool().n_pages();
    m.pages_in_use = resident_->kv->pool().n_in_use();
    const Drafter::Memory draft = resident_->speculator->memory();
    m.draft_weight_bytes = draft.weight_bytes;
    m.draft_kv_bytes = draft.kv_bytes;
    m.draft_pages_in_use = draft.pages_in_use;
    return m;
}

}  // namespace hearth
