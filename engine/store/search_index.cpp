#include "engine/store/search_index.h"

#include <algorithm>
#include <optional>

#include "engine/store/fold.h"
#include "engine/store/sqlite_error.h"

namespace hearth::store {
namespace {

/// Enough to leave few candidates; a longer condition costs more than it saves.
constexpr std::size_t kMostEntries = 8;

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// The tokenizer ends at a NUL, so it is written as another control character on both sides.
std::string without_nul(std::string text) {
    std::replace(text.begin(), text.end(), '\0', '\x02');
    return text;
}

std::string indexed_text(std::string_view text) {
    // Marks: the end of the text is the beginning of entries too.
    return without_nul(fold(text)) + "\x01\x01";
}

/// Begins of the characters, and the end.
std::vector<std::size_t> character_begins(std::string_view text) {
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (begins_character(text[i])) begins.push_back(i);
    begins.push_back(text.size());
    return begins;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

/// An FTS5 expression: some of the entries of `folded`, all of which must be there.
std::string expression(std::string_view folded) {
    const std::vector<std::size_t> begins = character_begins(folded);
    const std::size_t n_entries = begins.size() - 3;
    const std::size_t step = (n_entries + kMostEntries - 1) / kMostEntries;
    std::string out;
    for (std::size_t i = 0; i < n_entries; i += step) {
        if (!out.empty()) out += " AND ";
        out += quoted(folded.substr(begins[i], begins[i + 3] - begins[i]));
    }
    return out;
}

}  // namespace

std::size_t n_characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

bool SearchIndex::exists() { return db_.tableExists("search_pending"); }

int SearchIndex::n_pending(int at_most) {
    SQLite::Statement row(
        db_, fmt::format("SELECT count(*) FROM (SELECT 1 FROM search_pending LIMIT {})", at_most));
    row.executeStep();
    return row.getColumn(0).getInt();
}

std::vector<MessageId> SearchIndex::pending(int at_most) {
    SQLite::Statement rows(
        db_,
        fmt::format("SELECT message FROM search_pending ORDER BY message DESC LIMIT {}", at_most));
    std::vector<MessageId> ids;
    while (rows.executeStep()) ids.push_back(rows.getColumn(0).getInt64());
    return ids;
}

void SearchIndex::take_in(std::chrono::steady_clock::time_point until) {
    constexpr int kBatch = 1024;
    SQLite::Statement text(db_,
                           "SELECT content || char(10) || reasoning FROM messages WHERE id = ?");
    SQLite::Statement add(db_, "INSERT INTO message_search (rowid, text) VALUES (?, ?)");
    SQLite::Statement done(db_, "DELETE FROM search_pending WHERE message = ?");
    for (;;) {
        // Newest first by batches, oldest first inside: FTS5 writes a part of the index of its own
        // for every row that comes before the last one.
        std::vector<MessageId> ids = pending(kBatch);
        std::reverse(ids.begin(), ids.end());
        for (const MessageId id : ids) {
            std::optional<std::string> found;
            try {
                text.reset();
                text.bind(1, id);
                if (text.executeStep()) found = indexed_text(text.getColumn(0).getString());
            } catch (const SQLite::Exception& e) {
                if (!is_damage(e)) throw;  // a message that cannot be read cannot be found either
                text.tryReset();
            }
            if (found) {
                add.reset();
                add.bind(1, id);
                add.bind(2, *found);
                add.exec();
            }
            done.reset();
            done.bind(1, id);
            done.exec();
            if (std::chrono::steady_clock::now() >= until) return;
        }
        if (ids.size() < static_cast<std::size_t>(kBatch)) return;
    }
}

void SearchIndex::take_out(MessageId id, std::string_view text) {
    SQLite::Statement pending_row(db_, "DELETE FROM search_pending WHERE message = ?");
    pending_row.bind(1, id);
    if (pending_row.exec() > 0) return;  // it was not in yet
    SQLite::Statement remove(
        db_, "INSERT INTO message_search (message_search, rowid, text) VALUES ('delete', ?, ?)");
    remove.bind(1, id);
    remove.bind(2, indexed_text(text));
    remove.exec();
}

void SearchIndex::rebuild() {
    try {
        db_.exec("INSERT INTO message_search (message_search) VALUES ('delete-all')");
    } catch (const SQLite::Exception& e) {
        if (is_busy(e)) throw;
        // Too damaged to be opened or dropped: what FTS5 writes into the tables of a new index.
        db_.exec(
            "DELETE FROM message_search_data; DELETE FROM message_search_idx;"
            "DELETE FROM message_search_docsize;"
            "INSERT INTO message_search_data VALUES (1, x''), (10, x'00000000000000')");
    }
    db_.exec("INSERT OR IGNORE INTO search_pending SELECT id FROM messages WHERE state <> 1");
}

void SearchIndex::each_with(std::string_view folded, const std::function<bool(MessageId)>& visit) {
    SQLite::Statement rows(
        db_, "SELECT rowid FROM message_search WHERE message_search MATCH ? ORDER BY rowid DESC");
    rows.bind(1, expression(without_nul(std::string(folded))));
    while (rows.executeStep())
        if (!visit(rows.getColumn(0).getInt64())) return;
}

std::vector<MessageId> SearchIndex::all_with(std::string_view folded) {
    SQLite::Statement rows(db_,
                           "SELECT DISTINCT doc FROM message_terms WHERE term >= ? AND term <= ?");
    const std::string first = without_nul(std::string(folded));
    rows.bind(1, first);
    rows.bind(2, first + "\xF4\x8F\xBF\xBF");  // U+10FFFF sorts behind every character
    std::vector<MessageId> ids;
    while (rows.executeStep()) ids.push_back(rows.getColumn(0).getInt64());
    std::sort(ids.rbegin(), ids.rend());
    return ids;
}

}  // namespace hearth::store
