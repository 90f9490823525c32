#include "app/exchange/own_format.h"

#include <unordered_map>

#include <nlohmann/json.hpp>

#include "app/exchange/json_reading.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kStates[] = {"complete", "streaming", "stopped", "failed"};

/// Stored JSON as a value; null when there is none.
Json embedded(const std::string& text) {
    Json json = Json::parse(text, nullptr, false);
    return json.is_discarded() ? Json(nullptr) : json;
}

Json message_json(const PortableChat& chat, const PortableMessage& portable) {
    const StoredMessage& m = portable.message;
    Json json;
    json["id"] = portable.origin;
    json["parent"] = nullptr;
    if (portable.parent >= 0)
        json["parent"] = chat.messages[static_cast<std::size_t>(portable.parent)].origin;
    json["role"] = m.role;
    json["content"] = m.content;
    json["state"] = kStates[static_cast<std::size_t>(m.state)];
    json["created_ms"] = m.created_ms;
    if (!m.reasoning.empty()) json["reasoning"] = m.reasoning;
    if (!m.finish_reason.empty()) json["finish_reason"] = m.finish_reason;
    if (!m.model.empty()) json["model"] = m.model;
    if (!m.params_json.empty()) json["params"] = embedded(m.params_json);
    if (!m.stats_json.empty()) json["stats"] = embedded(m.stats_json);
    if (!m.token_ids.empty()) json["token_ids"] = m.token_ids;
    if (!m.tokenizer_hash.empty()) json["tokenizer_hash"] = m.tokenizer_hash;
    return json;
}

PortableMessage read_message(const nlohmann::json& json) {
    PortableMessage out;
    StoredMessage& m = out.message;
    out.origin = text_at(json, "id");
    m.role = text_at(json, "role");
    m.content = text_at(json, "content");
    m.reasoning = text_at(json, "reasoning");
    m.finish_reason = text_at(json, "finish_reason");
    m.model = text_at(json, "model");
    m.params_json = object_at(json, "params");
    m.stats_json = object_at(json, "stats");
    m.tokenizer_hash = text_at(json, "tokenizer_hash");
    m.created_ms = integer_at(json, "created_ms");
    const std::string state = text_at(json, "state");
    for (std::size_t i = 0; i < std::size(kStates); ++i)
        if (state == kStates[i]) m.state = static_cast<MessageState>(i);
    const auto ids = json.find("token_ids");
    if (ids == json.end() || !ids->is_array()) return out;
    for (const auto& id : *ids) {
        if (!id.is_number_integer() || id < 0 || id > 0x7fffffff) {
            m.token_ids.clear();  // the text is encoded anew then
            break;
        }
        m.token_ids.push_back(id.get<std::int32_t>());
    }
    return out;
}

}  // namespace

std::string own_format(const std::vector<PortableChat>& chats) {
    Json json;
    json["format"] = "hearth-chats";
    json["version"] = kVersion;
    json["chats"] = Json::array();
    for (const PortableChat& chat : chats) {
        Json out = {{"origin", chat.origin},
                    {"title", chat.title},
                    {"model", chat.model},
                    {"system_prompt", chat.system_prompt},
                    {"params", embedded(chat.params_json)},
                    {"created_ms", chat.created_ms},
                    {"updated_ms", chat.updated_ms},
                    {"pinned", chat.pinned},
                    {"archived", chat.archived},
                    {"active", nullptr},
                    {"messages", Json::array()}};
        if (chat.active >= 0)
            out["active"] = chat.messages[static_cast<std::size_t>(chat.active)].origin;
        for (const PortableMessage& message : chat.messages)
            out["messages"].push_back(message_json(chat, message));
        json["chats"].push_back(std::move(out));
    }
    return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

bool is_own_format(const nlohmann::json& json) { return text_at(json, "format") == "hearth-chats"; }

Result<std::vector<PortableChat>> read_own_format(const nlohmann::json& json,
                                                  std::vector<std::string>* notes) {
    if (integer_at(json, "version") > kVersion)
        return fail(Errc::failed,
                    "it was written by a newer Hearth (version {} of the format, this program "
                    "knows {})",
                    integer_at(json, "version"), kVersion);
    std::vector<PortableChat> chats;
    for (const auto& from : array_at(json, "chats")) {
        PortableChat chat;
        chat.origin = text_at(from, "origin");
        chat.title = text_at(from, "title");
        chat.model = text_at(from, "model");
        chat.system_prompt = text_at(from, "system_prompt");
        chat.params_json = object_at(from, "params");
        chat.created_ms = integer_at(from, "created_ms");
        chat.updated_ms = integer_at(from, "updated_ms");
        chat.pinned = from.is_object() && from.value("pinned", nlohmann::json()) == true;
        chat.archived = from.is_object() && from.value("archived", nlohmann::json()) == true;
        TreeReader tree;
        tree.keep_order();
        for (const auto& message : array_at(from, "messages"))
            tree.add({text_at(message, "id"), text_at(message, "parent"), read_message(message),
                      !text_at(message, "role").empty()});
        tree.finish(&chat, text_at(from, "active"), notes);
        chats.push_back(std::move(chat));
    }
    return chats;
}

}  // namespace hearth
