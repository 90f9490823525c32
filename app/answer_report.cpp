#include "app/answer_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/chat_turn.h"

namespace hearth {

std::string answer_as_json(const ViewState& view) {
    const TurnResult& last = *view.last;
    const Stats& stats = last.stats;
    nlohmann::ordered_json json;
    json["text"] = view.answer;
    json["token_ids"] = view.answer_ids;
    json["finish_reason"] = finish_reason_name(last.reason);
    json["usage"] = {{"prompt_tokens", stats.prompt_tokens},
                     {"cached_tokens", stats.cached_tokens},
                     {"completion_tokens", stats.completion_tokens}};
    json["cache"] = {{"ram", stats.cached_ram_tokens}, {"disk", stats.cached_disk_tokens}};
    json["timings"] = {{"queue_ms", stats.queue_ms},
                       {"load_ms", stats.load_ms},
                       {"first_token_ms", stats.first_token_ms},
                       {"restore_ms", stats.restore_ms},
                       {"prefill_ms", stats.prefill_ms},
                       {"decode_ms", stats.decode_ms},
                       {"total_ms", stats.total_ms},
                       {"prefill_tok_s", stats.prefill_tok_s()},
                       {"decode_tok_s", stats.decode_tok_s()}};
    json["logits_hash"] = stats.logits_hash;
    json["model"] = view.model_name;
    json["seed"] = last.seed;
    json["conversation"] = nullptr;  // nothing is stored of it
    if (view.chat.id != 0) json["conversation"] = view.chat.id;
    json["context"] = {{"tokens", stats.context_tokens},
                       {"used", stats.context_used},
                       {"left_out_messages", view.unseen_end - view.unseen_begin}};
    json["backend"] = stats.backend;
    json["speculation"] = speculation_to_json(stats.speculation);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string answer_stats(const ViewState& view, const std::vector<SettingValue>& settings) {
    const TurnResult& last = *view.last;
    const Stats& s = last.stats;
    std::string text = fmt::format("model    {}, {}\n", view.model_name, s.backend);
    text +=
        fmt::format("prompt   {} tokens, {} of them from the cache, {:.0f} ms, {:.1f} tokens/s\n",
                    s.prompt_tokens, s.cached_tokens, s.prefill_ms, s.prefill_tok_s());
    text += fmt::format("cache    {} tokens from memory, {} from disk in {:.0f} ms\n",
                        s.cached_ram_tokens, s.cached_disk_tokens, s.restore_ms);
    text += fmt::format("answer   {} tokens, {:.1f} tokens/s, first after {:.0f} ms, end: {}\n",
                        s.completion_tokens, s.decode_tok_s(), s.first_token_ms,
                        finish_reason_name(last.reason));
    if (const SpeculationStats& d = s.speculation; d.steps > 0) {
        text += fmt::format(
            "drafts   by {}: {} of {} accepted ({:.0f} %), {:.2f} a step, {:.2f} times as fast\n",
            d.drafter, d.accepted, d.drafted, 100.0 * d.accepted / d.drafted,
            static_cast<double>(d.accepted) / d.steps, d.speedup);
    }
    text += fmt::format("context  {} of {} tokens\nseed     {}\n", s.context_used, s.context_tokens,
                        last.seed);
    for (const SettingValue& value : settings) {
        if (value.origin == Origin::built_in || value.name == "seed") continue;
        text += fmt::format("{} = {} ({})\n", value.name, value.value, origin_name(value.origin));
    }
    return text;
}

}  // namespace hearth
