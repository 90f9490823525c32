#pragma once
// Engine: THE boundary between the front ends and everything that computes. Requests in, events
// out; one thread inside touches the model. Knows no window, no terminal, no database.
//
// A request carries the whole conversation, so there is no second copy of the truth; what the
// engine keeps (KV pages, shared by all conversations) is a cache and may vanish at any time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/result.h"

namespace hearth {

struct SamplingParams {
    float temperature = 0.8f;     ///< 0 = greedy
    int top_k = 40;               ///< 0 = off
    float top_p = 0.95f;          ///< 1 = off
    float min_p = 0.05f;          ///< 0 = off
    float typical_p = 1.0f;       ///< 1 = off
    float repeat_penalty = 1.0f;  ///< 1 = off
    int repeat_last_n = 64;       ///< window of the penalties, tokens; -1 = whole context
    float frequency_penalty = 0.0f;
    float presence_penalty = 0.0f;
    std::vector<std::pair<std::int32_t, float>> logit_bias;
    std::uint64_t seed = 0;         ///< the answer is a function of (prompt ids, params, seed)
    int max_tokens = -1;            ///< -1 = until the context is full
    std::vector<std::string> stop;  ///< stop strings, not shown
    bool ignore_eos = false;
};

struct TurnMessage {
    std::string role;  ///< system, user, assistant, tool
    std::string content;
    std::vector<std::int32_t> token_ids;  ///< stored ids of an assistant turn; may be empty
    std::string tokenizer_hash;           ///< of token_ids; other hash = ids are ignored
};

struct EngineOptions {
    int n_threads = 0;                 ///< 0 = automatic
    std::string isa = "auto";          ///< auto, scalar, avx2, avxvnni, vnni256, avx512
    int context_tokens = 0;            ///< 0 = min(model's, 8192)
    std::string kv_type = "f16";       ///< f16 or bf16
    int prefill_chunk = 0;             ///< tokens per step; 0 = automatic (512). Never changes bits
    int keep_alive_s = 300;            ///< idle seconds until the model leaves memory; -1 = never
    std::int64_t kv_budget_bytes = 0;  ///< 0 = automatic: half of the free memory
    /// Folder that keeps what was computed across restarts ("" = none), and what all of it may
    /// take: 0 = automatic (10 % of the free space, at most 10 GiB), -1 = nothing is kept or read.
    std::string cache_dir;
    std::int64_t cache_budget_bytes = 0;
    bool permute_pages = false;  ///< tests: hand out KV pages in scrambled order
    bool self_check = false;     ///< tests: verify the KV bookkeeping whenever idle
};

/// Speculation: tokens that probably follow are verified together. Faster, never another answer.
struct DraftChoice {
    bool lookup = true;      ///< from what stands in the conversation already
    std::string model_path;  ///< a small model with the same vocabulary; "" = none
    int fixed_tokens = 0;    ///< 0 = as many as pay; else always this many (measuring, tests)
};

/// What happens when a conversation outgrows the context. Whatever it is, the user is told.
enum class ContextPolicy {
    stop,         ///< the request fails with context_overflow
    drop_oldest,  ///< the oldest turns are not shown to the model
    drop_middle,  ///< the first turn stays, those after it are not shown
};

struct Request {
    std::string conversation;   ///< any stable id; requests of one conversation queue up
    std::string model_path;     ///< GGUF file
    std::string chat_template;  ///< "" = the model's own; a built-in name; or Jinja source
    std::vector<TurnMessage> messages;
    bool continue_last = false;         ///< the last message is an assistant turn to be continued
    std::vector<std::int32_t> raw_ids;  ///< when not empty: these ids instead of messages, as is
    SamplingParams sampling;
    ContextPolicy context_policy = ContextPolicy::stop;
    DraftChoice draft;
    bool want_logits_hash = false;  ///< fill Stats::logits_hash
    /// A job that nobody waits for (a title): it takes only memory that is free, evicts nothing and
    /// leaves nothing behind.
    bool background = false;
    /// A private chat: nothing of it is written below cache_dir.
    bool no_disk_cache = false;
};

using RequestId = std::uint64_t;

struct SpeculationStats {
    std::string drafter;  ///< "lookup", a model's name, several joined by " + "; "" = none was used
    int drafted = 0, accepted = 0;
    int steps = 0;        ///< forward passes that verified drafts
    double draft_ms = 0;  ///< spent by drafters
    double speedup = 1;   ///< of decoding, against the same tokens one by one, by measured times
};

/// Measured values of one request; times in ms from submit unless said.
struct Stats {
    int prompt_tokens = 0;
    int cached_tokens = 0;  ///< of the prompt, whose KV was there already; the sum of:
    int cached_ram_tokens = 0, cached_disk_tokens = 0;
    int completion_tokens = 0;
    double queue_ms = 0, load_ms = 0;  ///< waiting; loading the model
    double first_token_ms = 0;         ///< request to first token
    double restore_ms = 0;             ///< reading KV from disk
    double prefill_ms = 0;             ///< computing the prompt
    double decode_ms = 0;              ///< computing the tokens after the first
    double total_ms = 0;
    int context_tokens = 0;   ///< the limit in force
    int context_used = 0;     ///< prompt + completion
    std::string logits_hash;  ///< over the raw f32 rows the emitted tokens were chosen from
    std::string backend;      ///< "cpu avx512, 2 threads"
    SpeculationStats speculation;
    double prefill_tok_s() const;  ///< computed (not cached) prompt tokens per second
    double decode_tok_s() const;
};

enum class FinishReason { stop, length, stopped, error };
const char* finish_reason_name(FinishReason r);

// --- events --------------------------------------------------------------------------------------
namespace event {
struct Queued {  ///< waits for another conversation or another model
    RequestId id;
    int ahead;           ///< requests before this one
    std::string reason;  ///< a sentence: "waiting for … (another model is in use)"
};
struct Loading {
    RequestId id;
    std::string model_path;
    int percent = 0;  ///< of the copy onto a card; the CPU reads where the file lies
};
struct Loaded {
    RequestId id;
    std::string model_name;
    double load_ms;
    std::vector<std::string> notes;  ///< template fallback, tokenizer warnings, context limited …
};
struct LeftOut {  ///< the conversation was too long: some of its messages are not shown to the
                  ///< model
    RequestId id;
    int first, n;         ///< messages [first, first + n) of the request
    int tokens, context;  ///< of the whole prompt; that the context holds
};
struct Prefill {  ///< progress; once before and after each chunk
    RequestId id;
    int done, total, cached;
};
struct Text {  ///< complete UTF-8; may be empty while ids already grew
    RequestId id;
    std::string text;
    std::vector<std::int32_t> token_ids;  ///< new ids since the last Text
};
struct Done {
    RequestId id;
    FinishReason reason;
    Stats stats;
    std::string tokenizer_hash;
};
struct Failed {
    RequestId id;
    Error error;
};
struct Unloaded {  ///< the idle model left memory
    std::string model_path;
};
struct Note {  ///< a sentence for the user that belongs to no request
    std::string text;
};
}  // namespace event
using Event =
    std::variant<event::Queued, event::Loading, event::Loaded, event::LeftOut, event::Prefill,
                 event::Text, event::Done, event::Failed, event::Unloaded, event::Note>;

class Engine {
  public:
    /// `wake` is called from the engine thread after new events (no blocking inside).
    static Result<std::unique_ptr<Engine>> make_local(EngineOptions options,
                                                      std::function<void()> wake = {});
    virtual ~Engine() = default;  ///< stops what runs, joins the thread

    /// Queues; every request ends in exactly one Done or Failed. Never blocks for long.
    virtual RequestId submit(Request request) = 0;
    /// Within 150 ms the request ends in Done{stopped}; unknown ids are ignored.
    virtual void cancel(RequestId id) = 0;
    /// Moves all events out; returns at once.
    virtual std::vector<Event> poll() = 0;
    /// Waits until there is an event or `timeout_ms` passed.
    virtual bool wait(int timeout_ms) = 0;
    /// Forgets the KV of a conversation (it was deleted) that no other one shares, on disk, too.
    virtual void forget(const std::string& conversation) = 0;

    /// Counters for tests and `doctor`; consistent when the engine is idle.
    struct Memory {
        std::int64_t weight_bytes = 0, kv_bytes = 0;  ///< resident pages of the KV pool in use
        int pages_total = 0, pages_in_use = 0;        ///< in use = held by conversations
        std::int64_t draft_weight_bytes = 0, draft_kv_bytes = 0;  ///< of drafting models
        int draft_pages_in_use = 0;
        bool model_loaded = false;
        bool busy = false;
    };
    virtual Memory memory() const = 0;
};

}  // namespace hearth
