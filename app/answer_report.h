#pragma once
// How an answer is told besides its text: `run --json` and `--stats`.

#include <string>
#include <vector>

#include "app/settings.h"
#include "app/view_state.h"

namespace hearth {

/// One JSON object: text, token_ids, finish_reason, usage, timings, logits_hash, model, seed,
/// conversation, context, backend. Needs view.last.
std::string answer_as_json(const ViewState& view);
/// Lines for people: tokens, speed, context, seed, and where settings come from.
std::string answer_stats(const ViewState& view, const std::vector<SettingValue>& settings);

}  // namespace hearth
