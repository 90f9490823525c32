// The index finds what reading every text would find.
#include <algorithm>
#include <random>

#include <SQLiteCpp/SQLiteCpp.h>

#include "engine/store/fold.h"
#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

/// Words of several scripts, some of which share characters.
std::string random_text(std::mt19937& random, int n_words) {
    static const char* const kWords[] = {"the",    "Then", "世界", "界面",  "聊天",  "聊",   "ß",
                                         "Ünder",  "αβγ",  "a",    "\"q\"", "x'y",   "100%", "😀🚀",
                                         "привет", "\n",   "天聊", "他们",  "hello", "OK"};
    std::string text;
    for (int i = 0; i < n_words; ++i) {
        if (random() % 3 != 0) text += ' ';
        text += kWords[random() % std::size(kWords)];
    }
    return text;
}

/// A piece of `text` of up to `n` characters.
std::string random_piece(std::mt19937& random, const std::string& text, std::size_t n) {
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < text.size(); ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) begins.push_back(i);
    const std::size_t first = random() % begins.size();
    const std::size_t last = std::min(first + 1 + random() % n, begins.size());
    const std::size_t end = last == begins.size() ? text.size() : begins[last];
    return text.substr(begins[first], end - begins[first]);
}

}  // namespace

TEST_CASE("searching finds the same chats as reading all texts", "[store][search]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    std::mt19937 random(5);
    std::vector<std::pair<ConversationId, std::string>> texts;
    {
        auto store = open_store(path);
        for (int chat = 0; chat < 150; ++chat) {
            const ConversationId id = must(store->create("tiny"));
            MessageId parent = 0;
            for (int i = 0; i < 3; ++i) {
                texts.emplace_back(id, random_text(random, 1 + static_cast<int>(random() % 12)));
                parent = must(store->append(id, message(parent, "user", texts.back().second)));
            }
        }
        for (int round = 0; round < 400; ++round) {
            std::string needle =
                random_piece(random, texts[random() % texts.size()].second, round % 2 ? 2 : 12);
            if (round % 7 == 0) needle += "Q";  // mostly nowhere
            INFO("searching for '" << needle << "'");
            const store::Finder finder(needle);
            std::vector<ConversationId> expected, found;
            for (const auto& [id, text] : texts)
                if (finder.in(text)) expected.push_back(id);
            expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
            for (const SearchHit& hit : must(store->find_text(needle, 1000)))
                found.push_back(hit.chat.id);
            std::sort(found.begin(), found.end());
            REQUIRE(found == expected);
        }
    }
    SQLite::Database db(path);
    // All of this went through the index, not past it.
    CHECK(db.execAndGet("SELECT count(*) FROM search_pending").getInt() < 64);
    CHECK(db.execAndGet("SELECT count(*) FROM message_search_docsize").getInt() > 380);
}

TEST_CASE("a rare word of one or two characters is found through the index", "[store][search]") {
    auto store = must(Store::in_memory());
    const auto [chat, question] = ask(*store, "今天聊一聊世界");
    MessageId last = question;
    for (int i = 0; i < 3000; ++i)
        last = must(store->append(chat, message(last, "user", "ordinary words")));
    for (int i = 0; i < 100; ++i) ask(*store, "other chats with ordinary words");
    static_cast<void>(store->search("index everything", 1));
    for (const char* needle : {"世界", "界", "聊一", "今"}) {
        const auto hits = must(store->find_text(needle, 10));
        INFO(needle);
        REQUIRE(hits.size() == 1);
        CHECK(hits[0].chat.id == chat);
        CHECK(hits[0].snippet.substr(hits[0].begin, hits[0].end - hits[0].begin) == needle);
    }
    CHECK(must(store->find_text("界世", 10)).empty());
}

TEST_CASE("a hit says where", "[store][search]") {
    auto store = must(Store::in_memory());
    const auto [chat, question] =
        ask(*store, "Begin\n" + std::string(200, 'x') + " ÜBER Needle" + std::string(200, 'y'));
    const MessageId answer = must(store->append(chat, message(question, "assistant", "needles")));
    const MessageId other = must(store->append(chat, message(0, "user", "a needle on a branch")));
    const auto titled = ask(*store, "x").chat;
    must(store->set_title(titled, "The Needle chat"));
    const auto hits = must(store->find_text("NEEDLE", 10));
    REQUIRE(hits.size() == 2);
    CHECK(hits[0].chat.id == titled);
    CHECK(hits[0].message == 0);
    CHECK(hits[0].snippet == "The Needle chat");
    CHECK(hits[1].message == other);
    CHECK(must(store->find_in_chat(chat, "needle")) ==
          std::vector<MessageId>{question, answer, other});
    const auto one = must(store->find_text("über needle", 10));
    REQUIRE(one.size() == 1);
    CHECK(one[0].snippet.substr(one[0].begin, one[0].end - one[0].begin) == "ÜBER Needle");
    CHECK(one[0].snippet.size() < 200);
    CHECK(must(store->find_text("needle", 1)).size() == 1);
    CHECK(must(store->find_text("needle", 0)).empty());
}

TEST_CASE("a damaged index is built anew and searching goes on", "[store][search][damage]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    {
        auto store = open_store(path);
        for (int i = 0; i < 200; ++i) ask(*store, fmt::format("question number {} about tea", i));
        CHECK(must(store->search("about tea", 1000)).size() == 200);
    }
    const int first = GENERATE(1, 10);  // with what says which parts there are, or without
    {
        SQLite::Database db(path, SQLite::OPEN_READWRITE);
        db.exec(
            fmt::format("UPDATE message_search_data SET block = randomblob(length(block)) "
                        "WHERE id > {}",
                        first));
    }
    auto store = open_store(path);
    CHECK(must(store->search("number 77 about", 1000)).size() == 1);
    CHECK(must(store->search("about tea", 1000)).size() == 200);
    CHECK(must(store->search("number 177 about", 1000)).size() == 1);
    const auto chat = ask(*store, "one more about tea").chat;
    CHECK(must(store->get(chat)));
    CHECK(must(store->search("about tea", 1000)).size() == 201);
}

}  // namespace hearth
