// The part of SqliteStore that concerns the tree of a chat: looking at it, showing another branch,
// making a chat of one.

#include <unordered_set>

#include "engine/store/fold.h"
#include "engine/store/rows.h"
#include "engine/store/sqlite_store.h"

namespace hearth::store {
namespace {

MessageId active_leaf(SQLite::Database& db, ConversationId id) {
    SQLite::Statement row(db, "SELECT coalesce(active_leaf, 0) FROM conversations WHERE id = ?");
    row.bind(1, id);
    return row.executeStep() ? row.getColumn(0).getInt64() : 0;
}

TreeEntry read_entry(SQLite::Database& db, const TreeNode& node) {
    SQLite::Statement row(db,
                          "SELECT role, state, model, created_ms, substr(content, 1, 400) FROM "
                          "messages WHERE id = ?");
    row.bind(1, node.id);
    TreeEntry entry;
    entry.id = node.id;
    entry.parent = node.parent;
    if (!row.executeStep()) return entry;
    entry.role = row.getColumn(0).getString();
    entry.state = to_state(row.getColumn(1).getInt());
    entry.model = row.getColumn(2).getString();
    entry.created_ms = row.getColumn(3).getInt64();
    entry.preview = first_line(row.getColumn(4).getString());
    return entry;
}

}  // namespace

Result<std::vector<TreeEntry>> SqliteStore::tree(ConversationId id) {
    return connection_->read("read the chat", [&]() -> Result<std::vector<TreeEntry>> {
        SQLite::Database& db = connection_->db();
        std::vector<TreeNode> nodes = read_tree(db, id);
        const std::vector<MessageId> path = path_to(nodes, active_leaf(db, id));
        const std::unordered_set<MessageId> shown(path.begin(), path.end());
        std::sort(nodes.begin(), nodes.end(),
                  [](const TreeNode& a, const TreeNode& b) { return a.id < b.id; });
        std::vector<TreeEntry> entries;
        entries.reserve(nodes.size());
        for (const TreeNode& node : nodes) {
            try {
                entries.push_back(read_entry(db, node));
            } catch (const SQLite::Exception& e) {
                if (!is_damage(e)) throw;
                TreeEntry entry;  // its place is known, what it says is not
                entry.id = node.id;
                entry.parent = node.parent;
                entry.state = MessageState::failed;
                entries.push_back(std::move(entry));
            }
            entries.back().shown = shown.count(node.id) != 0;
        }
        return entries;
    });
}

Result<MessageId> SqliteStore::show_branch(ConversationId id, MessageId message) {
    return connection_->write("switch the branch", [&]() -> Result<MessageId> {
        const MessageId leaf = newest_end(read_tree(connection_->db(), id), message);
        if (leaf == 0) return fail(Errc::failed, "Chat {} has no message {}.", id, message);
        SQLite::Statement update(connection_->db(),
                                 "UPDATE conversations SET active_leaf = ? WHERE id = ?");
        update.bind(1, leaf);
        update.bind(2, id);
        update.exec();
        return leaf;
    });
}

Result<ConversationId> SqliteStore::fork(ConversationId id, MessageId leaf) {
    return connection_->write("make a chat of the branch", [&]() -> Result<ConversationId> {
        SQLite::Database& db = connection_->db();
        const auto from = conversation_where("c.id = ? AND c.deleted_ms IS NULL", id);
        if (!from)
            return fail(Errc::failed, "There is no chat {} (`hearth history` lists them).", id);
        const MessageId last = leaf == 0 ? from->active_leaf : leaf;
        const std::vector<MessageId> path = path_to(read_tree(db, id), last);
        if (path.empty()) return fail(Errc::failed, "Chat {} has no message {}.", id, last);
        const std::int64_t now = now_ms();
        SQLite::Statement chat(
            db,
            "INSERT INTO conversations (created_ms, updated_ms, title, first_line, model, "
            "params_json, system_prompt) SELECT ?1, ?1, title, first_line, model, params_json, "
            "system_prompt FROM conversations WHERE id = ?2");
        chat.bind(1, now);
        chat.bind(2, id);
        chat.exec();
        const ConversationId made = db.getLastInsertRowid();
        MessageId parent = 0;
        for (const MessageId at : path) {
            std::optional<StoredMessage> copy = read_message(db, at);
            if (!copy) continue;
            copy->parent = parent;
            if (copy->state == MessageState::streaming) copy->state = MessageState::stopped;
            parent = insert_message(db, made, *copy, copy->created_ms, 0);
        }
        SQLite::Statement shown(db, "UPDATE conversations SET active_leaf = ? WHERE id = ?");
        shown.bind(1, parent);
        shown.bind(2, made);
        shown.exec();
        return made;
    });
}

}  // namespace hearth::store
