// What the store keeps and how it answers, on a healthy disk.
#include "engine/store/store.h"

#include <chrono>
#include <fstream>

#include <sys/stat.h>

#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

std::vector<ConversationId> ids(const std::vector<Conversation>& chats) {
    std::vector<ConversationId> all;
    for (const Conversation& chat : chats) all.push_back(chat.id);
    return all;
}

std::vector<std::string> texts(const std::vector<StoredMessage>& messages) {
    std::vector<std::string> all;
    for (const StoredMessage& m : messages) all.push_back(m.content);
    return all;
}

int mode(const std::string& path) {
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    return static_cast<int>(info.st_mode & 0777);
}

using Ids = std::vector<ConversationId>;
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("every field of a message comes back after reopening", "[store]") {
    TempFolder folder;
    StoredMessage sent = message(0, "assistant", "Grüße, 世界 \xF0\x9F\x8C\x8D\n");
    sent.content += '\0';  // text is bytes, also these
    sent.content += "end";
    sent.reasoning = "let me think";
    sent.token_ids = {0, 1, -1, 151643, 2147483647};
    sent.tokenizer_hash = "hash";
    sent.finish_reason = "stop";
    sent.model = "tiny.gguf";
    sent.params_json = R"({"temp":0})";
    sent.stats_json = R"({"ms":1})";
    sent.created_ms = 1234567890123;
    ConversationId chat = 0;
    {
        auto store = open_store(folder / "a/b/hearth.db");
        chat = must(store->create("models/tiny.gguf"));
        must(store->set_system_prompt(chat, "Be brief."));
        must(store->set_params(chat, R"({"temp":1})"));
        must(store->append(chat, sent));
    }
    auto store = open_store(folder / "a/b/hearth.db");
    CHECK(store->notices().empty());
    CHECK(!store->read_only());
    const auto found = must(store->path(chat));
    REQUIRE(found.size() == 1);
    CHECK(found[0].content == sent.content);
    CHECK(found[0].reasoning == sent.reasoning);
    CHECK(found[0].token_ids == sent.token_ids);
    CHECK(found[0].tokenizer_hash == "hash");
    CHECK(found[0].finish_reason == "stop");
    CHECK(found[0].model == "tiny.gguf");
    CHECK(found[0].params_json == sent.params_json);
    CHECK(found[0].stats_json == sent.stats_json);
    CHECK(found[0].created_ms == sent.created_ms);
    CHECK(found[0].role == "assistant");
    CHECK(found[0].parent == 0);
    const Conversation c = must(store->get(chat)).value();
    CHECK(c.model == "models/tiny.gguf");
    CHECK(c.system_prompt == "Be brief.");
    CHECK(c.params_json == R"({"temp":1})");
    CHECK(c.n_messages == 1);
    CHECK(c.active_leaf == found[0].id);
    must(store->check_integrity());
}

TEST_CASE("files are private, folders too, but only those that were made", "[store]") {
    TempFolder folder;
    std::filesystem::create_directory(folder / "shared");
    REQUIRE(::chmod((folder / "shared").c_str(), 0755) == 0);
    const std::string path = folder / "shared/x/y/hearth.db";
    auto store = open_store(path);
    ask(*store, "hello");
    CHECK(mode(folder / "shared") == 0755);
    CHECK(mode(folder / "shared/x") == 0700);
    CHECK(mode(folder / "shared/x/y") == 0700);
    for (const char* suffix : {"", "-wal", "-shm", ".live"}) CHECK(mode(path + suffix) == 0600);
    store.reset();
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    store = open_store(path);
    CHECK(mode(path) == 0600);
}

TEST_CASE("messages are a tree; nothing is overwritten", "[store]") {
    auto store = must(Store::in_memory());
    const auto [chat, q1] = ask(*store, "q1");
    const MessageId a1 = must(store->append(chat, message(q1, "assistant", "a1")));
    const MessageId q2 = must(store->append(chat, message(a1, "user", "q2")));
    CHECK(texts(must(store->path(chat))) == Texts{"q1", "a1", "q2"});
    // Regenerate the first answer: a sibling, now active.
    const MessageId a1b = must(store->append(chat, message(q1, "assistant", "a1b")));
    CHECK(texts(must(store->path(chat))) == Texts{"q1", "a1b"});
    CHECK(texts(must(store->versions(chat, a1b))) == Texts{"a1", "a1b"});
    CHECK(texts(must(store->path(chat, q2))) == Texts{"q1", "a1", "q2"});
    // Edit the first question: a second root.
    const MessageId q1b = must(store->append(chat, message(0, "user", "q1b")));
    CHECK(texts(must(store->versions(chat, q1))) == Texts{"q1", "q1b"});
    CHECK(texts(must(store->path(chat))) == Texts{"q1b"});
    must(store->set_active_leaf(chat, q2));
    CHECK(texts(must(store->path(chat))) == Texts{"q1", "a1", "q2"});
    must(store->set_active_leaf(chat, 0));
    CHECK(must(store->path(chat)).empty());
    CHECK(must(store->get(chat))->n_messages == 5);

    const auto [other, other_question] = ask(*store, "other");
    CHECK(!store->append(chat, message(other_question, "user", "x")));
    CHECK(!store->append(chat, message(999, "user", "x")));
    CHECK(!store->append(999, message(0, "user", "x")));
    CHECK(!store->set_active_leaf(chat, other_question));
    CHECK(!store->path(chat, other_question));
    CHECK(!store->path(999));
    CHECK(!store->versions(chat, other_question));
    CHECK(texts(must(store->path(other))) == Texts{"other"});
    CHECK(must(store->get(chat))->n_messages == 5);
    CHECK(q1b > q1);
    must(store->check_integrity());
}

TEST_CASE("a streamed answer grows in pieces and is whole at its end", "[store]") {
    auto store = must(Store::in_memory());
    const auto [chat, question] = ask(*store, "q");
    StoredMessage start = message(question, "assistant", "start ", MessageState::streaming);
    start.token_ids = {1, 2};
    const MessageId answer = must(store->append(chat, start));
    std::string text = "start ";
    std::vector<std::int32_t> tokens = {1, 2};
    for (std::int32_t i = 0; i < 100; ++i) {
        must(store->extend(answer, fmt::format("{} ", i), {i, i + 1}));
        text += fmt::format("{} ", i);
        tokens.insert(tokens.end(), {i, i + 1});
    }
    must(store->extend(answer, "", {}));
    StoredMessage seen = must(store->path(chat)).back();
    CHECK(seen.content == text);
    CHECK(seen.token_ids == tokens);
    CHECK(seen.state == MessageState::streaming);
    CHECK(ids(must(store->search("98 99", 10))) == Ids{chat});

    const auto end = GENERATE(MessageState::complete, MessageState::stopped, MessageState::failed);
    must(store->finish(answer, end, "length", "hash", R"({"n":1})"));
    seen = must(store->path(chat)).back();
    CHECK(seen.content == text);
    CHECK(seen.token_ids == tokens);
    CHECK(seen.state == end);
    CHECK(seen.finish_reason == "length");
    CHECK(seen.tokenizer_hash == "hash");
    CHECK(seen.stats_json == R"({"n":1})");
    CHECK(!store->extend(answer, "more", {}));
    CHECK(!store->finish(answer, end, "", "", ""));
    CHECK(!store->extend(999, "more", {}));
    CHECK(must(store->path(chat)).back().content == text);
    must(store->check_integrity());
}

TEST_CASE("lists: newest first, pages, deleted ones absent and restorable", "[store]") {
    auto store = must(Store::in_memory());
    const auto [a, qa] = ask(*store, "a");
    const auto [b, qb] = ask(*store, "b");
    const auto [c, qc] = ask(*store, "c");
    CHECK(ids(must(store->list(10))) == Ids{c, b, a});
    must(store->append(a, message(qa, "assistant", "answer")));
    CHECK(ids(must(store->list(10))) == Ids{a, c, b});
    CHECK(ids(must(store->list(1, 1))) == Ids{c});
    must(store->set_title(b, "named"));  // no news
    CHECK(must(store->latest())->id == a);
    must(store->remove(a));
    must(store->remove(c));
    CHECK(ids(must(store->list(10))) == Ids{b});
    CHECK(must(store->latest())->id == b);
    CHECK(!must(store->get(a)));
    CHECK(!must(store->find(std::to_string(a))));
    CHECK(must(store->search("answer", 10)).empty());
    CHECK(!store->remove(a));
    CHECK(!store->append(a, message(qa, "user", "into the deleted")));
    CHECK(must(store->latest_removed())->id == c);
    must(store->restore(c));
    CHECK(must(store->latest_removed())->id == a);
    must(store->restore(a));
    CHECK(!must(store->latest_removed()));
    CHECK(ids(must(store->list(10))) == Ids{a, c, b});
    CHECK(must(store->path(a)).size() == 2);
    CHECK(!store->restore(999));
    CHECK(!store->set_title(999, "x"));
}

TEST_CASE("an answer ends in its own chat even when that is deleted meanwhile", "[store]") {
    auto store = must(Store::in_memory());
    const auto [chat, question] = ask(*store, "q");
    const MessageId answer =
        must(store->append(chat, message(question, "assistant", "", MessageState::streaming)));
    must(store->remove(chat));
    must(store->extend(answer, "late", {7}));
    must(store->finish(answer, MessageState::complete, "stop", "", ""));
    must(store->restore(chat));
    CHECK(must(store->path(chat)).back().content == "late");
}

TEST_CASE("titles: derived until set; chats are found by number, title, prefix", "[store]") {
    auto store = must(Store::in_memory());
    const auto [system, first] = ask(*store, "");
    CHECK(must(store->get(system))->title.empty());
    const auto [a, qa] = ask(*store, "\n  How tall is Everest?\r\nAnd K2?");
    CHECK(must(store->get(a))->title == "How tall is Everest?");
    const auto [b, qb] = ask(*store, std::string(300, 'x'));
    CHECK(must(store->get(b))->title == std::string(80, 'x') + "…");
    const ConversationId c = must(store->create("tiny"));
    const MessageId prompt = must(store->append(c, message(0, "system", "You are helpful.")));
    must(store->append(c, message(prompt, "user", "How old is Rome?")));
    CHECK(must(store->get(c))->title == "How old is Rome?");

    CHECK(must(store->find(std::to_string(a)))->id == a);
    CHECK(must(store->find("how TALL"))->id == a);
    CHECK(must(store->find("How old is Rome?"))->id == c);
    CHECK(!must(store->find("Rome")));
    CHECK(!must(store->find("")));
    const auto ambiguous = store->find("How");
    REQUIRE(!ambiguous);
    CHECK_THAT(ambiguous.error().what,
               Catch::Contains("How tall is Everest?") && Catch::Contains("How old is Rome?"));
    must(store->set_title(a, "how"));
    CHECK(must(store->find("How"))->id == a);  // whole title before prefix
    must(store->set_title(c, std::to_string(a)));
    CHECK(must(store->find(std::to_string(a)))->id == a);  // number before title
    must(store->set_title(c, "777"));
    CHECK(must(store->find("777"))->id == c);
}

TEST_CASE("search finds any script without regard to case", "[store]") {
    auto store = must(Store::in_memory());
    const auto [chat, question] = ask(*store, "Title line");
    StoredMessage answer =
        message(question, "assistant", "你好，世界！ Straße ΑΒΓ Ünder ПРИВЕТ 100%_x");
    answer.reasoning = "secret thought";
    must(store->append(chat, answer));
    ask(*store, "nothing here");
    for (const char* needle : {"世界", "界", "title", "STRASSE is not one word, straße is"}) {
        INFO(needle);
        const bool expected = std::string(needle).find("not one") == std::string::npos;
        CHECK((ids(must(store->search(needle, 10))) == Ids{chat}) == expected);
    }
    for (const char* needle :
         {"straße", "STRAßE", "αβγ", "ünder", "привет", "100%_X", "Thought", "好，世"}) {
        INFO(needle);
        CHECK(ids(must(store->search(needle, 10))) == Ids{chat});
    }
    CHECK(must(store->search("世好", 10)).empty());
    CHECK(must(store->search("100_", 10)).empty());
    CHECK(must(store->search("h", 1)).size() == 1);
    // A branch that is not shown is searched too.
    must(store->append(chat, message(0, "user", "other root")));
    CHECK(ids(must(store->search("привет", 10))) == Ids{chat});
}

TEST_CASE("no-log leaves nothing on disk", "[store]") {
    TempFolder folder;
    auto store = must(Store::in_memory());
    ask(*store, "secret");
    CHECK(must(store->list(10)).size() == 1);
    CHECK(std::filesystem::is_empty(folder / ""));
}

TEST_CASE("ten thousand chats are listed quickly", "[store]") {
    auto store = must(Store::in_memory());
    for (int i = 0; i < 10'000; ++i) ask(*store, fmt::format("question {}", i));
    const auto start = std::chrono::steady_clock::now();
    CHECK(must(store->list(50)).size() == 50);
    const auto page = std::chrono::steady_clock::now();
    CHECK(must(store->list(20'000)).size() == 10'000);
    const auto all = std::chrono::steady_clock::now();
    CHECK(must(store->find("question 9999"))->title == "question 9999");
    using Ms = std::chrono::duration<double, std::milli>;
    WARN("50 of 10000 chats: " << Ms(page - start).count() << " ms, all: " << Ms(all - page).count()
                               << " ms");
    CHECK(page - start < std::chrono::milliseconds(200));
    CHECK(all - page < std::chrono::seconds(2));
}

TEST_CASE("adding to a long answer costs what is added", "[store]") {
    TempFolder folder;
    auto store = open_store(folder / "hearth.db");
    const auto [chat, question] = ask(*store, "q");
    const MessageId answer = must(store->append(
        chat, message(question, "assistant", std::string(1 << 20, 'x'), MessageState::streaming)));
    const auto wal_bytes = [&] { return std::filesystem::file_size(folder / "hearth.db-wal"); };
    must(store->extend(answer, "y", {1}));
    const auto before = wal_bytes();
    for (int i = 0; i < 10; ++i)
        must(store->extend(answer, "twenty bytes of text", {1, 2, 3, 4, 5}));
    // At most three pages (rows, index, their root) of 4 KiB each time, never the megabyte.
    CHECK(wal_bytes() - before <= 10 * 3 * 4200);
}

TEST_CASE("a message of 50 MB and a chat of 2000 messages", "[store]") {
    TempFolder folder;
    auto store = open_store(folder / "hearth.db");
    const auto [chat, question] = ask(*store, std::string(50'000'000, 'z'));
    CHECK(must(store->path(chat)).front().content.size() == 50'000'000);
    auto memory = must(Store::in_memory());
    auto [long_chat, last] = ask(*memory, "0");
    for (int i = 1; i < 2000; ++i)
        last = must(memory->append(long_chat, message(last, i % 2 ? "assistant" : "user", "text")));
    CHECK(must(memory->path(long_chat)).size() == 2000);
}

}  // namespace hearth
