#pragma once
// Hearth's own JSON: {"format": "hearth-chats", "version": 1, "chats": [...]}. A chat has origin,
// title, model, system_prompt, params, created_ms, updated_ms, pinned, archived, active (id of a
// message) and messages, parents first: id, parent (id or null), role, content, state, created_ms,
// and where they are not empty reasoning, finish_reason, model, params, stats, token_ids,
// tokenizer_hash.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/base/result.h"
#include "engine/store/store_types.h"

namespace hearth {

std::string own_format(const std::vector<PortableChat>& chats);
bool is_own_format(const nlohmann::json& json);
/// Errors: failed. What is not as expected in a message is left out, with a note.
Result<std::vector<PortableChat>> read_own_format(const nlohmann::json& json,
                                                  std::vector<std::string>* notes);

}  // namespace hearth
