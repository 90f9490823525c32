#pragma once
// Rows of the database <-> structs. All may throw SQLite::Exception; none opens a transaction.
// Reading forgives: an unknown state, a broken list of ids, a lost parent never hide a message.

#include <optional>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "engine/store/store.h"

namespace hearth::store {

/// Columns that `to_conversation` reads, from `conversations AS c`.
extern const char* const kConversationColumns;
Conversation to_conversation(SQLite::Statement& row);

/// Unknown numbers are `stopped`.
MessageState to_state(int number);

/// Messages with the text added so far; nullopt when there is none. One statement serves many
/// reads: making it anew costs more than reading a short message.
class MessageReader {
  public:
    explicit MessageReader(SQLite::Database& db);
    std::optional<StoredMessage> read(MessageId id);

  private:
    SQLite::Database& db_;
    SQLite::Statement row_;
};
std::optional<StoredMessage> read_message(SQLite::Database& db, MessageId id);

/// The writer of a message that is being streamed, nullopt when it is not.
std::optional<std::int64_t> streaming_writer(SQLite::Database& db, MessageId id);

MessageId insert_message(SQLite::Database& db, ConversationId id, const StoredMessage& message,
                         std::int64_t created_ms, std::int64_t writer);
void insert_chunk(SQLite::Database& db, MessageId id, const std::string& text,
                  const std::vector<std::int32_t>& token_ids);

/// How a streamed message ended. Empty strings keep what the message has.
struct Ending {
    MessageState state;
    std::string finish_reason, tokenizer_hash, stats_json;
};
/// Moves the chunks of a message into it and sets its state.
void fold_message(SQLite::Database& db, MessageId id, const Ending& ending);

/// The tree of a chat without its texts.
struct TreeNode {
    MessageId id, parent;  ///< parent 0: first
};
std::vector<TreeNode> read_tree(SQLite::Database& db, ConversationId id);
/// Fills `version` and `n_versions` of messages of this tree: siblings by id.
void number_versions(const std::vector<TreeNode>& tree, std::vector<StoredMessage>* messages);
/// The end of the branch that goes on from `message` by its newest children; 0 = not in the tree.
MessageId newest_end(const std::vector<TreeNode>& tree, MessageId message);
/// Ids from the root to `leaf`, oldest first. Ends early at a parent that is missing.
std::vector<MessageId> path_to(const std::vector<TreeNode>& tree, MessageId leaf);

}  // namespace hearth::store
