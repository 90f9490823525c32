// The part of SqliteStore that concerns messages.

#include "engine/base/check.h"
#include "engine/store/fold.h"
#include "engine/store/rows.h"
#include "engine/store/sqlite_store.h"

namespace hearth::store {
namespace {

const char* const kInterrupted = "interrupted";

Result<void> check_new_message(SQLite::Database& db, ConversationId id,
                               const StoredMessage& message) {
    SQLite::Statement chat(db, "SELECT deleted_ms IS NOT NULL FROM conversations WHERE id = ?");
    chat.bind(1, id);
    if (!chat.executeStep())
        return fail(Errc::failed, "There is no chat {} (`hearth history` lists them).", id);
    if (chat.getColumn(0).getInt() != 0)
        return fail(Errc::failed, "Chat {} is deleted; restore it before you continue it.", id);
    if (message.parent == 0) return {};
    SQLite::Statement parent(db, "SELECT 1 FROM messages WHERE id = ? AND conversation = ?");
    parent.bind(1, message.parent);
    parent.bind(2, id);
    if (!parent.executeStep())
        return fail(Errc::failed, "Chat {} has no message {} to continue from.", id,
                    message.parent);
    return {};
}

/// The chat now shows the branch that ends in `leaf`, and has a title if it had none.
void touch_conversation(SQLite::Database& db, ConversationId id, const StoredMessage& message,
                        MessageId leaf, std::int64_t now) {
    SQLite::Statement update(
        db,
        "UPDATE conversations SET active_leaf = ?, updated_ms = ?, first_line = "
        "CASE WHEN first_line = '' THEN ? ELSE first_line END WHERE id = ?");
    update.bind(1, leaf);
    update.bind(2, now);
    // The user's words, not the fixed text of a system message, tell chats apart.
    update.bind(3, message.role == "system" ? std::string() : first_line(message.content));
    update.bind(4, id);
    update.exec();
}

}  // namespace

void SqliteStore::stop_answers_of_the_dead() {
    const auto is_dead = [&](MessageId id) {
        const auto writer = streaming_writer(connection_->db(), id);
        return writer && !writers_.alive(*writer);
    };
    const auto dead =
        connection_->read("look for interrupted answers", [&]() -> Result<std::vector<MessageId>> {
            std::vector<MessageId> found;
            for (const MessageId id : ids("SELECT id FROM messages WHERE state = 1"))
                if (is_dead(id)) found.push_back(id);
            return found;
        });
    if (!dead) return note_once(dead.error().what);
    if (read_only()) return;
    int n_stopped = 0;
    // One by one: a damaged one must not keep the others from their end.
    for (const MessageId id : *dead) {
        const auto stopped =
            connection_->write("mark an interrupted answer", [&]() -> Result<bool> {
                if (!is_dead(id)) return false;  // another process was faster
                fold_message(connection_->db(), id, {MessageState::stopped, kInterrupted, "", ""});
                return true;
            });
        if (!stopped)
            note_once(stopped.error().what);
        else if (*stopped)
            ++n_stopped;
    }
    if (n_stopped > 0)
        note_once(
            fmt::format("{} cut off when Hearth ended while writing; what was written is kept.",
                        n_stopped == 1 ? std::string("An answer was")
                                       : fmt::format("{} answers were", n_stopped)));
}

std::vector<StoredMessage> SqliteStore::messages(ConversationId id,
                                                 const std::vector<MessageId>& ids) {
    std::vector<StoredMessage> found;
    found.reserve(ids.size());
    MessageReader reader(connection_->db());
    for (const MessageId message_id : ids) {
        try {
            std::optional<StoredMessage> message = reader.read(message_id);
            if (!message) continue;
            if (message->state == MessageState::streaming &&
                !writers_.alive(streaming_writer(connection_->db(), message_id).value_or(0))) {
                message->state = MessageState::stopped;
                message->finish_reason = kInterrupted;
            }
            found.push_back(std::move(*message));
        } catch (const SQLite::Exception& e) {
            if (!is_damage(e)) throw;
            note_once(
                fmt::format("Message {} of chat {} cannot be read ({}) and is left out; the "
                            "others are not affected. The file {} needs repair.",
                            message_id, id, e.what(), connection_->path()));
        }
    }
    return found;
}

Result<std::vector<StoredMessage>> SqliteStore::path(ConversationId id, MessageId leaf) {
    return connection_->read("read the chat", [&]() -> Result<std::vector<StoredMessage>> {
        const std::vector<TreeNode> tree = read_tree(connection_->db(), id);
        MessageId last = leaf;
        if (last == 0) {
            SQLite::Statement row(
                connection_->db(),
                "SELECT coalesce(active_leaf, 0) FROM conversations WHERE id = ?");
            row.bind(1, id);
            if (!row.executeStep())
                return fail(Errc::failed, "There is no chat {} (`hearth history` lists them).", id);
            last = row.getColumn(0).getInt64();
        }
        if (last == 0) return std::vector<StoredMessage>();
        std::vector<MessageId> ids = path_to(tree, last);
        if (ids.empty() && leaf != 0)
            return fail(Errc::failed, "Chat {} has no message {}.", id, leaf);
        // A lost active leaf: better the newest branch than none.
        if (ids.empty()) {
            MessageId newest = 0;
            for (const TreeNode& node : tree) newest = std::max(newest, node.id);
            ids = path_to(tree, newest);
        }
        std::vector<StoredMessage> found = messages(id, ids);
        number_versions(tree, &found);
        return found;
    });
}

Result<std::vector<StoredMessage>> SqliteStore::versions(ConversationId id, MessageId message) {
    return connection_->read("read the versions", [&]() -> Result<std::vector<StoredMessage>> {
        const std::vector<TreeNode> tree = read_tree(connection_->db(), id);
        std::optional<MessageId> parent;
        for (const TreeNode& node : tree)
            if (node.id == message) parent = node.parent;
        if (!parent) return fail(Errc::failed, "Chat {} has no message {}.", id, message);
        std::vector<MessageId> siblings;
        for (const TreeNode& node : tree)
            if (node.parent == *parent) siblings.push_back(node.id);
        std::sort(siblings.begin(), siblings.end());
        std::vector<StoredMessage> found = messages(id, siblings);
        number_versions(tree, &found);
        return found;
    });
}

Result<MessageId> SqliteStore::append(ConversationId id, const StoredMessage& message) {
    return connection_->write("keep the message", [&]() -> Result<MessageId> {
        SQLite::Database& db = connection_->db();
        HEARTH_TRY_VOID(check_new_message(db, id, message));
        const std::int64_t now = now_ms();
        const bool is_streaming = message.state == MessageState::streaming;
        const MessageId added =
            insert_message(db, id, message, message.created_ms != 0 ? message.created_ms : now,
                           is_streaming ? writers_.self() : 0);
        touch_conversation(db, id, message, added, now);
        return added;
    });
}

Result<void> SqliteStore::extend(MessageId id, const std::string& text,
                                 const std::vector<std::int32_t>& token_ids) {
    if (text.empty() && token_ids.empty()) return {};
    return connection_->write("keep the answer", [&]() -> Result<void> {
        if (!streaming_writer(connection_->db(), id))
            return fail(Errc::failed, "Message {} is not being written (it has ended).", id);
        insert_chunk(connection_->db(), id, text, token_ids);
        return {};
    });
}

Result<void> SqliteStore::finish(MessageId id, MessageState state, const std::string& finish_reason,
                                 const std::string& tokenizer_hash, const std::string& stats_json) {
    HEARTH_CHECK(state != MessageState::streaming);
    auto kept = connection_->write("keep the answer", [&]() -> Result<void> {
        SQLite::Database& db = connection_->db();
        if (!streaming_writer(db, id))
            return fail(Errc::failed, "Message {} is not being written (it has ended).", id);
        fold_message(db, id, {state, finish_reason, tokenizer_hash, stats_json});
        SQLite::Statement update(db,
                                 "UPDATE conversations SET updated_ms = ? WHERE id = "
                                 "(SELECT conversation FROM messages WHERE id = ?)");
        update.bind(1, now_ms());
        update.bind(2, id);
        update.exec();
        return {};
    });
    // Between two turns, where nobody waits.
    if (kept) index_some(std::chrono::milliseconds(50), 64);
    return kept;
}

Result<void> SqliteStore::check_integrity() {
    return connection_->read("check the database", [&]() -> Result<void> {
        SQLite::Database& db = connection_->db();
        const std::string found = db.execAndGet("PRAGMA integrity_check(1)").getString();
        if (found != "ok") return tl::unexpected<Error>(damaged(connection_->path(), found));
        const char* const kRules[] = {
            "SELECT 'message ' || m.id || ' follows one of another chat or a later one' "
            "FROM messages m LEFT JOIN messages p ON p.id = m.parent WHERE m.parent IS NOT NULL "
            "AND (p.id IS NULL OR p.conversation <> m.conversation OR p.id >= m.id) LIMIT 1",
            "SELECT 'message ' || m.id || ' belongs to no chat' FROM messages m WHERE NOT EXISTS "
            "(SELECT 1 FROM conversations c WHERE c.id = m.conversation) LIMIT 1",
            "SELECT 'chat ' || c.id || ' shows a message that it does not have' FROM conversations "
            "c WHERE c.active_leaf IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages m WHERE "
            "m.id = c.active_leaf AND m.conversation = c.id) LIMIT 1",
            "SELECT 'the token ids of message ' || id || ' are cut' FROM messages "
            "WHERE length(token_ids) % 4 <> 0 LIMIT 1",
            "SELECT 'a piece of text belongs to message ' || message || ', which has ended' "
            "FROM message_chunks k WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE "
            "m.id = k.message AND m.state = 1) LIMIT 1"};
        for (const char* rule : kRules) {
            SQLite::Statement broken(db, rule);
            if (broken.executeStep())
                return tl::unexpected<Error>(
                    damaged(connection_->path(), broken.getColumn(0).getString()));
        }
        return {};
    });
}

}  // namespace hearth::store
