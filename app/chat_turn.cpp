#include "app/chat_turn.h"

#include <nlohmann/json.hpp>

namespace hearth {
namespace {

std::string dump(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::vector<TurnMessage> messages_for_engine(const std::string& system_prompt,
                                             const std::vector<StoredMessage>& messages,
                                             ContextCut cut, std::vector<std::size_t>* begins) {
    std::vector<TurnMessage> turns;
    std::vector<std::size_t> first;
    if (!system_prompt.empty()) {
        turns.push_back({"system", system_prompt, {}, {}});
        first.push_back(0);
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const StoredMessage& message = messages[i];
        if (i >= cut.begin && i < cut.end) continue;
        const bool is_answer = message.role == "assistant";
        if (is_answer && message.content.empty()) continue;
        // Templates know three roles; what tools said in other programs is not sent.
        if (!is_answer && message.role != "user" && message.role != "system") continue;
        if (!turns.empty() && turns.back().role == message.role) {
            turns.back().content += "\n\n" + message.content;
            turns.back().token_ids.clear();  // they no longer spell the content
            continue;
        }
        turns.push_back({message.role, message.content, message.token_ids, message.tokenizer_hash});
        first.push_back(i);
    }
    if (begins != nullptr) *begins = std::move(first);
    return turns;
}

ContextCut stored_cut(const std::vector<StoredMessage>& messages) {
    for (auto m = messages.rbegin(); m != messages.rend(); ++m) {
        if (m->role != "assistant" || m->state == MessageState::failed) continue;
        const auto json = nlohmann::json::parse(m->stats_json, nullptr, false);
        if (!json.is_object()) return {};
        const auto unseen = json.find("unseen");
        if (unseen == json.end() || !unseen->is_array() || unseen->size() != 2 ||
            !(*unseen)[0].is_number_integer() || !(*unseen)[1].is_number_integer()) {
            return {};
        }
        ContextCut cut{messages.size(), 0};
        for (std::size_t i = 0; i < messages.size(); ++i) {
            if (messages[i].id == (*unseen)[0].get<MessageId>()) cut.begin = i;
            if (messages[i].id == (*unseen)[1].get<MessageId>()) cut.end = i + 1;
        }
        return cut.empty() ? ContextCut{} : cut;
    }
    return {};
}

std::string params_of_turn(const Settings& settings, std::uint64_t seed, const std::string& model) {
    nlohmann::ordered_json json;
    json["model"] = model;
    for (const SettingRow& row : setting_rows()) json[row.name] = row.get(settings);
    json["seed"] = seed;
    return dump(json);
}

nlohmann::ordered_json speculation_to_json(const SpeculationStats& s) {
    return {{"drafter", s.drafter}, {"drafted", s.drafted}, {"accepted", s.accepted},
            {"steps", s.steps},     {"speedup", s.speedup}, {"draft_ms", s.draft_ms}};
}

std::string stats_to_json(const Stats& stats, const std::string& error,
                          std::pair<MessageId, MessageId> unseen) {
    nlohmann::ordered_json json = {
        {"prompt_tokens", stats.prompt_tokens},
        {"cached_tokens", stats.cached_tokens},
        {"cached_disk_tokens", stats.cached_disk_tokens},
        {"completion_tokens", stats.completion_tokens},
        {"queue_ms", stats.queue_ms},
        {"load_ms", stats.load_ms},
        {"first_token_ms", stats.first_token_ms},
        {"prefill_ms", stats.prefill_ms},
        {"decode_ms", stats.decode_ms},
        {"total_ms", stats.total_ms},
        {"context_tokens", stats.context_tokens},
        {"context_used", stats.context_used},
        {"backend", stats.backend},
    };
    if (stats.speculation.steps > 0) json["speculation"] = speculation_to_json(stats.speculation);
    if (!stats.logits_hash.empty()) json["logits_hash"] = stats.logits_hash;
    if (!error.empty()) json["error"] = error;
    if (unseen.first != 0) json["unseen"] = {unseen.first, unseen.second};
    return dump(json);
}

std::string engine_name(ConversationId id) { return id == 0 ? "raw" : fmt::format("chat-{}", id); }

bool same_engine(const EngineOptions& a, const EngineOptions& b) {
    return a.n_threads == b.n_threads && a.isa == b.isa && a.context_tokens == b.context_tokens &&
           a.kv_type == b.kv_type && a.prefill_chunk == b.prefill_chunk &&
           a.keep_alive_s == b.keep_alive_s && a.cache_budget_bytes == b.cache_budget_bytes &&
           a.kv_budget_bytes == b.kv_budget_bytes && a.permute_pages == b.permute_pages;
}

}  // namespace hearth
