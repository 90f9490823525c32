#pragma once
// What the store gives and takes: plain data.

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

using ConversationId = std::int64_t;
using MessageId = std::int64_t;

enum class MessageState { complete, streaming, stopped, failed };

struct StoredMessage {
    MessageId id = 0;
    MessageId parent = 0;  ///< 0 = first of the conversation
    std::string role;
    std::string content;
    std::string reasoning;  ///< thinking text, empty mostly
    std::vector<std::int32_t> token_ids;
    std::string tokenizer_hash;
    MessageState state = MessageState::complete;
    std::string finish_reason;
    std::string model;                    ///< name of the model that wrote it
    std::string params_json, stats_json;  ///< "" or a JSON object
    std::int64_t created_ms = 0;          ///< Unix time
    int version = 1, n_versions = 1;      ///< place among its siblings, 1-based; filled by reading
};

struct Conversation {
    ConversationId id = 0;
    std::string title;  ///< first line of the first message until set
    std::string model;  ///< path or name as the user gave it
    std::string system_prompt;
    std::string params_json;
    MessageId active_leaf = 0;  ///< the branch that is shown
    std::int64_t created_ms = 0, updated_ms = 0;
    std::int64_t deleted_ms = 0;  ///< 0 = not deleted
    int n_messages = 0;
    bool pinned = false, archived = false;
};

/// Where a chat lies.
enum class ChatFolder { shown, archived, trash };

/// A message of a chat's tree without its text.
struct TreeEntry {
    MessageId id = 0, parent = 0;  ///< parent 0 = first
    std::string role;
    std::string preview;  ///< first line, at most 80 characters
    std::string model;
    MessageState state = MessageState::complete;
    std::int64_t created_ms = 0;
    bool shown = false;  ///< on the active branch
};

struct SearchHit {
    Conversation chat;
    MessageId message = 0;  ///< the newest that has the text; 0 = the title has it
    std::string snippet;    ///< one line around the place; the place is [begin, end) in it
    std::size_t begin = 0, end = 0;
};

/// A message on its way from or to somewhere else. `origin` names it, unique within its chat.
struct PortableMessage {
    std::string origin;
    int parent = -1;        ///< index of an earlier message; -1 = first
    StoredMessage message;  ///< id, parent and version are not used
};

/// A chat with all its branches, from or for another place.
struct PortableChat {
    std::string origin;  ///< "chatgpt:UUID"; the same origin is the same chat
    std::string title, model, system_prompt, params_json;
    std::int64_t created_ms = 0, updated_ms = 0;
    bool pinned = false, archived = false;
    std::vector<PortableMessage> messages;  ///< parents before children
    int active = -1;                        ///< index of the leaf that is shown; -1 = the last
};

struct ImportOutcome {
    ConversationId id = 0;
    int n_added = 0;        ///< messages
    bool is_new = false;    ///< the chat was not there
    bool in_trash = false;  ///< it is there, deleted; nothing was added
};

}  // namespace hearth
