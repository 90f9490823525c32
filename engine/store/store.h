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
#include "engine/store/store_types.h"

namespace hearth {

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

    // --- chats ---------------------------------------------------------------------------------
    virtual Result<ConversationId> create(const std::string& model) = 0;
    /// Shown: pinned first, then newest first. Trash: deleted last first.
    virtual Result<std::vector<Conversation>> list(int limit, int offset = 0,
                                                   ChatFolder folder = ChatFolder::shown) = 0;
    virtual Result<std::optional<Conversation>> get(ConversationId id) = 0;
    /// By id, exact title, or unique prefix of a title; nullopt when none. Ambiguous: error.
    virtual Result<std::optional<Conversation>> find(const std::string& name) = 0;
    virtual Result<std::optional<Conversation>> latest() = 0;
    virtual Result<void> set_title(ConversationId id, const std::string& title) = 0;
    virtual Result<void> set_model(ConversationId id, const std::string& model) = 0;
    virtual Result<void> set_system_prompt(ConversationId id, const std::string& text) = 0;
    virtual Result<void> set_params(ConversationId id, const std::string& params_json) = 0;
    virtual Result<void> set_active_leaf(ConversationId id, MessageId leaf) = 0;
    virtual Result<void> set_pinned(ConversationId id, bool pinned) = 0;
    virtual Result<void> set_archived(ConversationId id, bool archived) = 0;
    /// Text typed and not sent, "" = none; id 0 = of a chat that has not begun.
    virtual Result<void> set_draft(ConversationId id, const std::string& text) = 0;
    virtual Result<std::string> draft(ConversationId id) = 0;
    /// Soft delete: into the trash, restorable.
    virtual Result<void> remove(ConversationId id) = 0;
    virtual Result<void> restore(ConversationId id) = 0;
    virtual Result<std::optional<Conversation>> latest_removed() = 0;
    /// Deletes a chat of the trash for good, its bytes too.
    virtual Result<void> purge(ConversationId id) = 0;

    // --- messages and branches -----------------------------------------------------------------
    /// Messages from the root to the active leaf (or to `leaf`).
    virtual Result<std::vector<StoredMessage>> path(ConversationId id, MessageId leaf = 0) = 0;
    /// Siblings of a message (same parent and conversation), oldest first: versions.
    virtual Result<std::vector<StoredMessage>> versions(ConversationId id, MessageId message) = 0;
    /// All messages of the chat, oldest first, without their texts.
    virtual Result<std::vector<TreeEntry>> tree(ConversationId id) = 0;
    /// Shows the branch that goes through `message`, down to its newest end.
    virtual Result<MessageId> show_branch(ConversationId id, MessageId message) = 0;
    /// A new chat with a copy of the messages from the root to `leaf` (0 = the active leaf).
    virtual Result<ConversationId> fork(ConversationId id, MessageId leaf) = 0;
    /// Appends under `message.parent` (0 = root) and makes it the active leaf; committed on return.
    virtual Result<MessageId> append(ConversationId id, const StoredMessage& message) = 0;
    /// Adds text and ids to a streaming message; cost is O(what is added).
    virtual Result<void> extend(MessageId id, const std::string& text,
                                const std::vector<std::int32_t>& token_ids) = 0;
    /// Ends a streaming message.
    virtual Result<void> finish(MessageId id, MessageState state, const std::string& finish_reason,
                                const std::string& tokenizer_hash,
                                const std::string& stats_json) = 0;

    // --- search --------------------------------------------------------------------------------
    /// Conversations whose messages or title contain `text` (any script, any length), newest first.
    virtual Result<std::vector<Conversation>> search(const std::string& text, int limit) = 0;
    /// The same with the places: titles first, then the newest message of each chat.
    virtual Result<std::vector<SearchHit>> find_text(const std::string& text, int limit) = 0;
    /// Messages of one chat, all branches, that contain `text`, oldest first.
    virtual Result<std::vector<MessageId>> find_in_chat(ConversationId id,
                                                        const std::string& text) = 0;

    // --- small facts of the program, by name ---------------------------------------------------
    virtual Result<std::string> fact(const std::string& name) = 0;  ///< "" = unknown
    virtual Result<void> set_fact(const std::string& name, const std::string& value) = 0;

    // --- the whole file ------------------------------------------------------------------------
    /// Another number whenever another process, or another store of this one, changed the file.
    /// Costs microseconds.
    virtual std::int64_t foreign_changes() = 0;
    /// Adds what is not there yet, in one transaction; nothing that is there changes.
    virtual Result<ImportOutcome> import_chat(const PortableChat& chat) = 0;
    /// All of a chat. Its origin is the one that it was imported with, or names this database, so
    /// that importing it here again adds nothing.
    virtual Result<PortableChat> export_chat(ConversationId id) = 0;
    /// Writes a whole copy to a new file (0600, synced); others go on reading and writing.
    virtual Result<void> backup(const std::string& path) = 0;
    virtual Result<void> check_integrity() = 0;
};

}  // namespace hearth
