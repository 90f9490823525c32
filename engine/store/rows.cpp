#include "engine/store/rows.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

namespace hearth::store {
namespace {

void bind_ids(SQLite::Statement& statement, int index, const std::vector<std::int32_t>& ids) {
    // A pointer to nothing would bind NULL.
    const void* bytes = ids.empty() ? static_cast<const void*>("") : ids.data();
    statement.bind(index, bytes, static_cast<int>(ids.size() * sizeof(std::int32_t)));
}

/// Nothing is added from a list that is cut in the middle of an id: the text is encoded anew then.
bool append_ids(const SQLite::Column& column, std::vector<std::int32_t>* ids) {
    const auto n_bytes = static_cast<std::size_t>(column.getBytes());
    if (n_bytes % sizeof(std::int32_t) != 0) return false;
    const std::size_t old_count = ids->size();
    ids->resize(old_count + n_bytes / sizeof(std::int32_t));
    if (n_bytes > 0) std::memcpy(ids->data() + old_count, column.getBlob(), n_bytes);
    return true;
}

int to_number(MessageState state) {
    switch (state) {
        case MessageState::complete:
            return 0;
        case MessageState::streaming:
            return 1;
        case MessageState::stopped:
            return 2;
        case MessageState::failed:
            return 3;
    }
    return 2;
}

/// Adds the chunks of a message to its text and ids. One bad list of ids makes all of them useless.
void append_chunks(SQLite::Database& db, MessageId id, std::string* text,
                   std::vector<std::int32_t>* ids, bool ids_good) {
    SQLite::Statement chunks(
        db, "SELECT content, token_ids FROM message_chunks WHERE message = ? ORDER BY id");
    chunks.bind(1, id);
    while (chunks.executeStep()) {
        *text += chunks.getColumn(0).getString();
        ids_good = append_ids(chunks.getColumn(1), ids) && ids_good;
    }
    if (!ids_good) ids->clear();
}

}  // namespace

MessageState to_state(int number) {
    switch (number) {
        case 0:
            return MessageState::complete;
        case 1:
            return MessageState::streaming;
        case 3:
            return MessageState::failed;
        default:
            return MessageState::stopped;
    }
}

const char* const kConversationColumns =
    "c.id, coalesce(c.title, c.first_line), c.model, c.system_prompt, c.params_json, "
    "coalesce(c.active_leaf, 0), c.created_ms, c.updated_ms, c.pinned, c.archived, "
    "coalesce(c.deleted_ms, 0), "
    "(SELECT count(*) FROM messages m WHERE m.conversation = c.id)";

Conversation to_conversation(SQLite::Statement& row) {
    Conversation c;
    c.id = row.getColumn(0).getInt64();
    c.title = row.getColumn(1).getString();
    c.model = row.getColumn(2).getString();
    c.system_prompt = row.getColumn(3).getString();
    c.params_json = row.getColumn(4).getString();
    c.active_leaf = row.getColumn(5).getInt64();
    c.created_ms = row.getColumn(6).getInt64();
    c.updated_ms = row.getColumn(7).getInt64();
    c.pinned = row.getColumn(8).getInt() != 0;
    c.archived = row.getColumn(9).getInt() != 0;
    c.deleted_ms = row.getColumn(10).getInt64();
    c.n_messages = row.getColumn(11).getInt();
    return c;
}

MessageReader::MessageReader(SQLite::Database& db)
    : db_(db),
      row_(db,
           "SELECT coalesce(parent, 0), created_ms, state, role, finish_reason, model, "
           "tokenizer_hash, "
           "params_json, stats_json, token_ids, reasoning, content FROM messages WHERE id = ?") {}

std::optional<StoredMessage> MessageReader::read(MessageId id) {
    SQLite::Statement& row = row_;
    row.tryReset();
    row.bind(1, id);
    if (!row.executeStep()) return std::nullopt;
    StoredMessage m;
    m.id = id;
    m.parent = row.getColumn(0).getInt64();
    m.created_ms = row.getColumn(1).getInt64();
    m.state = to_state(row.getColumn(2).getInt());
    m.role = row.getColumn(3).getString();
    m.finish_reason = row.getColumn(4).getString();
    m.model = row.getColumn(5).getString();
    m.tokenizer_hash = row.getColumn(6).getString();
    m.params_json = row.getColumn(7).getString();
    m.stats_json = row.getColumn(8).getString();
    const bool ids_good = append_ids(row.getColumn(9), &m.token_ids);
    m.reasoning = row.getColumn(10).getString();
    m.content = row.getColumn(11).getString();
    if (m.state == MessageState::streaming)
        append_chunks(db_, id, &m.content, &m.token_ids, ids_good);
    // An open statement would hold the snapshot.
    row.tryReset();
    return m;
}

std::optional<StoredMessage> read_message(SQLite::Database& db, MessageId id) {
    return MessageReader(db).read(id);
}

std::optional<std::int64_t> streaming_writer(SQLite::Database& db, MessageId id) {
    SQLite::Statement row(db,
                          "SELECT coalesce(writer, 0) FROM messages WHERE id = ? AND state = 1");
    row.bind(1, id);
    if (!row.executeStep()) return std::nullopt;
    return row.getColumn(0).getInt64();
}

MessageId insert_message(SQLite::Database& db, ConversationId id, const StoredMessage& message,
                         std::int64_t created_ms, std::int64_t writer) {
    SQLite::Statement insert(
        db,
        "INSERT INTO messages (conversation, parent, created_ms, state, writer, role, "
        "finish_reason, "
        "model, tokenizer_hash, params_json, stats_json, token_ids, reasoning, content) "
        "VALUES (?, nullif(?, 0), ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(1, id);
    insert.bind(2, message.parent);
    insert.bind(3, created_ms);
    insert.bind(4, to_number(message.state));
    insert.bind(5, writer);
    insert.bind(6, message.role);
    insert.bind(7, message.finish_reason);
    insert.bind(8, message.model);
    insert.bind(9, message.tokenizer_hash);
    insert.bind(10, message.params_json);
    insert.bind(11, message.stats_json);
    bind_ids(insert, 12, message.token_ids);
    insert.bind(13, message.reasoning);
    insert.bind(14, message.content);
    insert.exec();
    return db.getLastInsertRowid();
}

void insert_chunk(SQLite::Database& db, MessageId id, const std::string& text,
                  const std::vector<std::int32_t>& token_ids) {
    SQLite::Statement insert(
        db, "INSERT INTO message_chunks (message, token_ids, content) VALUES (?, ?, ?)");
    insert.bind(1, id);
    bind_ids(insert, 2, token_ids);
    insert.bind(3, text);
    insert.exec();
}

void fold_message(SQLite::Database& db, MessageId id, const Ending& ending) {
    std::string text;
    std::vector<std::int32_t> ids;
    bool ids_good = true;
    {
        SQLite::Statement row(db, "SELECT content, token_ids FROM messages WHERE id = ?");
        row.bind(1, id);
        if (!row.executeStep()) return;
        text = row.getColumn(0).getString();
        ids_good = append_ids(row.getColumn(1), &ids);
    }
    append_chunks(db, id, &text, &ids, ids_good);
    SQLite::Statement update(
        db,
        "UPDATE messages SET content = ?, token_ids = ?, state = ?, writer = NULL, "
        "finish_reason = coalesce(nullif(?, ''), finish_reason), "
        "tokenizer_hash = coalesce(nullif(?, ''), tokenizer_hash), "
        "stats_json = coalesce(nullif(?, ''), stats_json) WHERE id = ?");
    update.bind(1, text);
    bind_ids(update, 2, ids);
    update.bind(3, to_number(ending.state));
    update.bind(4, ending.finish_reason);
    update.bind(5, ending.tokenizer_hash);
    update.bind(6, ending.stats_json);
    update.bind(7, id);
    update.exec();
    SQLite::Statement chunks(db, "DELETE FROM message_chunks WHERE message = ?");
    chunks.bind(1, id);
    chunks.exec();
}

std::vector<TreeNode> read_tree(SQLite::Database& db, ConversationId id) {
    SQLite::Statement rows(db,
                           "SELECT id, coalesce(parent, 0) FROM messages "
                           "WHERE conversation = ?");
    rows.bind(1, id);
    std::vector<TreeNode> tree;
    while (rows.executeStep())
        tree.push_back({rows.getColumn(0).getInt64(), rows.getColumn(1).getInt64()});
    return tree;
}

std::vector<MessageId> path_to(const std::vector<TreeNode>& tree, MessageId leaf) {
    std::unordered_map<MessageId, MessageId> parent_of;
    parent_of.reserve(tree.size());
    for (const TreeNode& node : tree) parent_of[node.id] = node.parent;
    std::vector<MessageId> ids;
    // A parent is older than its child, so a ring (damage) ends here too.
    for (auto at = parent_of.find(leaf); at != parent_of.end();) {
        ids.push_back(at->first);
        if (at->second >= at->first) break;
        at = parent_of.find(at->second);
    }
    std::reverse(ids.begin(), ids.end());
    return ids;
}

void number_versions(const std::vector<TreeNode>& tree, std::vector<StoredMessage>* messages) {
    // Children of one parent next to each other, oldest first.
    std::vector<TreeNode> sorted = tree;
    std::sort(sorted.begin(), sorted.end(), [](const TreeNode& a, const TreeNode& b) {
        return std::pair(a.parent, a.id) < std::pair(b.parent, b.id);
    });
    const auto by_parent = [](const TreeNode& a, const TreeNode& b) { return a.parent < b.parent; };
    for (StoredMessage& message : *messages) {
        const auto [first, last] = std::equal_range(
            sorted.begin(), sorted.end(), TreeNode{message.id, message.parent}, by_parent);
        message.n_versions = std::max(1, static_cast<int>(last - first));
        message.version = 1;
        for (auto at = first; at != last && at->id < message.id; ++at) ++message.version;
    }
}

MessageId newest_end(const std::vector<TreeNode>& tree, MessageId message) {
    std::unordered_map<MessageId, MessageId> newest_child;
    bool is_there = false;
    for (const TreeNode& node : tree) {
        is_there = is_there || node.id == message;
        MessageId& child = newest_child[node.parent];
        // A child is younger than its parent; damage that says otherwise is not followed.
        if (node.id > node.parent) child = std::max(child, node.id);
    }
    if (!is_there) return 0;
    for (auto at = newest_child.find(message); at != newest_child.end() && at->second != 0;
         at = newest_child.find(message))
        message = at->second;
    return message;
}

}  // namespace hearth::store
