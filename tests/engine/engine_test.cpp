// What a request gets back: events, finish reasons, errors, statistics.

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "engine/inspect.h"
#include "tests/engine/engine_client.h"

namespace hearth {
namespace {

using test::Answer;
using test::EngineClient;
using test::raw_request;
using test::tiny_ids;
using test::tiny_path;

Request chat(std::vector<TurnMessage> messages, int max_tokens = 24) {
    Request r;
    r.conversation = "chat";
    r.model_path = tiny_path();
    r.messages = std::move(messages);
    r.sampling.temperature = 1;
    r.sampling.seed = 5;
    r.sampling.max_tokens = max_tokens;
    r.sampling.ignore_eos = true;
    return r;
}

bool mentions(const Error& e, const std::string& word) {
    return e.what.find(word) != std::string::npos;
}

/// A tiny model without template.
const std::string& plain_path() {
    test::TinyOptions o;
    o.chat_template = false;
    return tiny_path("plain", o);
}

}  // namespace

TEST_CASE("a request is answered by events in order, with measured numbers", "[engine]") {
    EngineOptions o;
    o.prefill_chunk = 16;
    EngineClient client(o);
    const Answer a = client.run(raw_request("a", tiny_ids(40), 12));
    REQUIRE(a.done);
    CHECK(a.kinds[0] == "loading");
    CHECK(a.kinds[1] == "loaded");
    // Before and after each of three chunks.
    REQUIRE(a.prefills.size() == 4);
    for (int i = 0; i < 4; ++i) {
        const auto& p = a.prefills[static_cast<std::size_t>(i)];
        CHECK(p.done == std::min(i * 16, 40));
        CHECK(p.total == 40);
        CHECK(p.cached == 0);
    }
    CHECK(a.kinds.back() == "done");
    CHECK(a.reason == FinishReason::length);
    CHECK(a.ids.size() == 12);
    const Stats& s = a.stats;
    CHECK(s.prompt_tokens == 40);
    CHECK(s.completion_tokens == 12);
    CHECK(s.context_used == 52);
    CHECK(s.context_tokens == 2048);
    CHECK(s.load_ms > 0);
    CHECK(s.prefill_ms > 0);
    CHECK(s.decode_ms > 0);
    CHECK(s.first_token_ms >= s.load_ms + s.queue_ms);
    CHECK(s.total_ms >= s.first_token_ms);
    CHECK(s.total_ms >= s.load_ms + s.prefill_ms + s.decode_ms);
    CHECK(s.prefill_tok_s() > 0);
    CHECK(s.decode_tok_s() > 0);
    CHECK(s.backend.find("cpu ") == 0);
    CHECK_FALSE(a.tokenizer_hash.empty());
    const auto memory = client.engine().memory();
    CHECK(memory.model_loaded);
    CHECK_FALSE(memory.busy);
    CHECK(memory.weight_bytes > 0);
    CHECK(memory.pages_in_use == 4);  // 51 positions: three whole pages and a partial one
    // Loaded already: neither event again.
    CHECK(client.run(raw_request("b", tiny_ids(5), 2)).kinds[0] == "prefill");
}

TEST_CASE("greedy tokens are the highest logits at every step", "[engine]") {
    const auto prompt = tiny_ids(33);
    EngineClient client;
    const Answer a = client.run(raw_request("a", prompt, 30));
    const auto forced = inspect::teacher_forced(tiny_path(), prompt, a.ids, {});
    REQUIRE(forced);
    REQUIRE(forced->steps.size() == 30);
    for (std::size_t i = 0; i < 30; ++i) CHECK(forced->steps[i].top1 == a.ids[i]);
}

TEST_CASE("the second turn of a chat computes only what is new", "[engine][chat]") {
    EngineClient client;
    const Answer one = client.run(chat({{"user", "Hello there, how is the weather?", {}, ""}}));
    REQUIRE(one.done);
    REQUIRE(one.ids.size() == 24);
    const TurnMessage answer{"assistant", one.text, one.ids, one.tokenizer_hash};
    const std::vector<TurnMessage> turns = {{"user", "Hello there, how is the weather?", {}, ""},
                                            answer,
                                            {"user", "And tomorrow?", {}, ""}};
    const Answer two = client.run(chat(turns));
    REQUIRE(two.done);
    const int known = one.stats.prompt_tokens + one.stats.completion_tokens;
    CHECK(two.stats.cached_tokens >= known - 16);
    CHECK(two.stats.prompt_tokens > known);
    SECTION("ids of another tokenizer are ignored") {
        auto foreign = turns;
        foreign[1].tokenizer_hash = "another";
        foreign[1].token_ids = {1, 2, 3};
        auto text_only = turns;
        text_only[1].token_ids.clear();
        CHECK(client.run(chat(foreign)).stats.prompt_tokens ==
              client.run(chat(text_only)).stats.prompt_tokens);
    }
    SECTION("ids out of range are ignored") {
        auto broken = turns;
        broken[1].token_ids = {1 << 20, -1};
        CHECK(client.run(chat(broken)).done);
    }
}

TEST_CASE("an answer goes on where it was cut", "[engine][chat]") {
    const std::vector<TurnMessage> question = {{"user", "Tell me more", {}, ""}};
    EngineClient client;
    const Answer whole = client.run(chat(question, 40));
    EngineClient fresh;
    const Answer first = fresh.run(chat(question, 15));
    CHECK(std::equal(first.ids.begin(), first.ids.end(), whole.ids.begin()));
    Request more = chat(question, 25);
    more.continue_last = true;
    more.messages.push_back({"assistant", first.text, first.ids, first.tokenizer_hash});
    const Answer rest = fresh.run(more);
    REQUIRE(rest.done);
    auto joined = first.ids;
    joined.insert(joined.end(), rest.ids.begin(), rest.ids.end());
    CHECK(joined == whole.ids);
    CHECK(rest.stats.prompt_tokens == first.stats.prompt_tokens + 15);
    SECTION("an answer that has not begun") {
        more.messages.back() = {"assistant", "", {}, ""};
        more.sampling.max_tokens = 40;
        CHECK(fresh.run(more).ids == whole.ids);
    }
    SECTION("only an answer can be continued") {
        more.messages.pop_back();
        const Answer& a = fresh.run(more);
        CHECK(a.failed);
        CHECK(a.error.code == Errc::usage);
    }
}

TEST_CASE("stop strings are not shown, and what is kept is consistent", "[engine][stop]") {
    EngineClient client;
    Request r = raw_request("a", tiny_ids(20), 60);
    r.sampling.temperature = 1;
    const Answer whole = client.run(r);
    // A stop taken from the middle of the text, where nothing occurs earlier.
    std::string stop;
    std::size_t at = 0;
    for (std::size_t i = 10; i + 3 < whole.text.size() && stop.empty(); ++i) {
        const std::string candidate = whole.text.substr(i, 3);
        if (whole.text.find(candidate) == i) stop = candidate, at = i;
    }
    REQUIRE_FALSE(stop.empty());
    r.sampling.stop = {"not in it at all", stop};
    const Answer cut = client.run(r);
    REQUIRE(cut.done);
    CHECK(cut.reason == FinishReason::stop);
    CHECK(cut.text == whole.text.substr(0, at));
    CHECK(static_cast<int>(cut.ids.size()) == cut.stats.completion_tokens);
    const auto spelt = inspect::detokenize(tiny_path(), cut.ids);
    REQUIRE(spelt);
    // The conversation goes on as if only the kept ids had ever been there.
    Request next = r;
    next.sampling.stop.clear();
    next.raw_ids.insert(next.raw_ids.end(), cut.ids.begin(), cut.ids.end());
    next.raw_ids.push_back(40);
    const Answer warm = client.run(next);
    EngineClient fresh;
    const Answer cold = fresh.run(next);
    CHECK(warm.stats.cached_tokens > 0);
    CHECK(warm.ids == cold.ids);
    CHECK(warm.stats.logits_hash == cold.stats.logits_hash);
}

TEST_CASE("an end-of-generation token ends the answer and is not shown", "[engine][stop]") {
    EngineClient client;
    Request r = raw_request("a", tiny_ids(20), 500);
    r.sampling.ignore_eos = false;
    r.sampling.temperature = 1;
    r.sampling.top_k = 0;
    r.sampling.logit_bias = {{2, 6.0f}};  // <|im_end|>
    const Answer a = client.run(r);
    REQUIRE(a.done);
    CHECK(a.reason == FinishReason::stop);
    CHECK(a.ids.size() < 500);
    CHECK(std::count(a.ids.begin(), a.ids.end(), 2) == 0);
    CHECK(a.text.find("im_end") == std::string::npos);
    r.sampling.ignore_eos = true;
    r.sampling.max_tokens = 50;
    const Answer on = client.run(r);
    CHECK(on.ids.size() == 50);
    CHECK(std::count(on.ids.begin(), on.ids.end(), 2) == 0);
}

TEST_CASE("a prompt of every length around the context is answered or refused with numbers",
          "[engine][context]") {
    const int context = 64;
    EngineOptions o;
    o.context_tokens = context;
    EngineClient client(o);
    for (int n = context - 2; n <= context + 2; ++n) {
        CAPTURE(n);
        const Answer a = client.run(raw_request("a", tiny_ids(n, n), -1));
        if (n < context) {
            REQUIRE(a.done);
            CHECK(a.reason == FinishReason::length);
            CHECK(static_cast<int>(a.ids.size()) == context - n);
            CHECK(a.stats.context_used == context);
            CHECK(a.stats.context_tokens == context);
        } else {
            REQUIRE(a.failed);
            CHECK(a.error.code == Errc::context_overflow);
            CHECK(mentions(a.error, std::to_string(n)));
            CHECK(mentions(a.error, "64"));
            CHECK(mentions(a.error, "2048"));
        }
    }
}

TEST_CASE("a context beyond the model's or the budget's is limited, and said",
          "[engine][context]") {
    EngineOptions o;
    SECTION("the model's") { o.context_tokens = 4096; }
    SECTION("the budget's") { o.kv_budget_bytes = 64 * 4096; }
    EngineClient client(o);
    const Answer a = client.run(raw_request("a", tiny_ids(10), 2));
    REQUIRE(a.done);
    REQUIRE(a.notes.size() == 1);
    CHECK(a.notes[0].find(std::to_string(a.stats.context_tokens)) != std::string::npos);
    CHECK(a.stats.context_tokens == (o.context_tokens > 0 ? 2048 : 1024));
}

TEST_CASE("limits of length end an answer", "[engine]") {
    EngineClient client;
    CHECK(client.run(raw_request("a", tiny_ids(10), 1)).ids.size() == 1);
    const Answer none = client.run(raw_request("a", tiny_ids(10), 0));
    CHECK(none.done);
    CHECK(none.reason == FinishReason::length);
    CHECK(none.ids.empty());
    CHECK(none.prefills.back().done == 10);
}

TEST_CASE("a request that cannot be served ends in a sentence", "[engine][errors]") {
    EngineClient client;
    Request r = raw_request("a", tiny_ids(5), 2);
    Errc code = Errc::usage;
    std::string word;
    SECTION("no such file") {
        r.model_path = "/nowhere/model.gguf";
        code = Errc::model_not_found;
        word = "/nowhere/model.gguf";
    }
    SECTION("not a model") {
        r.model_path = tiny_path() + ".txt";
        test::write_file(r.model_path, test::Bytes(100, 'x'));
        code = Errc::model_invalid;
        word = ".txt";
    }
    SECTION("an id that does not exist") {
        r.raw_ids.push_back(384);
        word = "384";
    }
    SECTION("no message") { r.raw_ids.clear(), word = "message"; }
    SECTION("a parameter out of range") { r.sampling.top_p = 2, word = "top_p"; }
    SECTION("an unknown template") {
        r = chat({{"user", "hi", {}, ""}});
        r.chat_template = "nonsense";
        word = "chatml";
    }
    SECTION("a model without template") {
        r = chat({{"user", "hi", {}, ""}});
        r.model_path = plain_path();
        word = "--template chatml";
    }
    const Answer a = client.run(r);
    REQUIRE(a.failed);
    CHECK(a.error.code == code);
    CAPTURE(a.error.what);
    CHECK(mentions(a.error, word));
    // The engine lives on.
    CHECK(client.run(raw_request("b", tiny_ids(5), 2)).done);
    CHECK_FALSE(client.engine().memory().busy);
}

TEST_CASE("a model without template takes a named one", "[engine][chat]") {
    EngineClient client;
    Request named = chat({{"user", "hi", {}, ""}});
    named.model_path = plain_path();
    named.chat_template = "chatml";
    const Answer a = client.run(named);
    CHECK(a.done);
}

TEST_CASE("logits that are not numbers stop the answer and leave nothing behind",
          "[engine][errors]") {
    test::TinyOptions options;
    auto writer = test::tiny_writer(options);
    auto& norm = writer.tensor("output_norm.weight")->data;
    const std::uint8_t nan[4] = {0, 0, 0xc0, 0x7f};
    std::copy(nan, nan + 4, norm.begin());
    const std::string path = tiny_path() + ".nan.gguf";
    test::write_file(path, writer.build());
    EngineClient client;
    Request r = raw_request("a", tiny_ids(40), 5);
    r.model_path = path;
    const Answer a = client.run(r);
    REQUIRE(a.failed);
    CHECK(a.error.code == Errc::failed);
    CHECK(mentions(a.error, "position 40"));
    CHECK(client.engine().memory().pages_in_use == 0);
}

TEST_CASE("options that cannot be are refused when the engine is made", "[engine][errors]") {
    EngineOptions o;
    std::string word;
    SECTION("instruction set") { o.isa = "sse9", word = "sse9"; }
    SECTION("KV type") { o.kv_type = "q1", word = "q1"; }
    SECTION("context") { o.context_tokens = -5, word = "context"; }
    SECTION("threads") { o.n_threads = -1, word = "threads"; }
    const auto made = Engine::make_local(o);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == Errc::usage);
    CHECK(mentions(made.error(), word));
}

TEST_CASE("both KV types work; they are different numbers", "[engine]") {
    EngineOptions bf16;
    bf16.kv_type = "bf16";
    EngineClient a, b(bf16);
    const Answer one = a.run(raw_request("a", tiny_ids(40), 8));
    const Answer two = b.run(raw_request("a", tiny_ids(40), 8));
    CHECK(two.done);
    CHECK(one.stats.logits_hash != two.stats.logits_hash);
}

TEST_CASE("a caller that never polls loses nothing", "[engine]") {
    EngineClient client;
    Request r = raw_request("a", tiny_ids(10), 1900);  // more events than wait unmerged
    const RequestId id = client.submit(r);
    const auto start = std::chrono::steady_clock::now();
    while (client.engine().memory().busy &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(100)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const Answer& a = client.wait_for(id);
    CHECK(a.done);
    CHECK(a.ids.size() == 1900);
    CHECK(a.kinds.size() <= 1200);
}

}  // namespace hearth
