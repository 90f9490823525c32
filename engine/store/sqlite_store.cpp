#include "engine/store/sqlite_store.h"

#include <algorithm>
#include <charconv>

#include "engine/store/fold.h"
#include "engine/store/rows.h"

namespace hearth {

Result<std::unique_ptr<Store>> Store::open(const std::string& path) {
    HEARTH_TRY(auto connection, store::Connection::open(path));
    auto opened = std::make_unique<store::SqliteStore>(std::move(connection));
    opened->stop_answers_of_the_dead();
    return opened;
}

Result<std::unique_ptr<Store>> Store::in_memory() {
    HEARTH_TRY(auto connection, store::Connection::in_memory());
    return std::make_unique<store::SqliteStore>(std::move(connection));
}

namespace store {
namespace {

tl::unexpected<Error> no_such_chat(ConversationId id) {
    return fail(Errc::failed, "There is no chat {} (`hearth history` lists them).", id);
}

bool starts_with(const std::string& text, const std::string& prefix) {
    return text.compare(0, prefix.size(), prefix) == 0;
}

struct TitledId {
    ConversationId id;
    std::string title;
};

/// Titles that equal `name`; else equal without case; else start with it without case.
std::vector<TitledId> best_matches(const std::vector<TitledId>& all, const std::string& name) {
    std::vector<TitledId> same, same_folded, longer;
    const std::string folded_name = fold(name);
    for (const TitledId& chat : all) {
        if (chat.title == name) same.push_back(chat);
        const std::string folded = fold(chat.title);
        if (folded == folded_name) same_folded.push_back(chat);
        if (starts_with(folded, folded_name)) longer.push_back(chat);
    }
    if (!same.empty()) return same;
    return same_folded.empty() ? longer : same_folded;
}

std::string chat_list(const std::vector<TitledId>& chats) {
    constexpr std::size_t kShown = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(chats.size(), kShown); ++i)
        text += fmt::format("{}{} “{}”", i == 0 ? "" : ", ", chats[i].id, chats[i].title);
    return chats.size() > kShown ? text + ", …" : text;
}

}  // namespace

SqliteStore::SqliteStore(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)),
      writers_(connection_->in_memory_only() ? "" : connection_->path() + ".live") {}

std::int64_t SqliteStore::now_ms() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const std::int64_t now =
        std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
    last_ms_ = std::max(now, last_ms_ + 1);
    return last_ms_;
}

void SqliteStore::note_once(std::string notice) {
    if (noted_.insert(notice).second) connection_->notices().push_back(std::move(notice));
}

std::optional<Conversation> SqliteStore::conversation_where(const char* condition,
                                                            std::int64_t value) {
    SQLite::Statement row(connection_->db(), fmt::format("SELECT {} FROM conversations c WHERE {}",
                                                         kConversationColumns, condition));
    if (row.getBindParameterCount() > 0) row.bind(1, value);
    if (!row.executeStep()) return std::nullopt;
    return to_conversation(row);
}

std::vector<std::int64_t> SqliteStore::ids(const char* query) {
    SQLite::Statement rows(connection_->db(), query);
    std::vector<std::int64_t> found;
    while (rows.executeStep()) found.push_back(rows.getColumn(0).getInt64());
    return found;
}

std::vector<Conversation> SqliteStore::conversations(const std::vector<std::int64_t>& ids) {
    std::vector<Conversation> found;
    SQLite::Statement row(
        connection_->db(),
        fmt::format("SELECT {} FROM conversations c WHERE c.id = ?", kConversationColumns));
    for (const std::int64_t id : ids) {
        try {
            row.reset();
            row.bind(1, id);
            if (row.executeStep()) found.push_back(to_conversation(row));
        } catch (const SQLite::Exception& e) {
            if (!is_damage(e)) throw;
            row.tryReset();
            note_once(
                fmt::format("Chat {} cannot be read ({}) and is left out; the others are not "
                            "affected. The file {} needs repair.",
                            id, e.what(), connection_->path()));
        }
    }
    return found;
}

Result<ConversationId> SqliteStore::create(const std::string& model) {
    return connection_->write("start a chat", [&]() -> Result<ConversationId> {
        SQLite::Statement insert(
            connection_->db(),
            "INSERT INTO conversations (created_ms, updated_ms, model) VALUES (?, ?, ?)");
        const std::int64_t now = now_ms();
        insert.bind(1, now);
        insert.bind(2, now);
        insert.bind(3, model);
        insert.exec();
        return connection_->db().getLastInsertRowid();
    });
}

Result<std::vector<Conversation>> SqliteStore::list(int limit, int offset, ChatFolder folder) {
    return connection_->read("list the chats", [&]() -> Result<std::vector<Conversation>> {
        // Ids come from the index alone, so that one damaged chat cannot hide the list.
        const char* const query =
            folder == ChatFolder::trash
                ? "SELECT id FROM conversations WHERE deleted_ms IS NOT NULL ORDER BY deleted_ms "
                  "DESC, id DESC LIMIT {} OFFSET {}"
            : folder == ChatFolder::archived
                ? "SELECT id FROM conversations WHERE deleted_ms IS NULL AND archived = 1 ORDER BY "
                  "pinned DESC, updated_ms DESC, id DESC LIMIT {} OFFSET {}"
                : "SELECT id FROM conversations WHERE deleted_ms IS NULL AND archived = 0 ORDER BY "
                  "pinned DESC, updated_ms DESC, id DESC LIMIT {} OFFSET {}";
        return conversations(ids(fmt::format(fmt::runtime(query), limit, offset).c_str()));
    });
}

Result<std::optional<Conversation>> SqliteStore::get(ConversationId id) {
    return connection_->read("read the chat", [&]() -> Result<std::optional<Conversation>> {
        return conversation_where("c.id = ? AND c.deleted_ms IS NULL", id);
    });
}

Result<std::optional<Conversation>> SqliteStore::latest() {
    return connection_->read("find the newest chat", [&]() -> Result<std::optional<Conversation>> {
        const std::vector<Conversation> newest = conversations(
            ids("SELECT id FROM conversations WHERE deleted_ms IS NULL AND archived = 0 "
                "ORDER BY updated_ms DESC, id DESC LIMIT 1"));
        if (newest.empty()) return std::nullopt;
        return newest.front();
    });
}

Result<std::optional<Conversation>> SqliteStore::latest_removed() {
    return connection_->read("find deleted chats", [&]() -> Result<std::optional<Conversation>> {
        return conversation_where(
            "c.deleted_ms IS NOT NULL ORDER BY c.deleted_ms DESC, c.id DESC LIMIT 1", 0);
    });
}

Result<std::optional<Conversation>> SqliteStore::find(const std::string& name) {
    return connection_->read("find the chat", [&]() -> Result<std::optional<Conversation>> {
        ConversationId id = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), id);
        if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size()) {
            auto by_id = conversation_where("c.id = ? AND c.deleted_ms IS NULL", id);
            if (by_id) return by_id;
        }
        if (name.empty()) return std::nullopt;
        std::vector<TitledId> all;
        for (const Conversation& c : conversations(ids(
                 "SELECT id FROM conversations WHERE deleted_ms IS NULL ORDER BY updated_ms DESC")))
            all.push_back({c.id, c.title});
        const std::vector<TitledId> found = best_matches(all, name);
        if (found.empty()) return std::nullopt;
        if (found.size() > 1)
            return fail(Errc::usage, "“{}” fits {} chats: {}. Give the number of one.", name,
                        found.size(), chat_list(found));
        return conversation_where("c.id = ?", found.front().id);
    });
}

Result<void> SqliteStore::set_column(ConversationId id, const char* column,
                                     const std::string& value) {
    return connection_->write("change the chat", [&]() -> Result<void> {
        SQLite::Statement update(
            connection_->db(), fmt::format("UPDATE conversations SET {} = ? WHERE id = ?", column));
        update.bind(1, value);
        update.bind(2, id);
        if (update.exec() == 0) return no_such_chat(id);
        return {};
    });
}

Result<void> SqliteStore::set_title(ConversationId id, const std::string& title) {
    return set_column(id, "title", title);
}
Result<void> SqliteStore::set_model(ConversationId id, const std::string& model) {
    return set_column(id, "model", model);
}
Result<void> SqliteStore::set_system_prompt(ConversationId id, const std::string& text) {
    return set_column(id, "system_prompt", text);
}
Result<void> SqliteStore::set_params(ConversationId id, const std::string& params_json) {
    return set_column(id, "params_json", params_json);
}

Result<void> SqliteStore::set_flag(ConversationId id, const char* column, bool value) {
    return connection_->write("change the chat", [&]() -> Result<void> {
        SQLite::Statement update(
            connection_->db(), fmt::format("UPDATE conversations SET {} = ? WHERE id = ?", column));
        update.bind(1, value ? 1 : 0);
        update.bind(2, id);
        if (update.exec() == 0) return no_such_chat(id);
        return {};
    });
}

Result<void> SqliteStore::set_pinned(ConversationId id, bool pinned) {
    return set_flag(id, "pinned", pinned);
}
Result<void> SqliteStore::set_archived(ConversationId id, bool archived) {
    return set_flag(id, "archived", archived);
}

Result<void> SqliteStore::set_draft(ConversationId id, const std::string& text) {
    return connection_->write("keep the draft", [&]() -> Result<void> {
        SQLite::Statement row(connection_->db(),
                              text.empty() ? "DELETE FROM drafts WHERE conversation = ?"
                                           : "INSERT OR REPLACE INTO drafts VALUES (?, ?)");
        row.bind(1, id);
        if (!text.empty()) row.bind(2, text);
        row.exec();
        return {};
    });
}

Result<std::string> SqliteStore::draft(ConversationId id) {
    return connection_->read("read the draft", [&]() -> Result<std::string> {
        if (!connection_->db().tableExists("drafts")) return std::string();  // an older file
        SQLite::Statement row(connection_->db(), "SELECT text FROM drafts WHERE conversation = ?");
        row.bind(1, id);
        return row.executeStep() ? row.getColumn(0).getString() : std::string();
    });
}

Result<std::string> SqliteStore::fact(const std::string& name) {
    return connection_->read("read a fact", [&]() -> Result<std::string> {
        SQLite::Statement row(connection_->db(), "SELECT value FROM settings WHERE key = ?");
        row.bind(1, name);
        return row.executeStep() ? row.getColumn(0).getString() : std::string();
    });
}

Result<void> SqliteStore::set_fact(const std::string& name, const std::string& value) {
    return connection_->write("keep a fact", [&]() -> Result<void> {
        SQLite::Statement row(connection_->db(),
                              value.empty() ? "DELETE FROM settings WHERE key = ?"
                                            : "INSERT OR REPLACE INTO settings VALUES (?, ?)");
        row.bind(1, name);
        if (!value.empty()) row.bind(2, value);
        row.exec();
        return {};
    });
}

Result<void> SqliteStore::set_active_leaf(ConversationId id, MessageId leaf) {
    return connection_->write("switch the branch", [&]() -> Result<void> {
        SQLite::Statement update(
            connection_->db(),
            "UPDATE conversations SET active_leaf = nullif(?1, 0) WHERE id = ?2 AND (?1 = 0 OR "
            "EXISTS (SELECT 1 FROM messages WHERE id = ?1 AND conversation = ?2))");
        update.bind(1, leaf);
        update.bind(2, id);
        if (update.exec() > 0) return {};
        if (!conversation_where("c.id = ?", id)) return no_such_chat(id);
        return fail(Errc::failed, "Chat {} has no message {}.", id, leaf);
    });
}

Result<void> SqliteStore::remove(ConversationId id) {
    return connection_->write("delete the chat", [&]() -> Result<void> {
        SQLite::Statement update(
            connection_->db(),
            "UPDATE conversations SET deleted_ms = ? WHERE id = ? AND deleted_ms IS NULL");
        update.bind(1, now_ms());
        update.bind(2, id);
        if (update.exec() == 0) return no_such_chat(id);
        return {};
    });
}

Result<void> SqliteStore::restore(ConversationId id) {
    return connection_->write("restore the chat", [&]() -> Result<void> {
        SQLite::Statement update(connection_->db(),
                                 "UPDATE conversations SET deleted_ms = NULL WHERE id = ?");
        update.bind(1, id);
        if (update.exec() == 0) return no_such_chat(id);
        return {};
    });
}

Result<void> SqliteStore::purge(ConversationId id) {
    if (!read_only()) connection_->db().exec("PRAGMA secure_delete = ON");
    const auto purged = connection_->write("delete the chat for good", [&]() -> Result<void> {
        SQLite::Database& db = connection_->db();
        SQLite::Statement chat(
            db, "SELECT 1 FROM conversations WHERE id = ? AND deleted_ms IS NOT NULL");
        chat.bind(1, id);
        if (!chat.executeStep()) return fail(Errc::failed, "There is no chat {} in the trash.", id);
        chat.reset();
        SearchIndex index(db);
        for (const TreeNode& node : read_tree(db, id))
            if (const auto message = read_message(db, node.id))
                if (message->state != MessageState::streaming)
                    index.take_out(node.id, message->content + "\n" + message->reasoning);
        for (const char* statement : {"DELETE FROM drafts WHERE conversation = ?",
                                      "DELETE FROM conversations WHERE id = ?"}) {
            SQLite::Statement remove(db, statement);
            remove.bind(1, id);
            remove.exec();
        }
        return {};
    });
    // The log still has the old pages; where others read it just now, their closing empties it.
    if (!read_only()) connection_->db().tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
    return purged;
}

}  // namespace store
}  // namespace hearth
