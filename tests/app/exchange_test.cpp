// Chats as files: what goes out, what comes in, and what is refused.
#include <catch2/catch.hpp>

#include "app/exchange/export.h"
#include "app/exchange/import.h"

using namespace hearth;

namespace {

ImportFile must_read(std::string_view bytes) {
    auto file = read_import(bytes, "chats.json");
    INFO((file ? "" : file.error().what));
    REQUIRE(file);
    return std::move(*file);
}

const char* const kChatGpt = R"json([{
  "title": "A tree", "conversation_id": "c-1", "create_time": 1700000000.25,
  "update_time": 1700000100.0, "current_node": "n4", "is_archived": false,
  "mapping": {
    "n5": {"id": "n5", "parent": "n2", "message": {"author": {"role": "assistant"},
           "create_time": 1700000009.0, "content": {"content_type": "text", "parts": ["later"]}}},
    "n0": {"id": "n0", "parent": null, "message": null, "children": ["n1"]},
    "n1": {"id": "n1", "parent": "n0", "message": {"author": {"role": "system"},
           "content": {"content_type": "text", "parts": [""]},
           "metadata": {"is_visually_hidden_from_conversation": true}}},
    "n2": {"id": "n2", "parent": "n1", "message": {"author": {"role": "user"},
           "create_time": 1700000001.5, "content": {"content_type": "multimodal_text",
           "parts": [{"content_type": "image_asset_pointer"}, "What is 世界?"]},
           "metadata": {"attachments": [{"name": "map.pdf"}]}}},
    "n3": {"id": "n3", "parent": "n2", "message": {"author": {"role": "assistant"},
           "create_time": 1700000002.0, "content": {"content_type": "thoughts",
           "thoughts": [{"summary": "Think", "content": "hard"}]}}},
    "n4": {"id": "n4", "parent": "n3", "message": {"author": {"role": "assistant"},
           "create_time": 1700000003.0, "content": {"content_type": "text", "parts": ["World"]},
           "metadata": {"model_slug": "gpt-x"}}}
  }}])json";

const char* const kLmStudio = R"json({
  "name": "Studio", "createdAt": 1712345678901, "pinned": true, "systemPrompt": "Be brief.",
  "messages": [
    {"versions": [{"type": "singleStep", "role": "user",
                   "content": [{"type": "text", "text": "Hi"}]}], "currentlySelected": 0},
    {"versions": [
      {"type": "multiStep", "role": "assistant", "steps": [
        {"type": "contentBlock", "content": [{"type": "text", "text": "one"}]}]},
      {"type": "multiStep", "role": "assistant", "senderInfo": {"senderName": "qwen"}, "steps": [
        {"type": "contentBlock", "style": {"type": "thinking"},
         "content": [{"type": "text", "text": "hm"}]},
        {"type": "contentBlock", "content": [{"type": "text", "text": "two"}]}]}],
     "currentlySelected": 1}]})json";

}  // namespace

TEST_CASE("ChatGPT: the tree, times, roles and names of attachments", "[app][exchange]") {
    const ImportFile file = must_read(kChatGpt);
    CHECK(file.format == "ChatGPT");
    REQUIRE(file.chats.size() == 1);
    const PortableChat& chat = file.chats[0];
    CHECK(chat.origin == "chatgpt:c-1");
    CHECK(chat.title == "A tree");
    CHECK(chat.created_ms == 1700000000250);
    REQUIRE(chat.messages.size() ==
            4);  // the empty first and the hidden system message are left out
    CHECK(chat.messages[0].origin == "n2");
    CHECK(chat.messages[0].parent == -1);
    CHECK(chat.messages[0].message.content == "[image_asset_pointer]\nWhat is 世界?");
    CHECK(chat.messages[0].message.params_json == R"({"attachments":["map.pdf"]})");
    CHECK(chat.messages[0].message.created_ms == 1700000001500);
    CHECK(chat.messages[1].message.reasoning == "Think\nhard");
    CHECK(chat.messages[2].message.model == "gpt-x");
    CHECK(chat.messages[2].parent == 1);
    CHECK(chat.messages[3].origin == "n5");
    CHECK(chat.messages[3].parent == 0);
    CHECK(chat.active == 2);
    auto store = *Store::in_memory();
    CHECK(store->import_chat(chat)->n_added == 4);
    CHECK(store->import_chat(chat)->n_added == 0);
    CHECK(store->path(1)->back().content == "World");
}

TEST_CASE("LM Studio: versions are branches", "[app][exchange]") {
    const ImportFile file = must_read(kLmStudio);
    CHECK(file.format == "LM Studio");
    REQUIRE(file.chats.size() == 1);
    const PortableChat& chat = file.chats[0];
    CHECK(chat.origin == "lmstudio:1712345678901");
    CHECK(chat.pinned);
    CHECK(chat.system_prompt == "Be brief.");
    REQUIRE(chat.messages.size() == 3);
    CHECK(chat.messages[1].message.content == "one");
    CHECK(chat.messages[2].message.content == "two");
    CHECK(chat.messages[2].message.reasoning == "hm");
    CHECK(chat.messages[2].message.model == "qwen");
    CHECK(chat.messages[1].parent == 0);
    CHECK(chat.messages[2].parent == 0);
    CHECK(chat.active == 2);
}

TEST_CASE("lists of messages as other programs save them", "[app][exchange]") {
    const char* const text = R"([{"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": "Hello\u0000!"}, {"role": "wizard", "content": "?"}])";
    const ImportFile list = must_read(text);
    CHECK(list.format == "a list of messages");
    CHECK(list.chats[0].system_prompt == "Be kind.");
    REQUIRE(list.chats[0].messages.size() == 2);
    CHECK(list.chats[0].messages[0].message.content == "Hi");
    CHECK(list.chats[0].messages[1].message.content.find('\0') == std::string::npos);
    CHECK(list.notes.size() == 1);
    CHECK(must_read(text).chats[0].origin == list.chats[0].origin);
    const ImportFile object = must_read(
        R"({"model": "llama", "messages": [{"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"}]})");
    CHECK(object.chats[0].messages[1].message.model == "llama");
    CHECK(object.chats[0].origin != list.chats[0].origin);
    // One object a line.
    CHECK(must_read("{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"content\":"
                    "\"b\"}\n")
              .chats[0]
              .messages.size() == 2);
}

TEST_CASE("the own format gives back what was exported", "[app][exchange]") {
    auto store = *Store::in_memory();
    const PortableChat chat = must_read(kChatGpt).chats[0];
    const ConversationId id = store->import_chat(chat)->id;
    StoredMessage own;
    own.parent = store->path(id)->back().id;
    own.role = "user";
    own.content = "quote \" < & \n ende";
    own.token_ids = {1, 151643};
    own.state = MessageState::stopped;
    own.stats_json = R"({"decode_ms":1.5})";
    REQUIRE(store->append(id, own));
    const PortableChat out = *store->export_chat(id);
    const ImportFile back = must_read(export_text({out}, ExportFormat::json));
    CHECK(back.format == "Hearth");
    CHECK(back.notes.empty());
    REQUIRE(back.chats.size() == 1);
    const PortableChat& in = back.chats[0];
    CHECK(in.origin == out.origin);
    CHECK(in.active >= 0);
    REQUIRE(in.messages.size() == 5);
    const auto find = [&](const std::string& origin) {
        for (const PortableMessage& m : in.messages)
            if (m.origin == origin) return m.message;
        return StoredMessage{};
    };
    for (const PortableMessage& m : out.messages) {
        const StoredMessage message = find(m.origin);
        CHECK(message.content == m.message.content);
        CHECK(message.reasoning == m.message.reasoning);
        CHECK(message.token_ids == m.message.token_ids);
        CHECK(message.state == m.message.state);
        CHECK(message.stats_json == m.message.stats_json);
        CHECK(message.created_ms == m.message.created_ms);
    }
    CHECK(in.messages[static_cast<std::size_t>(in.active)].message.content == own.content);
    CHECK(store->import_chat(in)->n_added == 0);
    auto other = *Store::in_memory();
    CHECK(other->import_chat(in)->n_added == 5);
    CHECK(other->import_chat(chat)->n_added == 0);  // the same chat, straight from its origin
}

TEST_CASE("the own format keeps the order of messages without a time", "[app][exchange]") {
    PortableChat chat;
    chat.origin = "test:1";
    for (const char* origin : {"first", "second", "third"}) {
        PortableMessage m;
        m.origin = origin;
        m.message.role = "user";
        m.message.content = origin;
        m.message.created_ms = std::string(origin) == "first" ? 1700000000000 : 0;
        chat.messages.push_back(m);
    }
    chat.active = 0;
    const ImportFile back = must_read(export_text({chat}, ExportFormat::json));
    REQUIRE(back.chats.size() == 1);
    REQUIRE(back.chats[0].messages.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(back.chats[0].messages[i].origin == chat.messages[i].origin);
    CHECK(back.chats[0].active == 0);
}

TEST_CASE("HTML shows all branches and no markup of theirs", "[app][exchange]") {
    PortableChat chat = must_read(kLmStudio).chats[0];
    chat.title = "<script>alert(1)</script>";
    chat.messages[1].message.content = "<img src=x onerror=alert(1)> & more";
    const std::string html = export_text({chat}, ExportFormat::html);
    CHECK(html.find("<script") == std::string::npos);
    CHECK(html.find("<img") == std::string::npos);
    CHECK(html.find("&lt;img src=x onerror=alert(1)&gt; &amp; more") != std::string::npos);
    CHECK(html.find("version 2 of 2") != std::string::npos);
    CHECK(html.find("another version") != std::string::npos);
    const std::string markdown = export_text({chat}, ExportFormat::markdown);
    CHECK(markdown.find("## You\n\nHi\n") != std::string::npos);
    CHECK(markdown.find("## qwen (version 2 of 2)\n\ntwo\n") != std::string::npos);
    CHECK(markdown.find("onerror") == std::string::npos);
}

TEST_CASE("trees that are none lose only what hangs in the air", "[app][exchange]") {
    const auto chat_with = [](const std::string& messages) {
        return R"({"format": "hearth-chats", "version": 1, "chats": [{"origin": "x", "title": "t",
                   "messages": [)" +
               messages + "]}]}";
    };
    const auto m = [](const char* id, const char* parent) {
        return fmt::format(R"({{"id": "{}", "parent": "{}", "role": "user", "content": "c"}})", id,
                           parent);
    };
    const ImportFile ring = must_read(
        chat_with(m("a", "b") + "," + m("b", "a") + "," + m("c", "b") + "," + m("d", "")));
    REQUIRE(ring.chats[0].messages.size() == 1);
    CHECK(ring.chats[0].messages[0].origin == "d");
    REQUIRE(ring.notes.size() == 1);
    CHECK(ring.notes[0].find("3 have no way") != std::string::npos);
    const ImportFile own = must_read(chat_with(m("a", "a") + "," + m("b", "")));
    CHECK(own.chats[0].messages.size() == 1);
    const ImportFile twice =
        must_read(chat_with(m("a", "") + "," + m("a", "") + "," + m("b", "a")));
    CHECK(twice.chats[0].messages.size() == 2);
    const ImportFile children_first = must_read(chat_with(m("b", "a") + "," + m("a", "gone")));
    REQUIRE(children_first.chats[0].messages.size() == 2);
    CHECK(children_first.chats[0].messages[1].parent == 0);
}

TEST_CASE("files that hold no chats are sentences", "[app][exchange]") {
    const auto [bytes, reason] = GENERATE(table<std::string, std::string>(
        {{"", "expected"},
         {"PK\x03\x04zip", "zip archive"},
         {"GGUF....", "hearth run"},
         {std::string("SQLite format 3\0", 16), "database"},
         {"hello", "byte 1 of 5"},
         {"{\"a\": 1}", "holds no chats"},
         {"[1, 2, 3]", "holds no chats"},
         {"\"text\"", "holds no chats"},
         {std::string(200'000, '['), "expected"},
         {"{\"format\": \"hearth-chats\", \"version\": 99, \"chats\": []}", "newer Hearth"}}));
    const auto file = read_import(bytes, "bad.json");
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Errc::failed);
    CHECK(file.error().what.find("bad.json") != std::string::npos);
    CHECK(file.error().what.find(reason) != std::string::npos);
}

TEST_CASE("a number that no program can hold is a sentence", "[app][exchange]") {
    for (const char* text :
         {R"([{"role": "user", "content": 1e30000}])", R"([{"role":1e30000""}])"}) {
        const auto file = read_import(text, "big.json");
        REQUIRE(!file);
        CHECK(file.error().what.find("big.json") != std::string::npos);
        CHECK(file.error().what.find("number") != std::string::npos);
    }
}

TEST_CASE("values of other types than expected never stop an import", "[app][exchange]") {
    const std::string strange = GENERATE(
        as<std::string>{}, R"([{"mapping": 7, "id": "x"}])",
        R"([{"mapping": {"a": 7, "b": {"message": []}}}])",
        R"([{"mapping": {"a": {"message": {"author": 7, "content": "x", "create_time": "y"}}}}, 3])",
        R"({"messages": [{"versions": 5}], "createdAt": "x", "name": []})",
        R"({"messages": [{"versions": [5, {"role": 1}], "currentlySelected": -3}, 9]})",
        R"([{"role": "user", "content": null}, 5, {"role": [], "content": {}}])",
        R"({"format": "hearth-chats", "chats": [7, {"messages": [1, {"id": 5, "token_ids": [-1]}]}]})",
        R"([{"mapping": {"a": {"message": {"author": {"role": "user"}, "create_time": 1e300,
            "content": {"parts": ["x"]}}}}}])");
    auto store = *Store::in_memory();
    for (const PortableChat& chat : must_read(strange).chats) CHECK(store->import_chat(chat));
    CHECK(store->check_integrity());
}

TEST_CASE("formats are named, or told by the file's name", "[app][exchange]") {
    CHECK(*export_format("markdown") == ExportFormat::markdown);
    CHECK_FALSE(export_format("pdf"));
    CHECK(export_format_of_file("a/b.HTML", ExportFormat::json) == ExportFormat::json);
    CHECK(export_format_of_file("a/b.html", ExportFormat::json) == ExportFormat::html);
    CHECK(export_format_of_file("noext", ExportFormat::markdown) == ExportFormat::markdown);
}
