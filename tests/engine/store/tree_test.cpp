// Branches, versions, folders, drafts, copies of chats.
#include <sys/stat.h>

#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

using Ids = std::vector<MessageId>;

Ids ids_of(const std::vector<StoredMessage>& messages) {
    Ids ids;
    for (const StoredMessage& m : messages) ids.push_back(m.id);
    return ids;
}

Ids chat_ids(const std::vector<Conversation>& chats) {
    Ids ids;
    for (const Conversation& c : chats) ids.push_back(c.id);
    return ids;
}

}  // namespace

TEST_CASE("editing and regenerating add siblings, and every branch can be shown again", "[store]") {
    auto store = must(Store::in_memory());
    const auto [chat, q1] = ask(*store, "first");
    const MessageId a1 = must(store->append(chat, message(q1, "assistant", "one")));
    const MessageId q2 = must(store->append(chat, message(a1, "user", "second")));
    const MessageId a2 = must(store->append(chat, message(q2, "assistant", "two")));
    const MessageId b1 = must(store->append(chat, message(q1, "assistant", "another one")));
    const MessageId e1 = must(store->append(chat, message(0, "user", "first, edited")));
    CHECK(ids_of(must(store->path(chat))) == Ids{e1});
    CHECK(must(store->path(chat))[0].version == 2);
    CHECK(must(store->path(chat))[0].n_versions == 2);

    // Through a message in the middle to the end of its branch.
    CHECK(must(store->show_branch(chat, a1)) == a2);
    const auto shown = must(store->path(chat));
    CHECK(ids_of(shown) == Ids{q1, a1, q2, a2});
    CHECK(shown[0].version == 1);
    CHECK(shown[0].n_versions == 2);
    CHECK(shown[1].version == 1);
    CHECK(shown[1].n_versions == 2);
    CHECK(shown[2].n_versions == 1);
    // The newest child where there are several.
    CHECK(must(store->show_branch(chat, q1)) == b1);
    CHECK(must(store->versions(chat, b1))[1].version == 2);
    CHECK(!store->show_branch(chat, 999));
    CHECK(!store->show_branch(chat + 1, q1));

    const auto tree = must(store->tree(chat));
    REQUIRE(tree.size() == 6);
    CHECK(tree[1].preview == "one");
    CHECK(tree[4].id == b1);
    CHECK(tree[4].parent == q1);
    CHECK(tree[4].shown);
    CHECK(!tree[1].shown);
    must(store->check_integrity());
}

TEST_CASE("a branch becomes a chat of its own with the same ids and texts", "[store]") {
    auto store = must(Store::in_memory());
    const auto [chat, q1] = ask(*store, "question");
    StoredMessage answer = message(q1, "assistant", "answer");
    answer.token_ids = {1, 2, 3};
    answer.tokenizer_hash = "hash";
    answer.created_ms = 1'700'000'000'000;
    const MessageId a1 = must(store->append(chat, answer));
    must(store->append(chat, message(a1, "user", "not copied")));
    must(store->set_system_prompt(chat, "Be brief."));
    const ConversationId copy = must(store->fork(chat, a1));
    const auto messages = must(store->path(copy));
    REQUIRE(messages.size() == 2);
    CHECK(messages[1].content == "answer");
    CHECK(messages[1].token_ids == answer.token_ids);
    CHECK(messages[1].tokenizer_hash == "hash");
    CHECK(messages[1].created_ms == answer.created_ms);
    CHECK(must(store->get(copy))->system_prompt == "Be brief.");
    CHECK(must(store->path(chat)).size() == 3);
    must(store->append(copy, message(messages[1].id, "user", "only in the copy")));
    CHECK(must(store->path(chat)).size() == 3);
    CHECK(must(store->fork(chat, 0)) > copy);
    CHECK(!store->fork(chat, messages[1].id));
    CHECK(!store->fork(999, 0));
    must(store->check_integrity());
}

TEST_CASE("pinned chats stand first, archived and deleted ones in folders of their own",
          "[store]") {
    auto store = must(Store::in_memory());
    const ConversationId a = ask(*store, "a").chat, b = ask(*store, "b").chat,
                         c = ask(*store, "c").chat, d = ask(*store, "d").chat;
    must(store->set_pinned(a, true));
    must(store->set_archived(b, true));
    must(store->remove(c));
    CHECK(chat_ids(must(store->list(10))) == Ids{a, d});
    CHECK(must(store->list(10))[0].pinned);
    CHECK(chat_ids(must(store->list(10, 0, ChatFolder::archived))) == Ids{b});
    CHECK(chat_ids(must(store->list(10, 0, ChatFolder::trash))) == Ids{c});
    CHECK(must(store->list(10, 0, ChatFolder::trash))[0].deleted_ms > 0);
    CHECK(must(store->search("b", 10)).size() == 1);  // archived ones are searched
    must(store->set_pinned(a, false));
    must(store->set_archived(b, false));
    must(store->restore(c));
    CHECK(chat_ids(must(store->list(10))) == Ids{d, c, b, a});
    CHECK(!store->set_pinned(99, true));
}

TEST_CASE("a chat deleted for good leaves no byte of its text", "[store]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        auto store = open_store(path);
        ask(*store, "kept sentence");
        const auto [chat, question] = ask(*store, "private QUARTZ " + std::string(9000, '.'));
        must(store->append(chat, message(question, "assistant", "private QUARTZ answer")));
        must(store->set_draft(chat, "private QUARTZ draft"));
        CHECK(must(store->search("quartz", 10)).size() == 1);  // in the index now
        CHECK(!store->purge(chat));                            // not in the trash
        must(store->remove(chat));
        must(store->purge(chat));
        CHECK(must(store->list(10, 0, ChatFolder::trash)).empty());
        CHECK(must(store->search("quartz", 10)).empty());
        CHECK(must(store->search("kept", 10)).size() == 1);
        CHECK(must(store->draft(chat)).empty());
        must(store->check_integrity());
    }
    std::string bytes;
    for (const char* name : {"hearth.db", "hearth.db-wal"})
        if (FILE* file = std::fopen((folder / name).c_str(), "rb")) {
            char buffer[65536];
            for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;)
                bytes.append(buffer, n);
            std::fclose(file);
        }
    CHECK(bytes.find("kept sentence") != std::string::npos);
    CHECK(bytes.find("QUARTZ") == std::string::npos);
}

TEST_CASE("drafts are kept per chat", "[store]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    ConversationId chat = 0;
    {
        auto store = open_store(path);
        chat = ask(*store, "q").chat;
        must(store->set_draft(chat, "half a sen"));
        must(store->set_draft(chat, "half a sentence"));
        must(store->set_draft(0, "of a new chat"));
    }
    auto store = open_store(path);
    CHECK(must(store->draft(chat)) == "half a sentence");
    CHECK(must(store->draft(0)) == "of a new chat");
    must(store->set_draft(chat, ""));
    CHECK(must(store->draft(chat)).empty());
}

TEST_CASE("a backup is a whole database beside others that write", "[store]") {
    TempFolder folder;
    auto store = open_store(folder / "hearth.db");
    const auto [chat, question] = ask(*store, "question");
    auto writer = open_store(folder / "hearth.db");
    const MessageId answer =
        must(writer->append(chat, message(question, "assistant", "", MessageState::streaming)));
    must(writer->extend(answer, "half", {1}));
    must(store->backup(folder / "copy.db"));
    must(writer->extend(answer, " and more", {2}));
    struct stat info {};
    REQUIRE(::stat((folder / "copy.db").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(!std::filesystem::exists(folder / "copy.db.part"));
    {
        auto copy = open_store(folder / "copy.db");
        CHECK(must(copy->path(chat)).back().content == "half");
        CHECK(must(copy->search("question", 10)).size() == 1);
        must(copy->check_integrity());
    }
    const auto again = store->backup(folder / "copy.db");
    REQUIRE(!again);
    CHECK_THAT(again.error().what, Catch::Contains("exists already"));
    CHECK(!store->backup(folder / "none/copy.db"));
    must(must(Store::in_memory())->backup(folder / "memory.db"));
}

TEST_CASE("a store sees that another one has changed the file", "[store]") {
    TempFolder folder;
    auto store = open_store(folder / "hearth.db");
    auto other = open_store(folder / "hearth.db");
    const std::int64_t before = store->foreign_changes();
    ask(*store, "own");
    CHECK(store->foreign_changes() == before);
    ask(*other, "foreign");
    const std::int64_t after = store->foreign_changes();
    CHECK(after != before);
    CHECK(store->foreign_changes() == after);
    CHECK(must(store->list(10)).size() == 2);
}

}  // namespace hearth
