// Who waits for whom: conversations, models, keep-alive, stopping.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>
#include <set>
#include <thread>

#include "engine/base/mapped_file.h"
#include "tests/engine/engine_client.h"

namespace hearth {
namespace {

using test::Answer;
using test::EngineClient;
using test::raw_request;
using test::tiny_ids;
using test::tiny_path;

using SteadyClock = std::chrono::steady_clock;

double ms_since(SteadyClock::time_point start) {
    return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

bool has(const Answer& a, const char* kind) {
    return std::count(a.kinds.begin(), a.kinds.end(), kind) > 0;
}

const std::string& other_path() {
    test::TinyOptions o;
    o.family = "qwen2";
    o.seed = 9;
    return tiny_path("other", o);
}

/// Something large enough that a step takes a while.
const std::string& slow_path() {
    test::TinyOptions o;
    o.n_layers = 8;
    o.hidden_size = 512;
    o.intermediate_size = 2048;
    o.n_heads = 8;
    o.n_kv_heads = 2;
    o.head_dim = 64;
    o.context_length = 8192;
    return tiny_path("slow", o);
}

}  // namespace

TEST_CASE("conversations progress in turn; a short one does not wait for a long one",
          "[engine][queue]") {
    EngineClient client;
    const RequestId slow = client.submit(raw_request("a", tiny_ids(20), 800));
    client.pump_until([&] { return has(client.answers[slow], "text"); });
    const RequestId quick = client.submit(raw_request("b", tiny_ids(20), 5));
    client.wait_for(slow);
    client.wait_for(quick);
    CHECK(client.ended == std::vector<RequestId>{quick, slow});
}

TEST_CASE("requests of one conversation are answered in order", "[engine][queue]") {
    EngineClient client;
    std::vector<RequestId> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(client.submit(raw_request("a", tiny_ids(20, i), 30)));
    for (const RequestId id : ids) CHECK(client.wait_for(id).done);
    CHECK(client.ended == ids);
    const Answer& last = client.answers[ids.back()];
    REQUIRE(has(last, "queued"));
    CHECK(last.reasons.back().find("this conversation") != std::string::npos);
}

TEST_CASE("another model waits until the one in use is free, and says so", "[engine][queue]") {
    EngineClient client;
    const RequestId first = client.submit(raw_request("a", tiny_ids(20), 400));
    client.pump_until([&] { return has(client.answers[first], "text"); });
    Request other = raw_request("b", tiny_ids(20), 5);
    other.model_path = other_path();
    const RequestId second = client.submit(other);
    const RequestId third = client.submit(raw_request("c", tiny_ids(20), 5));  // the first model
    for (const RequestId id : {first, second, third}) CHECK(client.wait_for(id).done);
    // Order of arrival between models: the third does not overtake.
    CHECK(client.ended == std::vector<RequestId>{first, second, third});
    REQUIRE(has(client.answers[second], "queued"));
    CHECK(client.answers[second].reasons.front().find("another model") != std::string::npos);
    CHECK(has(client.answers[second], "loading"));
    CHECK(has(client.answers[third], "loading"));
    CHECK(client.unloaded == std::vector<std::string>{tiny_path(), other_path()});
}

TEST_CASE("an idle model leaves memory after its time and comes back when needed",
          "[engine][keep-alive]") {
    EngineOptions o;
    o.keep_alive_s = GENERATE(0, 1);
    EngineClient client(o);
    const Answer a = client.run(raw_request("a", tiny_ids(20), 5));
    const auto start = SteadyClock::now();
    client.pump_until([&] { return !client.unloaded.empty(); });
    CHECK(ms_since(start) >= o.keep_alive_s * 900.0);
    const auto memory = client.engine().memory();
    CHECK_FALSE(memory.model_loaded);
    CHECK(memory.weight_bytes == 0);
    CHECK(memory.pages_in_use == 0);
    const Answer b = client.run(raw_request("a", tiny_ids(20), 5));
    CHECK(has(b, "loaded"));
    CHECK(a.ids == b.ids);
}

TEST_CASE("a model file that changes is loaded anew", "[engine][queue]") {
    EngineOptions o;
    EngineClient client(o);
    Request r = raw_request("a", tiny_ids(20), 5);
    r.model_path = tiny_path() + ".changing.gguf";
    test::TinyOptions t;
    test::write_tiny_model(r.model_path, t);
    const Answer before = client.run(r);
    t.seed = 77;
    t.n_layers = 3;
    test::write_tiny_model(r.model_path + ".new", t);
    REQUIRE(std::rename((r.model_path + ".new").c_str(), r.model_path.c_str()) == 0);
    const Answer after = client.run(r);
    REQUIRE(after.done);
    CHECK(has(after, "loaded"));
    CHECK(after.stats.cached_tokens == 0);
    CHECK(before.stats.logits_hash != after.stats.logits_hash);
}

TEST_CASE("a request is stopped while it waits and while a model is loaded", "[engine][stop]") {
    EngineClient client;
    const RequestId a = client.submit(raw_request("a", tiny_ids(20), 5));
    client.engine().cancel(a);
    CHECK(client.wait_for(a).reason == FinishReason::stopped);
    const RequestId b = client.submit(raw_request("a", tiny_ids(20), 600));
    const RequestId c = client.submit(raw_request("a", tiny_ids(20), 5));
    client.engine().cancel(c);
    CHECK(client.wait_for(c).reason == FinishReason::stopped);
    CHECK_FALSE(client.answers[b].ended());
    CHECK(client.wait_for(b).ids.size() == 600);
    client.engine().cancel(12345);  // nobody
    client.engine().cancel(b);      // ended
    CHECK(client.run(raw_request("a", tiny_ids(20), 5)).done);
}

TEST_CASE("200 stops at random moments over three conversations: idle within 150 ms, pages back",
          "[engine][stop]") {
    EngineOptions o;
    o.prefill_chunk = 512;
    EngineClient client(o);
    std::mt19937 random(3);
    const auto request = [&](int c) {
        Request r = raw_request(std::string(1, static_cast<char>('a' + c)), tiny_ids(1500, c), 300);
        r.model_path = slow_path();
        return r;
    };
    std::vector<double> latencies;
    const auto stop_all = [&](const std::vector<RequestId>& ids) {
        const auto start = SteadyClock::now();
        for (const RequestId id : ids) client.engine().cancel(id);
        for (const RequestId id : ids) {
            const Answer& a = client.wait_for(id);
            REQUIRE(a.done);
            CHECK((a.reason == FinishReason::stopped || a.reason == FinishReason::length));
        }
        latencies.push_back(ms_since(start));
        CHECK_FALSE(client.engine().memory().busy);
    };
    client.run(request(0));  // loaded
    for (int stops = 0; stops < 200;) {
        std::vector<RequestId> ids;
        for (int c = 0; c < 3; ++c) {
            if (random() % 4 != 0) ids.push_back(client.submit(request(c)));
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 120000));
        client.pump();
        stops += static_cast<int>(ids.size());
        stop_all(ids);
        const auto memory = client.engine().memory();
        // Each conversation keeps at most its prompt and answer.
        CHECK(memory.pages_in_use <= 3 * (1800 / 16 + 1));
    }
    for (const char* c : {"a", "b", "c"}) client.engine().forget(c);
    client.pump_until([&] { return client.engine().memory().pages_in_use == 0; });
    std::sort(latencies.begin(), latencies.end());
    const double p99 = latencies[latencies.size() * 99 / 100], worst = latencies.back();
    std::printf("stop to idle: median %.1f ms, p99 %.1f ms, worst %.1f ms of %zu\n",
                latencies[latencies.size() / 2], p99, worst, latencies.size());
    // 150 ms is the promise; on a shared machine the clock may not be held against it.
    CHECK(latencies[latencies.size() / 2] < 150);
    // What was stopped left nothing behind.
    const Answer warm = client.run(request(1));
    EngineClient fresh(o);
    const Answer cold = fresh.run(request(1));
    CHECK(warm.ids == cold.ids);
    CHECK(warm.stats.logits_hash == cold.stats.logits_hash);
}

TEST_CASE("an engine that is busy can be destroyed at any moment", "[engine][stop]") {
    std::mt19937 random(5);
    for (int round = 0; round < 20; ++round) {
        EngineClient client;
        for (int c = 0; c < 3; ++c) {
            Request r = raw_request(std::to_string(c), tiny_ids(200, c), 500);
            if (c == 2) r.model_path = other_path();
            client.submit(r);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    }
}

TEST_CASE("the wake callback comes for every batch of events", "[engine]") {
    std::atomic<int> wakes{0};
    auto made = Engine::make_local({}, [&] { ++wakes; });
    REQUIRE(made);
    Engine& engine = **made;
    engine.submit(raw_request("a", tiny_ids(20), 5));
    bool done = false;
    const auto start = SteadyClock::now();
    // Only woken, never waiting: as a window does.
    for (int seen = 0; !done && ms_since(start) < 60000;) {
        if (wakes.load() == seen) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        seen = wakes.load();
        for (const Event& e : engine.poll()) done = done || std::holds_alternative<event::Done>(e);
    }
    CHECK(done);
}

TEST_CASE("test models are written once and whole, whoever else asks for them or reads them",
          "[engine][queue]") {
    // Threads that wrote the same file at once truncated it under each other's mappings.
    std::vector<std::string> paths(4);
    {
        std::vector<std::jthread> threads;
        for (std::string& path : paths) {
            threads.emplace_back([&path] { path = tiny_path("asked-by-four"); });
        }
    }
    CHECK(std::set<std::string>(paths.begin(), paths.end()).size() == 1);
    auto mapped = MappedFile::open(paths[0]);
    REQUIRE(mapped);
    const auto before = std::vector(mapped->bytes().begin(), mapped->bytes().end());
    test::write_file(paths[0], test::Bytes(10, 'x'));
    CHECK(std::equal(before.begin(), before.end(), mapped->bytes().begin()));
    CHECK_FALSE(mapped->is_unchanged());
}

TEST_CASE("many callers at once each get their own answer", "[engine][queue]") {
    EngineClient client;
    std::vector<RequestId> ids(40);
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i < 10; ++i) {
                    ids[static_cast<std::size_t>(t * 10 + i)] = client.submit(
                        raw_request(std::to_string(t * 10 + i), tiny_ids(10 + i, i), 4));
                }
            });
        }
    }
    for (std::size_t k = 0; k < ids.size(); ++k) {
        const Answer& a = client.wait_for(ids[k]);
        CHECK(a.done);
        CHECK(a.stats.prompt_tokens == 10 + static_cast<int>(k % 10));
        CHECK(a.ids.size() == 4);
    }
    for (std::size_t k = 10; k < ids.size(); ++k) {
        CHECK(client.answers[ids[k]].ids == client.answers[ids[k % 10]].ids);
    }
}

}  // namespace hearth
