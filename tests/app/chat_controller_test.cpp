#include "app/chat_controller.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

#include "app/options.h"
#include "tests/app/fake_engine.h"
#include "tests/support/tiny_model.h"

using namespace hearth;
using hearth::test::FakeEngine;
using hearth::test::FakeEngineLog;

namespace {

/// A controller over a fake engine, a store in memory, and a tiny model file.
struct Chat {
    FakeEngineLog log;
    std::string model;
    std::unique_ptr<ChatController> controller;
    std::function<void()> wake;

    explicit Chat(SettingLayers settings = {}, const std::string& database = "") {
        model = (std::filesystem::temp_directory_path() /
                 fmt::format("hearth-controller-{}.gguf", ::getpid()))
                    .string();
        if (!std::filesystem::exists(model)) test::write_tiny_model(model, {});
        ChatSetup setup;
        setup.store = database.empty() ? *Store::in_memory() : *Store::open(database);
        setup.settings = std::move(settings);
        setup.model_card = [](const std::string&) {
            inspect::ModelCard card;
            card.metadata = {{"general.sampling.temp", "0.3"}};
            return Result<inspect::ModelCard>(card);
        };
        setup.make_engine = [this](const EngineOptions& options, std::function<void()> w) {
            log.made_with.push_back(options);
            wake = std::move(w);
            return Result<std::unique_ptr<Engine>>(std::make_unique<FakeEngine>(log));
        };
        controller = std::make_unique<ChatController>(std::move(setup));
        REQUIRE(controller->set_model(model));
    }
    ChatController& operator*() { return *controller; }
    ChatController* operator->() { return controller.get(); }

    void emit(Event event) { log.events.push_back(std::move(event)); }
    /// Lets the last request answer `text` and end.
    void answer(const std::string& text, FinishReason reason = FinishReason::stop) {
        const RequestId id = log.requests.size();
        emit(event::Text{id, text, {1, 2}});
        Stats stats;
        stats.completion_tokens = 2;
        emit(event::Done{id, reason, stats, "hash"});
        controller->pump(0);
    }
};

}  // namespace

TEST_CASE("the message is on disk before the engine hears of it", "[app][controller]") {
    Chat chat;
    std::vector<StoredMessage> at_submit;
    chat.log.on_submit = [&](const Request&) {
        const auto last = chat->store().latest();
        if (last && *last) at_submit = *chat->store().path((*last)->id);
    };
    REQUIRE(chat->send("hello"));
    REQUIRE(at_submit.size() == 1);
    CHECK(at_submit[0].role == "user");
    CHECK(at_submit[0].content == "hello");
    CHECK(chat->busy());
}

TEST_CASE("events become the view, one phase after the other", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("hello"));
    CHECK(chat->view().phase == Phase::queued);
    chat.emit(event::Queued{1, 2, "waiting for another chat"});
    chat->pump(0);
    CHECK(chat->view().queued_reason == "waiting for another chat");
    chat.emit(event::Loading{1, chat.model});
    chat->pump(0);
    CHECK(chat->view().phase == Phase::loading);
    CHECK(loading_name(chat->view()) == chat->view().model_name);
    chat.emit(event::Loading{1, chat.model, 40});
    chat->pump(0);
    CHECK(loading_name(chat->view()) == chat->view().model_name + ", 40 % on the card");
    chat.emit(event::Loaded{1, "tiny", 5, {"no template: chatml is used"}});
    chat.emit(event::Prefill{1, 16, 40, 8});
    chat->pump(0);
    CHECK(chat->view().model_loaded);
    CHECK(chat->view().phase == Phase::prefill);
    CHECK(chat->view().prefill_done == 16);
    CHECK(chat->view().prefill_total == 40);
    CHECK(chat->view().cached_tokens == 8);
    CHECK(chat->take_notes() == std::vector<std::string>{"no template: chatml is used"});
    CHECK(chat->take_notes().empty());
    chat.emit(event::Text{1, "Hi", {5}});
    chat.emit(event::Text{1, " there", {6, 7}});
    chat.emit(event::Text{99, "of another request", {8}});
    chat->pump(0);
    CHECK(chat->view().phase == Phase::decoding);
    CHECK(chat->view().answer == "Hi there");
    CHECK(chat->view().answer_ids == std::vector<std::int32_t>{5, 6, 7});
    CHECK_FALSE(chat->view().last);
    Stats stats;
    stats.completion_tokens = 3;
    chat.emit(event::Done{1, FinishReason::length, stats, "hash"});
    chat->pump(0);
    CHECK(chat->view().phase == Phase::idle);
    REQUIRE(chat->view().last);
    CHECK(chat->view().last->reason == FinishReason::length);
    REQUIRE(chat->view().messages.size() == 2);
    const StoredMessage& answer = chat->view().messages[1];
    CHECK(answer.content == "Hi there");
    CHECK(answer.token_ids == std::vector<std::int32_t>{5, 6, 7});
    CHECK(answer.tokenizer_hash == "hash");
    CHECK(answer.state == MessageState::complete);
    CHECK(answer.finish_reason == "length");
    CHECK(nlohmann::json::parse(answer.stats_json)["completion_tokens"] == 3);
    chat.emit(event::Unloaded{chat.model});
    chat->pump(0);
    CHECK_FALSE(chat->view().model_loaded);
}

TEST_CASE("the first text makes the answer's row at once", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("hello"));
    chat.emit(event::Text{1, "Hi", {5}});
    chat->pump(0);
    const auto path = *chat->store().path(chat->view().chat.id);
    REQUIRE(path.size() == 2);
    CHECK(path[1].content == "Hi");
    CHECK(path[1].state == MessageState::streaming);
}

TEST_CASE("text that streams is on disk within a second", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("hello"));
    chat.emit(event::Text{1, "Hi", {5}});
    chat->pump(0);
    chat.emit(event::Text{1, " there", {6}});
    chat->pump(0);
    const ConversationId id = chat->view().chat.id;
    CHECK((*chat->store().path(id))[1].content == "Hi");  // not a write for each token
    ::usleep(900'000);
    chat->pump(0);
    CHECK((*chat->store().path(id))[1].content == "Hi there");
    CHECK((*chat->store().path(id))[1].token_ids == std::vector<std::int32_t>{5, 6});
}

TEST_CASE("a second turn carries the first with its token ids", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->set_system("be brief"));
    REQUIRE(chat->send("one"));
    chat.answer("first");
    REQUIRE(chat->send("two"));
    const Request& request = chat.log.requests[1];
    REQUIRE(request.messages.size() == 4);
    CHECK(request.messages[0].role == "system");
    CHECK(request.messages[0].content == "be brief");
    CHECK(request.messages[2].content == "first");
    CHECK(request.messages[2].token_ids == std::vector<std::int32_t>{1, 2});
    CHECK(request.messages[2].tokenizer_hash == "hash");
    CHECK(request.messages[3].content == "two");
    CHECK(request.conversation == chat.log.requests[0].conversation);
    CHECK_FALSE(request.continue_last);
}

TEST_CASE("one turn at a time", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    CHECK_FALSE(chat->send("two"));
    CHECK_FALSE(chat->regenerate());
    CHECK_FALSE(chat->undo());
    CHECK_FALSE(chat->new_chat());
    CHECK_FALSE(chat->set_model(chat.model));
    CHECK(chat.log.requests.size() == 1);
    chat.answer("done");
    CHECK(chat->send("two"));
}

TEST_CASE("stop keeps the partial answer", "[app][controller]") {
    Chat chat;
    chat->stop();  // harmless when idle
    REQUIRE(chat->send("one"));
    chat.emit(event::Text{1, "par", {1}});
    chat->pump(0);
    chat->stop();
    chat->pump(0);
    CHECK_FALSE(chat->busy());
    CHECK(chat.log.cancelled == std::vector<RequestId>{1});
    REQUIRE(chat->view().messages.size() == 2);
    CHECK(chat->view().messages[1].content == "par");
    CHECK(chat->view().messages[1].state == MessageState::stopped);
    CHECK(chat->view().last->reason == FinishReason::stopped);
}

TEST_CASE("stop before the first word leaves no empty answer", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat->stop();
    chat->pump(0);
    CHECK(chat->view().messages.size() == 1);
    REQUIRE(chat->send("two"));
    // Templates want roles to alternate: the two questions go as one message (user case A14).
    REQUIRE(chat.log.requests[1].messages.size() == 1);
    CHECK(chat.log.requests[1].messages[0].content == "one\n\ntwo");
}

TEST_CASE("a failed turn is a state, and the chat goes on", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat.emit(event::Failed{1, Error{Errc::context_overflow, "too long"}});
    chat->pump(0);
    CHECK_FALSE(chat->busy());
    REQUIRE(chat->view().last);
    REQUIRE(chat->view().last->error);
    CHECK(chat->view().last->error->code == Errc::context_overflow);
    REQUIRE(chat->view().messages.size() == 2);
    CHECK(chat->view().messages[1].state == MessageState::failed);
    CHECK(chat->view().messages[1].stats_json.find("too long") != std::string::npos);
    REQUIRE(chat->regenerate());
    CHECK(chat.log.requests[1].messages.size() == 1);
    chat.answer("fine");
    CHECK(chat->view().messages[1].content == "fine");
    CHECK(chat->store().versions(chat->view().chat.id, chat->view().messages[1].id)->size() == 2);
}

TEST_CASE("closing in the middle of an answer stores what was shown", "[app][controller]") {
    const std::string folder =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-close-{}", ::getpid()))
            .string();
    std::filesystem::remove_all(folder);
    REQUIRE(make_private_dir(folder));
    Chat chat({}, folder + "/hearth.db");
    chat.log.ends_cancelled = GENERATE(true, false);  // false: an engine that hangs
    REQUIRE(chat->send("one"));
    chat.emit(event::Text{1, "a", {1}});
    chat->pump(0);
    chat.emit(event::Text{1, "bc", {2}});
    chat->pump(0);
    const ConversationId id = chat->view().chat.id;
    chat.controller.reset();
    CHECK(chat.log.cancelled == std::vector<RequestId>{1});
    const auto store = Store::open(folder + "/hearth.db");
    REQUIRE(store);
    const auto path = *(*store)->path(id);
    REQUIRE(path.size() == 2);
    CHECK(path[1].content == "abc");
    CHECK(path[1].token_ids == std::vector<std::int32_t>{1, 2});
    CHECK(path[1].state == MessageState::stopped);
    std::filesystem::remove_all(folder);
}

TEST_CASE("regenerate adds a version, undo takes a turn back", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat.answer("first");
    REQUIRE(chat->regenerate());
    CHECK(chat.log.requests[1].messages.size() == 1);
    chat.answer("second");
    CHECK(chat->view().messages[1].content == "second");
    REQUIRE(chat->send("two"));
    chat.answer("third");
    CHECK(chat->view().messages.size() == 4);
    CHECK(*chat->undo() == "two");
    CHECK(chat->view().messages.size() == 2);
    CHECK(*chat->undo() == "one");
    CHECK(chat->view().messages.empty());
    CHECK_FALSE(chat->undo());
    REQUIRE(chat->send("again"));
    CHECK(chat.log.requests.back().messages.size() == 1);
    CHECK(chat->view().messages.size() == 1);
}

TEST_CASE("editing, branching and switching lose nothing", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat.answer("first");
    REQUIRE(chat->send("two"));
    chat.answer("second");
    const MessageId two = chat->view().messages[2].id;
    REQUIRE(chat->edit(two, "two, edited"));
    // What was edited away is not sent.
    REQUIRE(chat.log.requests[2].messages.size() == 3);
    CHECK(chat.log.requests[2].messages[2].content == "two, edited");
    chat.answer("third");
    REQUIRE(chat->view().messages.size() == 4);
    CHECK(chat->view().messages[2].version == 2);
    CHECK(chat->view().messages[2].n_versions == 2);
    REQUIRE(chat->show_version(two));
    CHECK(chat->view().messages[3].content == "second");
    CHECK(chat->versions(two)->size() == 2);
    CHECK_FALSE(chat->edit(chat->view().messages[1].id, "an answer"));
    CHECK_FALSE(chat->edit(4711, "nothing"));

    REQUIRE(chat->branch_from(chat->view().messages[1].id));
    CHECK(chat->view().messages.size() == 2);
    REQUIRE(chat->send("another way"));
    CHECK_FALSE(chat->show_version(two));  // an answer is being written
    chat.answer("fourth");
    CHECK(chat->tree()->size() == 8);

    const ConversationId first = chat->view().chat.id;
    REQUIRE(chat->fork(chat->view().messages[1].id));
    CHECK(chat->view().chat.id != first);
    CHECK(chat->view().messages.size() == 2);
    CHECK(chat->store().tree(first)->size() == 8);
    REQUIRE(chat->branch_from(0));
    CHECK(chat->view().messages.empty());
    REQUIRE(chat->set_pinned(first, true));
    CHECK(chat->chats(10)->front().id == first);
}

TEST_CASE("what the model no longer sees is told, kept with the chat, and stays out",
          "[app][controller]") {
    SettingLayers layers;
    layers.flag = {{"context_policy", "drop-oldest"}};
    Chat chat(layers);
    REQUIRE(chat->set_system("Be brief."));
    for (const char* text : {"one", "two", "three"}) {
        REQUIRE(chat->send(text));
        CHECK(chat.log.requests.back().context_policy == ContextPolicy::drop_oldest);
        chat.answer(std::string(text) + "!");
    }
    (void)chat->take_notes();
    REQUIRE(chat->send("four"));
    REQUIRE(chat.log.requests.back().messages.size() == 8);
    chat.emit(event::LeftOut{4, 1, 4, 500, 256});
    chat->pump(0);
    CHECK(chat->view().unseen_begin == 0);
    CHECK(chat->view().unseen_end == 4);
    const auto notes = chat->take_notes();
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].find("messages 1 to 4") != std::string::npos);
    chat.answer("four!");
    CHECK(chat->view().messages.size() == 8);  // nothing is gone

    REQUIRE(chat->send("five"));
    REQUIRE(chat.log.requests.back().messages.size() == 6);
    CHECK(chat.log.requests.back().messages[1].content == "three");
    chat.emit(event::LeftOut{5, 1, 2, 500, 256});
    chat.answer("five!");
    CHECK(chat->view().unseen_end == 6);
    // Opened anew, it is known; another branch has its own.
    const ConversationId id = chat->view().chat.id;
    const MessageId second = chat->view().messages[2].id;
    REQUIRE(chat->new_chat());
    CHECK(chat->view().unseen_end == 0);
    REQUIRE(chat->switch_to(id));
    CHECK(chat->view().unseen_end == 6);
    REQUIRE(chat->branch_from(second));
    CHECK(chat->view().unseen_end == 0);
    // Who wants to stop gets all of it.
    REQUIRE(chat->switch_to(id));
    REQUIRE(chat->show_version(chat->store().tree(id)->back().id));
    REQUIRE(chat->set_param("context_policy", "stop"));
    REQUIRE(chat->send("six"));
    CHECK(chat.log.requests.back().messages.size() == 12);
    CHECK_FALSE(chat->set_param("context_policy", "forget"));
}

TEST_CASE("a context that gets full is told before it is", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    (void)chat->take_notes();
    Stats stats;
    stats.context_tokens = 100;
    stats.context_used = 84;
    chat.emit(event::Text{1, "a", {1}});
    chat.emit(event::Done{1, FinishReason::stop, stats, "hash"});
    chat->pump(0);
    CHECK(chat->take_notes().empty());
    REQUIRE(chat->send("two"));
    stats.context_used = 85;
    chat.emit(event::Text{2, "b", {1}});
    chat.emit(event::Done{2, FinishReason::stop, stats, "hash"});
    chat->pump(0);
    const auto notes = chat->take_notes();
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].find("85 % full (85 of 100 tokens)") != std::string::npos);
}

TEST_CASE("what another process adds is seen", "[app][controller]") {
    const std::string folder =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-two-{}", ::getpid()))
            .string();
    std::filesystem::remove_all(folder);
    REQUIRE(make_private_dir(folder));
    {
        Chat chat({}, folder + "/hearth.db");
        REQUIRE(chat->send("one"));
        chat.answer("first");
        CHECK_FALSE(chat->refresh());
        auto other = *Store::open(folder + "/hearth.db");
        StoredMessage more;
        more.parent = chat->view().messages.back().id;
        more.role = "user";
        more.content = "from the window";
        REQUIRE(other->append(chat->view().chat.id, more));
        CHECK(chat->refresh());
        REQUIRE(chat->view().messages.size() == 3);
        CHECK(chat->view().messages[2].content == "from the window");
        CHECK_FALSE(chat->refresh());
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("a stopped answer goes on, and the shorter one stays", "[app][controller]") {
    Chat chat;
    CHECK_FALSE(chat->continue_last());
    REQUIRE(chat->send("one"));
    chat.answer("once upon", FinishReason::length);
    REQUIRE(chat->continue_last());
    CHECK(chat.log.requests[1].continue_last);
    REQUIRE(chat.log.requests[1].messages.size() == 2);
    CHECK(chat.log.requests[1].messages[1].content == "once upon");
    CHECK(chat->view().answer == "once upon");
    chat.answer(" a time");
    REQUIRE(chat->view().messages.size() == 2);
    CHECK(chat->view().messages[1].content == "once upon a time");
    CHECK(chat->view().messages[1].token_ids == std::vector<std::int32_t>{1, 2, 1, 2});
    CHECK(chat->store().versions(chat->view().chat.id, chat->view().messages[1].id)->size() == 2);
}

TEST_CASE("settings reach the engine; /set beats the flag of the start", "[app][controller]") {
    SettingLayers layers;
    layers.flag = {{"top_k", "5"}, {"seed", "11"}};
    Chat chat(layers);
    REQUIRE(chat->send("one"));
    CHECK(chat.log.requests[0].sampling.temperature == 0.3f);  // the model file's
    CHECK(chat.log.requests[0].sampling.top_k == 5);
    CHECK(chat.log.requests[0].sampling.seed == 11);
    chat.answer("x");
    CHECK(chat->view().last->seed == 11);
    REQUIRE(chat->set_param("top_k", "6"));
    CHECK_FALSE(chat->set_param("top_k", "six"));
    REQUIRE(chat->send("two"));
    CHECK(chat.log.requests[1].sampling.top_k == 6);
    chat.answer("y");
    CHECK(chat->store().get(chat->view().chat.id)->value().params_json.find("top_k") !=
          std::string::npos);
    REQUIRE(chat->set_param("top_k", "default"));
    REQUIRE(chat->send("three"));
    CHECK(chat.log.requests[2].sampling.top_k == 40);
}

TEST_CASE("a random seed is drawn anew and told", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat.answer("x");
    const std::uint64_t first = chat->view().last->seed;
    CHECK(chat.log.requests[0].sampling.seed == first);
    REQUIRE(chat->send("two"));
    chat.answer("y");
    CHECK(chat->view().last->seed != first);
    const auto params = nlohmann::json::parse(chat->view().messages[1].params_json);
    CHECK(params["seed"] == first);
}

TEST_CASE("another context takes another engine", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat.answer("x");
    REQUIRE(chat->set_param("num_ctx", "4096"));
    REQUIRE(chat->send("two"));
    REQUIRE(chat.log.made_with.size() == 2);
    CHECK(chat.log.made_with[1].context_tokens == 4096);
}

TEST_CASE("chats keep their model, system prompt and settings", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->set_system("be brief"));
    REQUIRE(chat->set_param("temperature", "0"));
    REQUIRE(chat->set_title("first"));
    REQUIRE(chat->send("one"));
    chat.answer("x");
    const ConversationId first = chat->view().chat.id;
    REQUIRE(chat->new_chat());
    CHECK(chat->view().messages.empty());
    CHECK(chat->system_prompt().empty());
    REQUIRE(chat->send("other"));
    CHECK(chat.log.requests[1].sampling.temperature == 0.3f);
    CHECK(chat.log.requests[1].conversation != chat.log.requests[0].conversation);
    chat.answer("y");
    REQUIRE(chat->find_chat("first"));
    REQUIRE(chat->switch_to(first));
    CHECK(chat->system_prompt() == "be brief");
    CHECK(chat->view().messages.size() == 2);
    REQUIRE(chat->send("two"));
    CHECK(chat.log.requests[2].sampling.temperature == 0.0f);
    chat.answer("z");
    CHECK_FALSE(chat->switch_to(4711));
    REQUIRE(chat->remove_chat(first));
    CHECK(chat->view().chat.id == 0);
    CHECK_FALSE(chat->find_chat("first"));
    CHECK(chat->restore_chat()->id == first);
}

TEST_CASE("a chat whose model is gone opens all the same", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    chat.answer("x");
    const ConversationId id = chat->view().chat.id;
    REQUIRE(chat->store().set_model(id, "/no/such/model.gguf"));
    REQUIRE(chat->new_chat());
    REQUIRE(chat->switch_to(id));
    CHECK(chat->view().messages.size() == 2);
    const auto notes = chat->take_notes();
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].find("model of this chat") != std::string::npos);
}

TEST_CASE("documents go before the message", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->attach_text("", "piped"));
    const std::string file =
        (std::filesystem::temp_directory_path() / fmt::format("hearth-doc-{}.txt", ::getpid()))
            .string();
    std::ofstream(file) << "content\n";
    REQUIRE(chat->attach(file));
    std::filesystem::remove(file);
    CHECK(chat->view().attachments.size() == 2);
    REQUIRE(chat->send("question"));
    const std::string content = chat.log.requests[0].messages[0].content;
    CHECK(content.rfind("piped\n\n", 0) == 0);
    CHECK(content.find("```\ncontent\n```\n\nquestion") != std::string::npos);
    CHECK(chat->view().attachments.empty());
    CHECK_FALSE(chat->attach("/no/such/file"));
    CHECK_FALSE(chat->attach(chat.model));  // not a text
}

TEST_CASE("raw ids are not stored", "[app][controller]") {
    Chat chat;
    CHECK_FALSE(chat->send_raw({}));
    REQUIRE(chat->send_raw({3, 4}));
    CHECK(chat.log.requests[0].raw_ids == std::vector<std::int32_t>{3, 4});
    chat.answer("x");
    CHECK(chat->view().answer == "x");
    CHECK(chat->chats(10)->empty());
}

TEST_CASE("a bad model file is refused before anything is stored", "[app][controller]") {
    Chat chat;
    ChatSetup setup;
    setup.store = *Store::in_memory();
    setup.model_card = [](const std::string& path) -> Result<inspect::ModelCard> {
        return fail(Errc::model_invalid, "{} is damaged", path);
    };
    ChatController controller(std::move(setup));
    const auto set = controller.set_model(chat.model);
    REQUIRE_FALSE(set);
    CHECK(set.error().code == Errc::model_invalid);
    CHECK(controller.send("hello").error().code == Errc::model_not_found);
    CHECK(controller.chats(10)->empty());
}

TEST_CASE("the event descriptor is readable after a wake-up until pump", "[app][controller]") {
    Chat chat;
    REQUIRE(chat->send("one"));
    pollfd descriptor{chat->event_fd(), POLLIN, 0};
    CHECK(::poll(&descriptor, 1, 0) == 0);
    chat.emit(event::Text{1, "x", {1}});
    chat.wake();
    CHECK(::poll(&descriptor, 1, 0) == 1);
    chat->pump(0);
    CHECK(::poll(&descriptor, 1, 0) == 0);
    CHECK(chat->view().answer == "x");
}
