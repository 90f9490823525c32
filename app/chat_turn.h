#pragma once
// ChatTurn: what ChatController remembers about the request that runs; and the translations
// between stored rows and what the engine takes and gives. Plain data and pure functions.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/settings.h"
#include "app/view_state.h"
#include "engine/engine.h"
#include "engine/store/store.h"

namespace hearth {

/// The part of a path that the model does not see: indices [begin, end).
struct ContextCut {
    std::size_t begin = 0, end = 0;
    bool empty() const { return begin >= end; }
};

struct ChatTurn {
    RequestId id = 0;
    MessageId parent = 0;                    ///< the question; the answer goes below it
    std::optional<StoredMessage> continues;  ///< the answer that goes on
    std::vector<std::int32_t> raw_ids;       ///< not empty: nothing is stored
    ContextCut cut;                          ///< of the messages of the view when it began
    std::vector<std::size_t> begins;  ///< of each message of the request: its first of the view
    std::uint64_t seed = 0;
    std::string params_json;

    MessageId row = 0;  ///< of the answer; 0 = none yet
    std::string unsaved_text;
    std::vector<std::int32_t> unsaved_ids;
    std::chrono::steady_clock::time_point last_save;
    bool told_about_store = false;
};

/// A chat whose answer goes on while another one is shown: its view and its turn.
struct ParkedTurn {
    ViewState view;
    std::unique_ptr<ChatTurn> turn;
};

/// System prompt, then the messages; a sequence that every template takes: no empty or failed
/// answers, and neighbours of the same role joined by a blank line.
/// Those in `cut` are left out. `begins` gets for each the index of the first message it has in it.
std::vector<TurnMessage> messages_for_engine(const std::string& system_prompt,
                                             const std::vector<StoredMessage>& messages,
                                             ContextCut cut = {},
                                             std::vector<std::size_t>* begins = nullptr);
/// What of the path was left out for its last answer, as that answer's row says.
ContextCut stored_cut(const std::vector<StoredMessage>& messages);

/// {"model":…,"seed":…,"temperature":…}: what repeats the answer.
std::string params_of_turn(const Settings& settings, std::uint64_t seed, const std::string& model);
/// {"drafter":…,"drafted":…,"accepted":…,"steps":…,"speedup":…,"draft_ms":…}
nlohmann::ordered_json speculation_to_json(const SpeculationStats& stats);
/// The fields of Stats, "error" when given, and the first and last id that the model did not see.
std::string stats_to_json(const Stats& stats, const std::string& error = "",
                          std::pair<MessageId, MessageId> unseen = {});

/// The engine's name of a conversation; what is not stored has its own.
std::string engine_name(ConversationId id);

/// An engine made with `a` serves `b` as well.
bool same_engine(const EngineOptions& a, const EngineOptions& b);

}  // namespace hearth
