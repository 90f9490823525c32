#pragma once
// Store: conversations in SQLite (WAL), messages as a tree, token ids, parameters, stats. One
// writer connection per object; several processes may have the same file open. What a call
// returned from is committed: kill -9 later loses nothing of it. Knows nothing of generation.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"

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
};

struct Conversation {
    ConversationId id = 0;
    std::string title;  ///< first line of the first message until set
    std::string model;  ///< path or name as the user gave it
    std::string system_prompt;
    std::string params_json;
    MessageId active_leaf = 0;  ///< the branch that is shown
    std::int64_t created_ms = 0, updated_ms = 0;
    int n_messages = 0;
    bool pinned = false, archived = false;
};

class Store {
  public:
    /// Opens or makes the database (0600, folder 0700), migrates older schemas after a copy, marks
    /// answers of dead processes as stopped. A newer schema opens read-only with a notice.
    static Result<std::unique_ptr<Store>> open(const std::string& path);
    /// Nothing on disk: for --no-log.
    static Result<std::unique_ptr<Store>> in_memory();
    virtual ~Store() = default;

    virtual bool read_only() const = 0;
    virtual std::vector<std::string> notices() const = 0;  ///< sentences for the user, from open

    virtual Result<ConversationId> create(const std::string& model) = 0;
    virtual Result<std::vector<Conversation>> list(int limit, int offset = 0) = 0;
    virtual Result<std::optional<Conversation>> get(ConversationId id) = 0;
    /// By id, exact title, or unique prefix of a title; nullopt when none. Ambiguous: error.
    virtual Result<std::optional<Conversation>> find(const std::string& name) = 0;
    virtual Result<std::optional<Conversation>> latest() = 0;
    virtual Result<void> set_title(ConversationId id, const std::string& title) = 0;
    virtual Result<void> set_model(ConversationId id, const std::string& model) = 0;
    virtual Result<void> set_system_prompt(ConversationId id, const std::string& text) = 0;
    virtual Result<void> set_params(ConversationId id, const std::string& params_json) = 0;
    virtual Result<void> set_active_leaf(ConversationId id, MessageId leaf) = 0;
    /// Soft delete; gone from lists, restorable.
    virtual Result<void> remove(ConversationId id) = 0;
    virtual Result<void> restore(ConversationId id) = 0;
    virtual Result<std::optional<Conversation>> latest_removed() = 0;

    /// Messages from the root to the active leaf (or to `leaf`).
    virtual Result<std::vector<StoredMessage>> path(ConversationId id, MessageId leaf = 0) = 0;
    /// Siblings of a message (same parent and conversation), oldest first: versions.
    virtual Result<std::vector<StoredMessage>> versions(ConversationId id, MessageId message) = 0;
    /// Appends under `message.parent` (0 = root) and makes it the active leaf; committed on return.
    virtual Result<MessageId> append(ConversationId id, const StoredMessage& message) = 0;
    /// Adds text and ids to a streaming message; cost is O(what is added).
    virtual Result<void> extend(MessageId id, const std::string& text,
                                const std::vector<std::int32_t>& token_ids) = 0;
    /// Ends a streaming message.
    virtual Result<void> finish(MessageId id, MessageState state, const std::string& finish_reason,
                                const std::string& tokenizer_hash,
                                const std::string& stats_json) = 0;
    /// Conversations whose messages or title contain `text` (any script, any length), newest first.
    virtual Result<std::vector<Conversation>> search(const std::string& text, int limit) = 0;
    virtual Result<void> check_integrity() = 0;
};

}  // namespace hearth
