#pragma once
// SqliteStore: the Store over one Connection. Not thread-safe: one thread at a time.

#include <set>

#include "engine/store/connection.h"
#include "engine/store/live_writers.h"
#include "engine/store/search_index.h"
#include "engine/store/store.h"

namespace hearth::store {

class SqliteStore final : public Store {
  public:
    explicit SqliteStore(std::unique_ptr<Connection> connection);

    /// Marks the streamed answers of processes that ended as stopped; says so in a notice.
    void stop_answers_of_the_dead();

    bool read_only() const override { return connection_->read_only(); }
    std::vector<std::string> notices() const override { return connection_->notices(); }

    Result<ConversationId> create(const std::string& model) override;
    Result<std::vector<Conversation>> list(int limit, int offset, ChatFolder folder) override;
    Result<std::optional<Conversation>> get(ConversationId id) override;
    Result<std::optional<Conversation>> find(const std::string& name) override;
    Result<std::optional<Conversation>> latest() override;
    Result<void> set_title(ConversationId id, const std::string& title) override;
    Result<void> set_model(ConversationId id, const std::string& model) override;
    Result<void> set_system_prompt(ConversationId id, const std::string& text) override;
    Result<void> set_params(ConversationId id, const std::string& params_json) override;
    Result<void> set_active_leaf(ConversationId id, MessageId leaf) override;
    Result<void> set_pinned(ConversationId id, bool pinned) override;
    Result<void> set_archived(ConversationId id, bool archived) override;
    Result<void> set_draft(ConversationId id, const std::string& text) override;
    Result<std::string> draft(ConversationId id) override;
    Result<std::string> fact(const std::string& name) override;
    Result<void> set_fact(const std::string& name, const std::string& value) override;
    Result<void> remove(ConversationId id) override;
    Result<void> restore(ConversationId id) override;
    Result<std::optional<Conversation>> latest_removed() override;
    Result<void> purge(ConversationId id) override;

    Result<std::vector<StoredMessage>> path(ConversationId id, MessageId leaf) override;
    Result<std::vector<StoredMessage>> versions(ConversationId id, MessageId message) override;
    Result<std::vector<TreeEntry>> tree(ConversationId id) override;
    Result<MessageId> show_branch(ConversationId id, MessageId message) override;
    Result<ConversationId> fork(ConversationId id, MessageId leaf) override;
    Result<MessageId> append(ConversationId id, const StoredMessage& message) override;
    Result<void> extend(MessageId id, const std::string& text,
                        const std::vector<std::int32_t>& token_ids) override;
    Result<void> finish(MessageId id, MessageState state, const std::string& finish_reason,
                        const std::string& tokenizer_hash, const std::string& stats_json) override;
    Result<std::vector<Conversation>> search(const std::string& text, int limit) override;
    Result<std::vector<SearchHit>> find_text(const std::string& text, int limit) override;
    Result<std::vector<MessageId>> find_in_chat(ConversationId id,
                                                const std::string& text) override;
    std::int64_t foreign_changes() override;
    Result<ImportOutcome> import_chat(const PortableChat& chat) override;
    Result<PortableChat> export_chat(ConversationId id) override;
    Result<void> backup(const std::string& path) override;
    Result<void> check_integrity() override;

  private:
    /// Unix milliseconds, later than any given out before, so that "newest" is never a tie.
    std::int64_t now_ms();
    std::optional<Conversation> conversation_where(const char* condition, std::int64_t value);
    std::vector<std::int64_t> ids(const char* query);
    /// The conversations of `ids`; one on a damaged page is left out with a notice.
    std::vector<Conversation> conversations(const std::vector<std::int64_t>& ids);
    std::vector<StoredMessage> messages(ConversationId id, const std::vector<MessageId>& ids);

    // sqlite_search.cpp
    struct Search;
    void search_titles(Search& search);
    /// A hit, when the message has the text and its chat has no hit yet.
    void search_message(Search& search, ConversationId chat, MessageId id);
    void search_candidate(Search& search, MessageId id);
    /// Newest chats first, at most so many messages (-1 = all). False: there are more.
    bool search_by_reading(Search& search, int n_messages);
    void search_by_index(Search& search);
    /// Indexes what waits, when at least so many do.
    void index_some(std::chrono::milliseconds budget, int at_least);
    void rebuild_index();

    // sqlite_import.cpp
    /// Inside a write transaction: "hearth:NAME:", a beginning that only origins of this database
    /// have.
    std::string own_prefix();
    std::vector<PortableMessage> portable_messages(ConversationId id, const std::string& origin,
                                                   const std::string& own);
    std::optional<ConversationId> conversation_of(const std::string& origin);
    void set_origin(const std::string& origin, ConversationId chat, MessageId message);
    int import_messages(const PortableChat& chat, ConversationId id, MessageId* leaf);
    ConversationId create_imported(const PortableChat& chat);

    Result<void> set_flag(ConversationId id, const char* column, bool value);
    Result<void> set_column(ConversationId id, const char* column, const std::string& value);
    void note_once(std::string notice);

    std::unique_ptr<Connection> connection_;
    LiveWriters writers_;
    std::set<std::string> noted_;
    std::int64_t last_ms_ = 0;
    bool index_broken_ = false;  ///< searching reads the texts
};

}  // namespace hearth::store
