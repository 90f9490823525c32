// The part of SqliteStore that looks for texts.

#include <algorithm>

#include "engine/store/fold.h"
#include "engine/store/rows.h"
#include "engine/store/sqlite_store.h"

namespace hearth::store {
namespace {

/// Indexing is done in small parts, so that nobody waits for it.
constexpr std::chrono::milliseconds kIndexTime{300};
/// So many that reading them takes longer than indexing a good part of them.
constexpr int kVeryManyPending = 5000;
constexpr std::chrono::milliseconds kLongIndexTime{1000};
constexpr int kManyPending = 64;
/// So many texts are read before a short word counts as rare.
constexpr int kFewMessages = 2000;
constexpr std::size_t kSnippetBefore = 40, kSnippetAfter = 80;  ///< bytes

/// The place of a found text in one line: line breaks are spaces, cut at characters.
void set_snippet(SearchHit& hit, const std::string& text, std::size_t begin, std::size_t end) {
    const auto inside = [&](std::size_t i) {
        return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
    };
    std::size_t first = begin > kSnippetBefore ? begin - kSnippetBefore : 0;
    while (inside(first)) ++first;
    std::size_t last = std::min(text.size(), end + kSnippetAfter);
    while (inside(last)) --last;
    hit.snippet = first > 0 ? "…" : "";
    hit.begin = hit.snippet.size() + begin - first;
    hit.end = hit.begin + end - begin;
    for (std::size_t i = first; i < last; ++i)
        hit.snippet += text[i] == '\n' || text[i] == '\r' || text[i] == '\t' ? ' ' : text[i];
    if (last < text.size()) hit.snippet += "…";
}

}  // namespace

/// What a search has found so far.
struct SqliteStore::Search {
    Finder finder;
    std::size_t limit;
    std::vector<SearchHit> hits;
    std::set<ConversationId> seen;  ///< chats that have a hit

    bool full() const { return hits.size() >= limit; }
};

void SqliteStore::index_some(std::chrono::milliseconds budget, int at_least) {
    if (read_only() || index_broken_) return;
    const auto indexed = connection_->write("index the messages", [&]() -> Result<void> {
        SearchIndex index(connection_->db());
        if (index.n_pending(at_least) < at_least) return {};
        index.take_in(std::chrono::steady_clock::now() + budget);
        return {};
    });
    // Searching then reads the texts themselves; the next opening may do better.
    if (!indexed) index_broken_ = true;
}

void SqliteStore::rebuild_index() {
    const auto rebuilt = connection_->write("rebuild the search index", [&]() -> Result<void> {
        SearchIndex(connection_->db()).rebuild();
        return {};
    });
    index_broken_ = !rebuilt;
    note_once(rebuilt ? "The search index was damaged and is built anew; searching takes longer "
                        "until it is whole."
                      : "The search index is damaged; searching reads all texts instead.");
}

void SqliteStore::search_titles(Search& search) {
    std::vector<ConversationId> found;
    try {
        SQLite::Statement rows(connection_->db(),
                               "SELECT id, coalesce(title, first_line) FROM conversations WHERE "
                               "deleted_ms IS NULL ORDER BY updated_ms DESC, id DESC");
        while (rows.executeStep())
            if (search.finder.in(rows.getColumn(1).getString()))
                found.push_back(rows.getColumn(0).getInt64());
    } catch (const SQLite::Exception& e) {
        if (!is_damage(e)) throw;
        found =
            ids("SELECT id FROM conversations WHERE deleted_ms IS NULL ORDER BY updated_ms DESC, "
                "id DESC");
    }
    for (const ConversationId id : found) {
        if (search.full()) return;
        for (Conversation& chat : conversations({id})) {
            const auto place = search.finder.where(chat.title);
            if (!place) continue;
            search.seen.insert(id);
            SearchHit hit;
            set_snippet(hit, chat.title, place->first, place->second);
            hit.chat = std::move(chat);
            search.hits.push_back(std::move(hit));
        }
    }
}

void SqliteStore::search_message(Search& search, ConversationId chat, MessageId id) {
    for (const StoredMessage& message : messages(chat, {id}))
        for (const std::string* text : {&message.content, &message.reasoning}) {
            if (search.seen.count(chat) != 0 || !search.finder.in(*text)) continue;
            search.seen.insert(chat);
            for (Conversation& found : conversations({chat})) {
                SearchHit hit;
                hit.message = id;
                hit.chat = std::move(found);
                const auto place = search.finder.where(*text);
                if (place) set_snippet(hit, *text, place->first, place->second);
                search.hits.push_back(std::move(hit));
            }
        }
}

void SqliteStore::search_candidate(Search& search, MessageId id) {
    ConversationId chat = 0;
    try {
        SQLite::Statement row(connection_->db(),
                              "SELECT m.conversation FROM messages m JOIN conversations c ON "
                              "c.id = m.conversation WHERE m.id = ? AND c.deleted_ms IS NULL");
        row.bind(1, id);
        if (!row.executeStep()) return;
        chat = row.getColumn(0).getInt64();
    } catch (const SQLite::Exception& e) {
        if (!is_damage(e)) throw;
        return;
    }
    if (search.seen.count(chat) == 0) search_message(search, chat, id);
}

bool SqliteStore::search_by_reading(Search& search, int n_messages) {
    const std::vector<std::int64_t> all =
        ids("SELECT id FROM conversations WHERE deleted_ms IS NULL "
            "ORDER BY updated_ms DESC, id DESC");
    for (const ConversationId chat : all) {
        if (search.full()) return true;
        if (search.seen.count(chat) != 0) continue;
        std::vector<TreeNode> tree = read_tree(connection_->db(), chat);
        std::sort(tree.begin(), tree.end(),
                  [](const TreeNode& a, const TreeNode& b) { return a.id > b.id; });
        for (const TreeNode& node : tree) {
            if (search.seen.count(chat) != 0) break;
            if (n_messages-- == 0) return false;
            search_message(search, chat, node.id);
        }
    }
    return true;
}

void SqliteStore::search_by_index(Search& search) {
    SearchIndex index(connection_->db());
    const std::string& folded = search.finder.folded();
    const bool is_short = n_characters(folded) < 3;
    // A short word that is frequent is found at once by reading; the index is for rare ones.
    if (is_short && search_by_reading(search, kFewMessages)) return;
    std::vector<MessageId> first = index.pending(1 << 30);
    for (const std::int64_t id : ids("SELECT id FROM messages WHERE state = 1"))
        first.push_back(id);
    for (const MessageId id : first)
        if (!search.full()) search_candidate(search, id);
    if (is_short) {
        for (const MessageId id : index.all_with(folded))
            if (!search.full()) search_candidate(search, id);
    } else {
        index.each_with(folded, [&](MessageId id) {
            if (!search.full()) search_candidate(search, id);
            return !search.full();
        });
    }
}

Result<std::vector<SearchHit>> SqliteStore::find_text(const std::string& text, int limit) {
    index_some(kLongIndexTime, kVeryManyPending);
    index_some(kIndexTime, kManyPending);
    bool index_is_damaged = false;
    auto found = connection_->read("search", [&]() -> Result<std::vector<SearchHit>> {
        Search search{Finder(text), static_cast<std::size_t>(std::max(limit, 0)), {}, {}};
        search_titles(search);
        bool whole = false;
        if (!index_broken_ && SearchIndex(connection_->db()).exists()) try {
                search_by_index(search);
                whole = true;
            } catch (const SQLite::Exception& e) {
                if (is_busy(e)) throw;
                index_is_damaged = true;  // FTS5 calls its damage "out of memory", among others
            }
        if (!whole) search_by_reading(search, -1);
        // Titles first, in their order; then by message.
        std::stable_sort(search.hits.begin(), search.hits.end(),
                         [](const SearchHit& a, const SearchHit& b) {
                             if ((a.message == 0) != (b.message == 0)) return a.message == 0;
                             return a.message > b.message;
                         });
        return std::move(search.hits);
    });
    if (index_is_damaged) rebuild_index();
    return found;
}

Result<std::vector<Conversation>> SqliteStore::search(const std::string& text, int limit) {
    HEARTH_TRY(std::vector<SearchHit> hits, find_text(text, limit));
    std::vector<Conversation> chats;
    for (SearchHit& hit : hits) chats.push_back(std::move(hit.chat));
    return chats;
}

Result<std::vector<MessageId>> SqliteStore::find_in_chat(ConversationId id,
                                                         const std::string& text) {
    return connection_->read("search the chat", [&]() -> Result<std::vector<MessageId>> {
        const Finder finder(text);
        std::vector<MessageId> all, found;
        for (const TreeNode& node : read_tree(connection_->db(), id)) all.push_back(node.id);
        std::sort(all.begin(), all.end());
        for (const MessageId candidate : all)
            for (const StoredMessage& message : messages(id, {candidate}))
                if (finder.in(message.content) || finder.in(message.reasoning))
                    found.push_back(candidate);
        return found;
    });
}

}  // namespace hearth::store
