#include "app/exchange/foreign_formats.h"

#include <fmt/format.h>

#include "app/exchange/json_reading.h"

namespace hearth {
namespace {

using nlohmann::json;

bool is_role(const std::string& role) {
    return role == "user" || role == "assistant" || role == "system" || role == "tool";
}

void add_line(std::string& text, const std::string& more) {
    if (more.empty()) return;
    if (!text.empty()) text += "\n";
    text += more;
}

/// The names of attached files as the message's parameters, "" when there are none.
std::string attachments_json(const json& names) {
    if (names.empty()) return {};
    return json{{"attachments", names}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

// --- ChatGPT -------------------------------------------------------------------------------------

/// Text of a message's content, whatever its kind; what is no text is named in brackets.
std::string chatgpt_text(const json& content) {
    std::string text;
    for (const json& part : array_at(content, "parts")) {
        if (part.is_string()) {
            add_line(text, part.get<std::string>());
        } else if (part.is_object()) {
            const std::string inside = text_at(part, "text");
            const std::string kind = text_at(part, "content_type");
            add_line(text, !inside.empty() ? inside
                                           : fmt::format("[{}]", kind.empty() ? "not text" : kind));
        }
    }
    if (text.empty()) text = text_at(content, "text");
    if (text.empty()) text = text_at(content, "result");
    return text;
}

std::string chatgpt_thoughts(const json& content) {
    std::string text;
    for (const json& thought : array_at(content, "thoughts")) {
        add_line(text, text_at(thought, "summary"));
        add_line(text, text_at(thought, "content"));
    }
    return text;
}

TreeReader::Node chatgpt_node(const std::string& id, const json& from) {
    const json& message = map_at(from, "message");
    const json& metadata = map_at(message, "metadata");
    const json& content = map_at(message, "content");
    TreeReader::Node node;
    node.id = id;
    node.parent = text_at(from, "parent");
    StoredMessage& m = node.message.message;
    m.role = text_at(map_at(message, "author"), "role");
    m.content = chatgpt_text(content);
    m.reasoning = chatgpt_thoughts(content);
    m.created_ms = seconds_at(message, "create_time");
    m.model = text_at(metadata, "model_slug");
    json names = json::array();
    for (const json& attachment : array_at(metadata, "attachments"))
        if (const std::string name = text_at(attachment, "name"); !name.empty())
            names.push_back(name);
    m.params_json = attachments_json(names);
    // Empty and hidden nodes are ChatGPT's own bookkeeping.
    const auto hidden = metadata.find("is_visually_hidden_from_conversation");
    const bool is_hidden = hidden != metadata.end() && *hidden == true;
    node.wanted = is_role(m.role) && !is_hidden &&
                  !(m.content.empty() && m.reasoning.empty() && names.empty());
    return node;
}

// --- LM Studio -----------------------------------------------------------------------------------

/// Adds the text blocks of a content list.
void add_blocks(const json& content, std::string& text, json& names) {
    for (const json& block : content) {
        if (text_at(block, "type") == "text") add_line(text, text_at(block, "text"));
        if (text_at(block, "type") == "file") {
            const std::string name = text_at(block, "fileIdentifier");
            names.push_back(name.empty() ? text_at(block, "name") : name);
        }
    }
}

StoredMessage lm_studio_message(const json& version) {
    StoredMessage m;
    json names = json::array();
    m.role = text_at(version, "role");
    add_blocks(array_at(version, "content"), m.content, names);
    for (const json& step : array_at(version, "steps")) {
        const bool is_thought = text_at(map_at(step, "style"), "type") == "thinking";
        add_blocks(array_at(step, "content"), is_thought ? m.reasoning : m.content, names);
        if (m.model.empty()) m.model = text_at(map_at(step, "genInfo"), "identifier");
    }
    if (m.model.empty() && m.role == "assistant")
        m.model = text_at(map_at(version, "senderInfo"), "senderName");
    m.params_json = attachments_json(names);
    return m;
}

// --- lists of messages ---------------------------------------------------------------------------

/// Content as a string, or as a list of {type: text, text} blocks.
std::string content_of(const json& message) {
    std::string text = text_at(message, "content");
    for (const json& block : array_at(message, "content"))
        if (block.is_string())
            add_line(text, block.get<std::string>());
        else
            add_line(text, text_at(block, "text"));
    return text;
}

const json& messages_of(const json& from) {
    return from.is_array() ? from : array_at(from, "messages");
}

}  // namespace

bool is_chatgpt(const json& from) {
    return from.is_array() && !from.empty() && from[0].is_object() && from[0].contains("mapping");
}

std::vector<PortableChat> read_chatgpt(const json& from, std::vector<std::string>* notes) {
    std::vector<PortableChat> chats;
    for (const json& conversation : from) {
        PortableChat chat;
        const json& mapping = map_at(conversation, "mapping");
        std::string id = text_at(conversation, "conversation_id");
        if (id.empty()) id = text_at(conversation, "id");
        // Old exports have no id; the first node's is unique as well.
        if (id.empty() && !mapping.empty()) id = mapping.begin().key();
        chat.title = text_at(conversation, "title");
        if (id.empty()) {
            notes->push_back(fmt::format("“{}” has no id and no messages: left out", chat.title));
            continue;
        }
        chat.origin = "chatgpt:" + id;
        chat.created_ms = seconds_at(conversation, "create_time");
        chat.updated_ms = seconds_at(conversation, "update_time");
        const auto archived = conversation.find("is_archived");
        chat.archived = archived != conversation.end() && *archived == true;
        TreeReader tree;
        for (const auto& [key, node] : mapping.items()) tree.add(chatgpt_node(key, node));
        tree.finish(&chat, text_at(conversation, "current_node"), notes);
        chats.push_back(std::move(chat));
    }
    return chats;
}

bool is_lm_studio(const json& from) {
    const json& messages = array_at(from, "messages");
    return !messages.empty() && messages[0].is_object() && messages[0].contains("versions");
}

PortableChat read_lm_studio(const json& from, std::vector<std::string>* notes) {
    PortableChat chat;
    const std::int64_t created = integer_at(from, "createdAt");
    chat.origin = fmt::format("lmstudio:{}", created);
    chat.title = text_at(from, "name");
    chat.system_prompt = text_at(from, "systemPrompt");
    chat.created_ms = chat.updated_ms = created > 0 ? created : 0;
    chat.updated_ms = std::max(chat.updated_ms, integer_at(from, "userLastMessagedAt"));
    chat.pinned = from.value("pinned", json()) == true;
    TreeReader tree;
    std::string parent;
    std::size_t n = 0;
    for (const json& message : array_at(from, "messages")) {
        const json& versions = array_at(message, "versions");
        std::int64_t selected = integer_at(message, "currentlySelected");
        if (selected < 0 || selected >= static_cast<std::int64_t>(versions.size())) selected = 0;
        std::string next = parent;
        for (std::size_t v = 0; v < versions.size(); ++v) {
            TreeReader::Node node;
            node.id = fmt::format("{}.{}", n, v);
            node.parent = parent;
            node.message.message = lm_studio_message(versions[v]);
            node.wanted = is_role(node.message.message.role);
            if (static_cast<std::int64_t>(v) == selected) next = node.id;
            tree.add(std::move(node));
        }
        parent = next;
        ++n;
    }
    tree.finish(&chat, parent, notes);
    return chat;
}

bool is_message_list(const json& from) {
    const json& messages = messages_of(from);
    return !messages.empty() && messages[0].is_object() && messages[0].contains("role") &&
           messages[0].contains("content");
}

PortableChat read_message_list(const json& from, const std::string& hash,
                               std::vector<std::string>* notes) {
    PortableChat chat;
    const std::string id = text_at(from, "id");
    chat.origin = id.empty() ? "list:" + hash : "list-id:" + id;
    chat.title = text_at(from, "title");
    chat.model = text_at(from, "model");
    chat.system_prompt = text_at(from, "system");
    TreeReader tree;
    std::string parent;
    std::size_t n = 0, n_strange = 0;
    for (const json& message : messages_of(from)) {
        TreeReader::Node node;
        StoredMessage& m = node.message.message;
        m.role = text_at(message, "role");
        m.content = content_of(message);
        m.reasoning = text_at(message, "thinking");
        m.model = m.role == "assistant" ? chat.model : "";
        if (!is_role(m.role)) {
            ++n_strange;
            continue;
        }
        // The first system message is the chat's system prompt here.
        if (m.role == "system" && n == 0 && chat.system_prompt.empty()) {
            chat.system_prompt = m.content;
            continue;
        }
        node.id = std::to_string(++n);
        node.parent = std::exchange(parent, node.id);
        tree.add(std::move(node));
    }
    tree.finish(&chat, parent, notes);
    if (n_strange > 0)
        notes->push_back(fmt::format(
            "{} messages of {} are left out: their role is none of user, assistant, system, tool",
            n_strange, messages_of(from).size()));
    return chat;
}

}  // namespace hearth
