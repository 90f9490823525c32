#pragma once
// ViewState: plain data that every front end draws. ChatController folds engine events into it;
// nobody else writes it. Knows no terminal, no window, no engine.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/store/store.h"

namespace hearth {

/// What the running request does now; idle = no request runs.
enum class Phase { idle, queued, loading, prefill, decoding };

/// How the last request ended.
struct TurnResult {
    FinishReason reason = FinishReason::stop;
    Stats stats;
    std::uint64_t seed = 0;      ///< in force, also when it was drawn at random
    std::optional<Error> error;  ///< set when reason is error
};

struct ViewState {
    // The conversation. id 0 = nothing is stored yet: the first message makes the row.
    Conversation chat;
    std::vector<StoredMessage> messages;  ///< root to active leaf; not the answer being written

    /// messages[unseen_begin, unseen_end) are not shown to the model: the context was full.
    std::size_t unseen_begin = 0, unseen_end = 0;

    // The model in force; empty name = none is chosen.
    std::string model_name, model_path;
    bool model_loaded = false;

    // The running request, and what is left of the last one until the next begins.
    Phase phase = Phase::idle;
    std::string queued_reason;  ///< a sentence, in phase queued
    int loading_percent = 0;    ///< of the copy onto a card; 0 = no copy yet, or none
    int prefill_done = 0, prefill_total = 0, cached_tokens = 0;  ///< tokens of the prompt
    std::string answer;                    ///< complete UTF-8; only ever grows during a request
    std::vector<std::int32_t> answer_ids;  ///< its token ids
    std::optional<TurnResult> last;        ///< empty while a request runs and before the first

    // Other chats: their answers go on while this one is shown; ended and not looked at yet.
    std::vector<ConversationId> writing_elsewhere, answered_elsewhere;

    // Text files that go before the next message.
    std::vector<std::string> attachments;  ///< names, in order
};

/// "tiny", or "tiny, 40 % on the card": what is being loaded.
inline std::string loading_name(const ViewState& v) {
    if (v.loading_percent == 0) return v.model_name;
    return v.model_name + ", " + std::to_string(v.loading_percent) + " % on the card";
}

}  // namespace hearth
