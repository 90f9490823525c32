#pragma once
// Worker: runs the jobs of the resident model, one step at a time: plan, reserve pages, forward
// pass, tokens, events. Owns jobs and the resident model; used by the engine thread alone. Knows
// no queue and no other thread.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/generate/batch.h"
#include "engine/generate/job.h"
#include "engine/generate/resident.h"
#include "engine/generate/scheduler.h"
#include "kernels/backend.h"

namespace hearth {

class Worker {
  public:
    using Emit = std::function<void(Event)>;
    Worker(Backend& backend, Emit emit);
    ~Worker();

    const Resident* resident() const { return resident_.get(); }
    /// No job runs.
    /// `wake` is called, from another thread, when `can_save` or `tell_disk_news` may have changed.
    void install(std::unique_ptr<Resident> resident, std::function<void()> wake = {});
    /// Writes what waits for the disk first.
    void unload();
    /// A model for drafting was read, or could not be. The resident's notes say what became of it;
    /// earlier ones are dropped when they were told.
    void set_draft(const std::string& path, Result<std::unique_ptr<ModelDrafter>> drafter,
                   bool notes_told);

    int n_jobs() const { return static_cast<int>(jobs_.size()); }
    bool is_running(const std::string& conversation) const;
    /// The resident model is the ticket's. Ends in Failed here, or in a job.
    void start(Ticket ticket);
    /// Ends the job in Done{stopped}; false when there is none of this id.
    bool cancel(RequestId id);
    /// A block of what turns left behind can be copied for the disk now …
    bool can_save() const;
    void save_one();
    /// … and is there news for the user?
    void tell_disk_news();
    /// Ends all jobs in Failed; their KV is not kept.
    void fail_all(const Error& error);
    void forget(const std::string& conversation);

    /// One forward pass and what follows from it. Returns early, its work dropped, once `stop` is
    /// seen. At least one job runs.
    void step(const std::atomic<bool>& stop);

    Engine::Memory memory() const;

  private:
    struct Share {
        Job* job;
        int n_tokens;
        bool in_prompt;    ///< at the start of the step
        Draft draft = {};  ///< verified in this step
    };
    std::vector<Share> plan();
    bool reserve(std::size_t index, int n_tokens);
    bool restore();
    void find_on_disk(Job& job);
    void note_for_disk(const Job& job);
    void draft(std::vector<Share>& shares, const std::atomic<bool>& stop);
    void give_up_pages(Job& job);
    void check_idle() const;
    void record(const std::vector<Share>& shares);
    void drop(const std::vector<Share>& shares);
    void advance(const std::vector<Share>& shares, double step_ms);
    void take_tokens(const Share& share, int output, double step_ms);
    void announce(Job& job);
    void emit_text(const Job& job, Job::Step& step);
    void end(Job& job, FinishReason reason);
    void fail(Job& job, Error error);
    std::unique_ptr<Job> remove(const Job& job);

    Backend& backend_;
    Emit emit_;
    std::unique_ptr<Resident> resident_;
    std::vector<std::unique_ptr<Job>> jobs_;  ///< oldest first; after resident_: it ends first
    Scheduler scheduler_;
    Batch batch_;
    BatchView view_;
    MatrixView logits_;          ///< of this step, in host memory
    bool only_decodes_ = false;  ///< this step has no prompt rows
    int n_decoding_ = 0;         ///< then: sequences in it
};

}  // namespace hearth
