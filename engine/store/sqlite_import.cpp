// The part of SqliteStore that concerns other places: imports, origins, backups, other processes.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "engine/store/fold.h"
#include "engine/store/rows.h"
#include "engine/store/sqlite_store.h"

namespace hearth::store {
namespace {

const char* const kStoreName = "store_name";
const char* const kOwn = "hearth:";

std::string random_name() {
    unsigned char bytes[16] = {};
    if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return {};
    std::string name;
    for (const unsigned char byte : bytes) name += fmt::format("{:02x}", byte);
    return name;
}

/// Makes the bytes of `path`'s folder entry durable.
void sync_folder(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

}  // namespace

std::int64_t SqliteStore::foreign_changes() {
    try {
        return connection_->db().execAndGet("PRAGMA data_version").getInt64();
    } catch (const SQLite::Exception&) {
        return 0;  // the next call that needs the file says what is wrong
    }
}

std::string SqliteStore::own_prefix() {
    SQLite::Database& db = connection_->db();
    SQLite::Statement row(db, "SELECT value FROM settings WHERE key = ?");
    row.bind(1, kStoreName);
    if (row.executeStep()) return kOwn + row.getColumn(0).getString() + ":";
    // A file that may not be written has no name; what comes from it is new everywhere.
    const std::string name = random_name();
    if (read_only()) return kOwn + name + ":";
    SQLite::Statement insert(db, "INSERT INTO settings VALUES (?, ?)");
    insert.bind(1, kStoreName);
    insert.bind(2, name);
    insert.exec();
    return kOwn + name + ":";
}

std::vector<PortableMessage> SqliteStore::portable_messages(ConversationId id,
                                                            const std::string& origin,
                                                            const std::string& own) {
    SQLite::Database& db = connection_->db();
    std::unordered_map<MessageId, std::string> origins;
    if (db.tableExists("origins")) {
        SQLite::Statement rows(db,
                               "SELECT message, substr(origin, ?) FROM origins WHERE "
                               "conversation = ? AND message IS NOT NULL");
        rows.bind(1, static_cast<std::int64_t>(origin.size()) + 2);  // behind the '#'
        rows.bind(2, id);
        while (rows.executeStep())
            origins[rows.getColumn(0).getInt64()] = rows.getColumn(1).getString();
    }
    std::vector<MessageId> ids;
    for (const TreeNode& node : read_tree(db, id)) ids.push_back(node.id);
    std::sort(ids.begin(), ids.end());  // parents first
    std::unordered_map<MessageId, int> place;
    std::vector<PortableMessage> found;
    for (StoredMessage& message : messages(id, ids)) {
        PortableMessage out;
        const auto known = origins.find(message.id);
        out.origin = known != origins.end() ? known->second : own + std::to_string(message.id);
        const auto parent = place.find(message.parent);
        out.parent = parent == place.end() ? -1 : parent->second;
        place[message.id] = static_cast<int>(found.size());
        out.message = std::move(message);
        found.push_back(std::move(out));
    }
    return found;
}

Result<PortableChat> SqliteStore::export_chat(ConversationId id) {
    const auto collect = [&]() -> Result<PortableChat> {
        SQLite::Database& db = connection_->db();
        const auto chat = conversation_where("c.id = ?", id);
        if (!chat)
            return fail(Errc::failed, "There is no chat {} (`hearth history` lists them).", id);
        const std::string own = own_prefix();
        PortableChat out;
        out.origin = own + std::to_string(id);
        if (db.tableExists("origins")) {
            SQLite::Statement row(
                db, "SELECT origin FROM origins WHERE conversation = ? AND message IS NULL");
            row.bind(1, id);
            if (row.executeStep()) out.origin = row.getColumn(0).getString();
        }
        out.title = chat->title;
        out.model = chat->model;
        out.system_prompt = chat->system_prompt;
        out.params_json = chat->params_json;
        out.created_ms = chat->created_ms;
        out.updated_ms = chat->updated_ms;
        out.pinned = chat->pinned;
        out.archived = chat->archived;
        out.messages = portable_messages(id, out.origin, own);
        for (std::size_t i = 0; i < out.messages.size(); ++i)
            if (out.messages[i].message.id == chat->active_leaf) out.active = static_cast<int>(i);
        return out;
    };
    return read_only() ? connection_->read("export the chat", collect)
                       : connection_->write("export the chat", collect);
}

std::optional<ConversationId> SqliteStore::conversation_of(const std::string& origin) {
    SQLite::Database& db = connection_->db();
    SQLite::Statement known(db, "SELECT conversation FROM origins WHERE origin = ?");
    known.bind(1, origin);
    if (known.executeStep()) return known.getColumn(0).getInt64();
    const std::string own = own_prefix();
    if (origin.compare(0, own.size(), own) != 0) return std::nullopt;
    SQLite::Statement chat(db, "SELECT id FROM conversations WHERE id = ?");
    chat.bind(1, origin.substr(own.size()));
    if (!chat.executeStep()) return std::nullopt;
    return chat.getColumn(0).getInt64();
}

void SqliteStore::set_origin(const std::string& origin, ConversationId chat, MessageId message) {
    SQLite::Statement insert(connection_->db(),
                             "INSERT OR IGNORE INTO origins VALUES (?, ?, nullif(?, 0))");
    insert.bind(1, origin);
    insert.bind(2, chat);
    insert.bind(3, message);
    insert.exec();
}

ConversationId SqliteStore::create_imported(const PortableChat& chat) {
    SQLite::Database& db = connection_->db();
    SQLite::Statement insert(
        db,
        "INSERT INTO conversations (created_ms, updated_ms, title, model, params_json, "
        "system_prompt, pinned, archived) VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?, ?)");
    const std::int64_t now = now_ms();
    insert.bind(1, chat.created_ms > 0 ? chat.created_ms : now);
    insert.bind(2, chat.updated_ms > 0 ? chat.updated_ms : now);
    insert.bind(3, chat.title);
    insert.bind(4, chat.model);
    insert.bind(5, chat.params_json);
    insert.bind(6, chat.system_prompt);
    insert.bind(7, chat.pinned ? 1 : 0);
    insert.bind(8, chat.archived ? 1 : 0);
    insert.exec();
    const ConversationId id = db.getLastInsertRowid();
    set_origin(chat.origin, id, 0);
    return id;
}

int SqliteStore::import_messages(const PortableChat& chat, ConversationId id, MessageId* leaf) {
    SQLite::Database& db = connection_->db();
    const std::string own = own_prefix();
    SQLite::Statement known(db,
                            "SELECT message FROM origins WHERE origin = ? AND conversation = ?");
    SQLite::Statement here(db, "SELECT id FROM messages WHERE id = ? AND conversation = ?");
    std::vector<MessageId> ids(chat.messages.size(), 0);
    int n_added = 0;
    for (std::size_t i = 0; i < chat.messages.size(); ++i) {
        const PortableMessage& from = chat.messages[i];
        // In this database a message of its own is known by its number.
        const bool is_own = from.origin.compare(0, own.size(), own) == 0;
        SQLite::Statement& look = is_own ? here : known;
        const std::string origin = chat.origin + "#" + from.origin;
        look.reset();
        look.bind(1, is_own ? from.origin.substr(own.size()) : origin);
        look.bind(2, id);
        if (look.executeStep()) {
            ids[i] = look.getColumn(0).getInt64();
            continue;
        }
        StoredMessage message = from.message;
        message.parent = from.parent < 0 ? 0 : ids[static_cast<std::size_t>(from.parent)];
        if (message.state == MessageState::streaming) message.state = MessageState::stopped;
        ids[i] = insert_message(db, id, message,
                                message.created_ms > 0 ? message.created_ms : now_ms(), 0);
        set_origin(origin, id, ids[i]);
        ++n_added;
    }
    if (!ids.empty())
        *leaf = chat.active >= 0 && chat.active < static_cast<int>(ids.size())
                    ? ids[static_cast<std::size_t>(chat.active)]
                    : ids.back();
    return n_added;
}

Result<ImportOutcome> SqliteStore::import_chat(const PortableChat& chat) {
    for (std::size_t i = 0; i < chat.messages.size(); ++i)
        if (chat.messages[i].parent >= static_cast<int>(i))
            return fail(Errc::failed, "The chat {} to import has a message before its parent.",
                        chat.origin);
    auto imported = connection_->write("import the chat", [&]() -> Result<ImportOutcome> {
        SQLite::Database& db = connection_->db();
        ImportOutcome outcome;
        const std::optional<ConversationId> there = conversation_of(chat.origin);
        outcome.is_new = !there;
        outcome.id = there ? *there : create_imported(chat);
        SQLite::Statement deleted(
            db, "SELECT 1 FROM conversations WHERE id = ? AND deleted_ms IS NOT NULL");
        deleted.bind(1, outcome.id);
        outcome.in_trash = deleted.executeStep();
        if (outcome.in_trash) return outcome;
        MessageId leaf = 0;
        outcome.n_added = import_messages(chat, outcome.id, &leaf);
        if (outcome.n_added == 0) return outcome;
        std::string line;
        for (const PortableMessage& m : chat.messages)
            if (line.empty() && m.message.role != "system") line = first_line(m.message.content);
        SQLite::Statement update(
            db,
            "UPDATE conversations SET active_leaf = ?, first_line = CASE WHEN first_line = '' THEN "
            "? ELSE first_line END WHERE id = ?");
        update.bind(1, leaf);
        update.bind(2, line);
        update.bind(3, outcome.id);
        update.exec();
        return outcome;
    });
    // Many chats come at once: what waited for the index would make the next searches slow.
    if (imported) index_some(std::chrono::milliseconds(500), 512);
    return imported;
}

Result<void> SqliteStore::backup(const std::string& path) {
    if (::access(path.c_str(), F_OK) == 0)
        return fail(Errc::failed, "{} exists already and was not touched; give another name.",
                    path);
    // Under another name until it is whole: a file of the name given is always a good copy.
    const std::string part = path + ".part";
    const int fd = ::open(part.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(Errc::failed, "The copy {} cannot be made ({}).", part, std::strerror(errno));
    Result<void> done;
    try {
        SQLite::Statement copy(connection_->db(), "VACUUM INTO ?");
        copy.bind(1, part);
        copy.exec();
    } catch (const SQLite::Exception& e) {
        done = tl::unexpected<Error>(to_error(e, part, "copy the chats"));
    }
    if (done && ::fsync(fd) != 0)
        done = fail(Errc::failed, "The copy {} cannot be written to disk ({}).", part,
                    std::strerror(errno));
    ::close(fd);
    // A link is never made over a file that came meanwhile; some file systems only rename.
    if (done && ::link(part.c_str(), path.c_str()) != 0 &&
        (errno == EEXIST || ::rename(part.c_str(), path.c_str()) != 0))
        done = fail(Errc::failed, "The copy cannot be named {} ({}).", path, std::strerror(errno));
    ::unlink(part.c_str());
    if (done) sync_folder(path);
    return done;
}

}  // namespace hearth::store
