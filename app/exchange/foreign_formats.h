#pragma once
// Files of other programs as PortableChats. A reader takes JSON of any shape; what it does not know
// is left out with a note.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "engine/store/store_types.h"

namespace hearth {

/// ChatGPT's conversations.json: [{id, title, create_time, mapping: {id: {parent, message}},
/// current_node}].
bool is_chatgpt(const nlohmann::json& json);
std::vector<PortableChat> read_chatgpt(const nlohmann::json& json, std::vector<std::string>* notes);

/// LM Studio's *.conversation.json: {name, createdAt, messages: [{versions, currentlySelected}]}.
bool is_lm_studio(const nlohmann::json& json);
PortableChat read_lm_studio(const nlohmann::json& json, std::vector<std::string>* notes);

/// [{role, content}, …], also as "messages" of an object with model, title and so on: what Ollama's
/// and OpenAI's interfaces take and many programs save. `hash` names a chat that has no id.
bool is_message_list(const nlohmann::json& json);
PortableChat read_message_list(const nlohmann::json& json, const std::string& hash,
                               std::vector<std::string>* notes);

}  // namespace hearth
