#pragma once
// SearchIndex: which messages may contain a text. Every three characters in a row of a folded text
// are an entry of a FTS5 table; two marks behind each text make shorter words, down to a single
// Chinese character, beginnings of entries. It answers with too many messages, never too few of
// those it knows: the caller looks into the texts. What it does not know yet is in
// `search_pending`. Opens no transaction; may throw SQLite::Exception.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "engine/store/store_types.h"

namespace hearth::store {

class SearchIndex {
  public:
    explicit SearchIndex(SQLite::Database& db) : db_(db) {}

    /// The file has an index (one of version 1 that may only be read has none).
    bool exists();
    /// How many messages wait, counted up to `at_most`.
    int n_pending(int at_most);
    /// Newest first.
    std::vector<MessageId> pending(int at_most);
    /// Takes waiting messages in, newest first, until `until`. Inside a write transaction.
    void take_in(std::chrono::steady_clock::time_point until);
    /// Takes a message out, before its row goes. Inside a write transaction.
    void take_out(MessageId id, std::string_view text);
    /// Makes the index anew; everything waits again. Inside a write transaction.
    void rebuild();

    /// Candidates for a folded text of three characters or more, newest first, until `visit` says
    /// false.
    void each_with(std::string_view folded, const std::function<bool(MessageId)>& visit);
    /// Candidates for a shorter one, newest first.
    std::vector<MessageId> all_with(std::string_view folded);

  private:
    SQLite::Database& db_;
};

/// Characters of a text, counted as the index does.
std::size_t n_characters(std::string_view text);

}  // namespace hearth::store
