// Worker, what it has to do with the disk: prefixes read before the rest is computed, turns that
// ended written in the background.

#include "engine/generate/worker.h"

namespace hearth {

namespace {

/// Of one step, for reading: commands are looked at in between, and others generate.
constexpr double kReadMs = 30;

}  // namespace

/// Background jobs do without: what they read would take pages from conversations.
void Worker::find_on_disk(Job& job) {
    if (!resident_->disk || job.is_background()) return;
    const auto start = Clock::now();
    const Sequence& seq = job.sequence;
    // The last token is computed: its logits are wanted.
    const auto usable = std::span<const std::int32_t>(seq.tokens).first(seq.tokens.size() - 1);
    job.restore = resident_->disk->find(usable, seq.n_cached, /*mark=*/!job.is_private());
    job.stats.restore_ms += ms_between(start, Clock::now());
}

/// Reads on for a short time; true while a job has more to read.
bool Worker::restore() {
    const auto start = Clock::now();
    bool is_reading = false;
    for (const auto& job : jobs_) {
        const auto begun = Clock::now();
        const int n_before = job->sequence.n_cached;
        const bool had_any = job->restore.is_pending();
        while (job->restore.is_pending() && ms_between(start, Clock::now()) < kReadMs) {
            resident_->disk->advance(job->restore, job->sequence, /*may_evict=*/true);
        }
        is_reading = is_reading || job->restore.is_pending();
        const int n = job->sequence.n_cached - n_before;
        job->stats.cached_disk_tokens += n;
        job->stats.cached_tokens += n;
        if (had_any) job->stats.restore_ms += ms_between(begun, Clock::now());
    }
    return is_reading;
}

/// The turn's tokens, computed and shown; its pages are in the tree from now on.
void Worker::note_for_disk(const Job& job) {
    if (!resident_->disk || !job.keeps_pages() || job.is_private()) return;
    const Sequence& seq = job.sequence;
    resident_->disk->note(job.conversation(),
                          std::span(seq.tokens).first(static_cast<std::size_t>(seq.n_cached)));
}

bool Worker::can_save() const {
    return resident_ && resident_->disk && resident_->disk->can_save();
}

void Worker::save_one() {
    if (can_save()) resident_->disk->save_one();
}

void Worker::tell_disk_news() {
    if (!resident_ || !resident_->disk) return;
    std::string notice = resident_->disk->take_notice();
    if (!notice.empty()) emit_(event::Note{std::move(notice)});
}

}  // namespace hearth
