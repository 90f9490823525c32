#pragma once
// ChatTurn: what ChatController remembers about the request that runs; and the translations
// between stored rows and what the engine takes and gives. Plain data and pure functions.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/settings.h"
#include "engine/engine.h"
#include "engine/store/store.h"

namespace hearth {

struct ChatTurn {
    RequestId id = 0;
    MessageId parent = 0;                    ///< the question; the answer goes below it
    std::optional<StoredMessage> continues;  ///< the answer that goes on
    std::vector<std::int32_t> raw_ids;       ///< not empty: nothing is stored
    std::uint64_t seed = 0;
    std::string params_json;

    MessageId row = 0;  ///< of the answer; 0 = none yet
    std::string unsaved_text;
    std::vector<std::int32_t> unsaved_ids;
    std::chrono::steady_clock::time_point last_save;
    bool told_about_store = false;
};

/// System prompt, then the messages; a sequence that every template takes: no empty or failed
/// answers, and neighbours of the same role joined by a blank line.
std::vector<TurnMessage> messages_for_engine(const std::string& system_prompt,
                                             const std::vector<StoredMessage>& messages);

/// {"model":…,"seed":…,"temperature":…}: what repeats the answer.
std::string params_of_turn(const Settings& settings, std::uint64_t seed, const std::string& model);
/// {"drafter":…,"drafted":…,"accepted":…,"steps":…,"speedup":…,"draft_ms":…}
nlohmann::ordered_json speculation_to_json(const SpeculationStats& stats);
/// The fields of Stats, and "error" when given.
std::string stats_to_json(const Stats& stats, const std::string& error = "");

/// The engine's name of a conversation; what is not stored has its own.
std::string engine_name(ConversationId id);

/// An engine made with `a` serves `b` as well.
bool same_engine(const EngineOptions& a, const EngineOptions& b);

}  // namespace hearth
