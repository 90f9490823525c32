// Chats that come from elsewhere and go elsewhere.
#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

PortableMessage from_elsewhere(const std::string& origin, int parent, const std::string& text) {
    PortableMessage m;
    m.origin = origin;
    m.parent = parent;
    m.message = message(0, parent % 2 == 0 ? "assistant" : "user", text);
    m.message.created_ms = 1'600'000'000'000 + static_cast<std::int64_t>(text.size());
    return m;
}

PortableChat foreign_chat() {
    PortableChat chat;
    chat.origin = "chatgpt:abc";
    chat.title = "Foreign";
    chat.system_prompt = "Be kind.";
    chat.created_ms = 1'600'000'000'000;
    chat.updated_ms = 1'600'000'001'000;
    chat.messages = {from_elsewhere("a", -1, "question"), from_elsewhere("b", 0, "answer"),
                     from_elsewhere("c", 0, "other answer"), from_elsewhere("d", 1, "on")};
    chat.active = 2;
    return chat;
}

void check_equal(const PortableChat& a, const PortableChat& b) {
    CHECK(a.origin == b.origin);
    CHECK(a.title == b.title);
    CHECK(a.model == b.model);
    CHECK(a.system_prompt == b.system_prompt);
    CHECK(a.params_json == b.params_json);
    CHECK(a.created_ms == b.created_ms);
    CHECK(a.active == b.active);
    REQUIRE(a.messages.size() == b.messages.size());
    for (std::size_t i = 0; i < a.messages.size(); ++i) {
        CHECK(a.messages[i].origin == b.messages[i].origin);
        CHECK(a.messages[i].parent == b.messages[i].parent);
        CHECK(a.messages[i].message.role == b.messages[i].message.role);
        CHECK(a.messages[i].message.content == b.messages[i].message.content);
        CHECK(a.messages[i].message.token_ids == b.messages[i].message.token_ids);
        CHECK(a.messages[i].message.created_ms == b.messages[i].message.created_ms);
    }
}

}  // namespace

TEST_CASE("an import keeps tree, times and roles, and twice is once", "[store][import]") {
    auto store = must(Store::in_memory());
    PortableChat foreign = foreign_chat();
    const ImportOutcome first = must(store->import_chat(foreign));
    CHECK(first.is_new);
    CHECK(first.n_added == 4);
    const Conversation chat = *must(store->get(first.id));
    CHECK(chat.title == "Foreign");
    CHECK(chat.system_prompt == "Be kind.");
    CHECK(chat.updated_ms == 1'600'000'001'000);
    const auto shown = must(store->path(first.id));
    REQUIRE(shown.size() == 2);
    CHECK(shown[1].content == "other answer");
    CHECK(shown[1].version == 2);
    CHECK(shown[1].created_ms == foreign.messages[2].message.created_ms);
    CHECK(must(store->search("other answer", 10)).size() == 1);

    const ImportOutcome second = must(store->import_chat(foreign));
    CHECK(second.id == first.id);
    CHECK(!second.is_new);
    CHECK(second.n_added == 0);
    CHECK(must(store->list(10)).size() == 1);
    CHECK(must(store->tree(first.id)).size() == 4);

    // What was renamed or written here stays; what is new there comes in.
    must(store->set_title(first.id, "Mine"));
    const MessageId own = must(store->append(first.id, message(shown[1].id, "user", "own")));
    foreign.messages.push_back(from_elsewhere("e", 3, "new there"));
    foreign.active = 4;
    const ImportOutcome third = must(store->import_chat(foreign));
    CHECK(third.n_added == 1);
    CHECK(must(store->get(first.id))->title == "Mine");
    CHECK(must(store->path(first.id)).back().content == "new there");
    CHECK(must(store->path(first.id, own)).back().content == "own");

    must(store->remove(first.id));
    const ImportOutcome trash = must(store->import_chat(foreign));
    CHECK(trash.in_trash);
    CHECK(trash.n_added == 0);
    must(store->check_integrity());
}

TEST_CASE("a chat goes to another database and back and stays one chat", "[store][import]") {
    auto here = must(Store::in_memory()), there = must(Store::in_memory());
    const auto [chat, question] = ask(*here, "question");
    StoredMessage answer = message(question, "assistant", "answer");
    answer.token_ids = {5, 6};
    must(here->append(chat, answer));
    must(here->append(chat, message(0, "user", "another root")));
    const PortableChat out = must(here->export_chat(chat));
    CHECK(out.messages.size() == 3);
    CHECK(out.active == 2);
    CHECK(must(here->import_chat(out)).n_added == 0);
    CHECK(must(here->list(10)).size() == 1);

    const ImportOutcome copy = must(there->import_chat(out));
    CHECK(copy.n_added == 3);
    const PortableChat back = must(there->export_chat(copy.id));
    check_equal(back, out);
    // It grows there, and comes back.
    must(
        there->append(copy.id, message(must(there->path(copy.id)).back().id, "assistant", "more")));
    const ImportOutcome home = must(here->import_chat(must(there->export_chat(copy.id))));
    CHECK(home.id == chat);
    CHECK(home.n_added == 1);
    CHECK(must(here->path(chat)).back().content == "more");
    CHECK(must(here->import_chat(must(there->export_chat(copy.id)))).n_added == 0);
    // And an imported one that went on here is still the same chat.
    CHECK(must(there->import_chat(must(here->export_chat(chat)))).n_added == 0);
    CHECK(must(there->list(10)).size() == 1);
    must(here->check_integrity());
    must(there->check_integrity());
}

TEST_CASE("an import that cannot be a tree is refused and leaves nothing", "[store][import]") {
    auto store = must(Store::in_memory());
    PortableChat foreign = foreign_chat();
    foreign.messages[1].parent = 3;
    const auto refused = store->import_chat(foreign);
    REQUIRE(!refused);
    CHECK_THAT(refused.error().what, Catch::Contains("before its parent"));
    CHECK(must(store->list(10)).empty());
    CHECK(!store->export_chat(1));
}

}  // namespace hearth
