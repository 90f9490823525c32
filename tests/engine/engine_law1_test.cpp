// Law 1 through the whole engine: what is computed how, when and beside what never changes the
// answer, its ids and the hash of its logits.

#include "tests/engine/engine_client.h"

namespace hearth {
namespace {

using test::Answer;
using test::EngineClient;
using test::raw_request;
using test::tiny_ids;

void check_same(const Answer& a, const Answer& b) {
    REQUIRE(a.done);
    REQUIRE(b.done);
    CHECK(a.ids == b.ids);
    CHECK(a.text == b.text);
    CHECK(a.reason == b.reason);
    CHECK(a.stats.logits_hash.size() == 32);
    CHECK(a.stats.logits_hash == b.stats.logits_hash);
}

Request sampled(Request r) {
    r.sampling.temperature = 1.2f;
    r.sampling.seed = 11;
    r.sampling.repeat_penalty = 1.1f;
    return r;
}

Answer alone(const Request& r, EngineOptions o = {}) {
    EngineClient client(std::move(o));
    return client.run(r);
}

}  // namespace

TEST_CASE("chunks, threads, page order and rungs never change an answer", "[engine][law1]") {
    const bool random = GENERATE(false, true);
    Request request = raw_request("a", tiny_ids(70), 40);
    if (random) request = sampled(request);
    EngineOptions base;
    base.n_threads = 1;
    const Answer reference = alone(request, base);
    CHECK(reference.ids.size() == 40);
    CHECK(reference.stats.completion_tokens == 40);
    CHECK(reference.stats.prompt_tokens == 70);
    CHECK(reference.stats.cached_tokens == 0);
    for (const int chunk : {1, 7, 16, 512}) {
        for (const int threads : {1, 2, 3}) {
            EngineOptions o;
            o.prefill_chunk = chunk;
            o.n_threads = threads;
            o.permute_pages = (chunk + threads) % 2 == 0;
            CAPTURE(chunk, threads);
            check_same(alone(request, o), reference);
        }
    }
    for (const char* isa : {"scalar", "avx2", "avxvnni", "vnni256", "avx512"}) {
        EngineOptions o;
        o.isa = isa;
        if (!Engine::make_local(o)) continue;  // this processor lacks it
        CAPTURE(isa);
        check_same(alone(request, o), reference);
    }
}

TEST_CASE("beside other conversations an answer is the same as alone", "[engine][law1]") {
    const int chunk = GENERATE(0, 5, 32);
    std::vector<Request> requests = {sampled(raw_request("a", tiny_ids(90, 1), 30)),
                                     raw_request("b", tiny_ids(40, 2), 50),
                                     sampled(raw_request("c", tiny_ids(7, 3), 60))};
    EngineOptions o;
    o.prefill_chunk = chunk;
    o.permute_pages = true;
    EngineClient client(o);
    std::vector<RequestId> ids;
    for (const Request& r : requests) ids.push_back(client.submit(r));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        check_same(client.wait_for(ids[i]), alone(requests[i]));
    }
}

TEST_CASE("what is reused gives the same bits as what is computed", "[engine][law1]") {
    // A first turn of every length around a page border, then a longer prompt that begins with it.
    const int n_first = GENERATE(15, 16, 17, 31, 33, 48);
    const auto ids = tiny_ids(80);
    EngineClient client;
    Request first = raw_request("a", {ids.begin(), ids.begin() + n_first}, 9);
    const Answer one = client.run(first);
    Request second = first;
    second.sampling.max_tokens = 25;
    second.raw_ids.insert(second.raw_ids.end(), one.ids.begin(), one.ids.end());
    const int n_known = n_first + 9;
    second.raw_ids.insert(second.raw_ids.end(), ids.begin(), ids.begin() + 20);
    const Answer warm = client.run(second);
    // The newest token of an answer is never computed; everything else is there.
    CHECK(warm.stats.cached_tokens == n_known - 1);
    check_same(warm, alone(second));
    SECTION("an edit in the middle keeps what stands before it") {
        Request edited = second;
        edited.raw_ids[20] = edited.raw_ids[20] == 30 ? 31 : 30;
        const Answer a = client.run(edited);
        CHECK(a.stats.cached_tokens == 20);
        check_same(a, alone(edited));
        // The way that was left is still there.
        const Answer b = client.run(second);
        CHECK(b.stats.cached_tokens == b.stats.prompt_tokens - 1);
        check_same(b, warm);
    }
    SECTION("the same prompt again computes at least one token") {
        const Answer a = client.run(second);
        CHECK(a.stats.cached_tokens == a.stats.prompt_tokens - 1);
        check_same(a, warm);
    }
    SECTION("a forgotten conversation is computed again") {
        client.engine().forget("a");
        const Answer a = client.run(second);
        CHECK(a.stats.cached_tokens == 0);
        check_same(a, warm);
    }
    SECTION("another conversation shares what begins alike, also when the first is deleted") {
        Request other = second;
        other.conversation = "b";
        const Answer a = client.run(other);
        CHECK(a.stats.cached_tokens == a.stats.prompt_tokens - 1);
        check_same(a, warm);
        client.engine().forget("a");
        const Answer b = client.run(other);
        CHECK(b.stats.cached_tokens == b.stats.prompt_tokens - 1);
        check_same(b, warm);
        client.engine().forget("b");
        CHECK(client.run(other).stats.cached_tokens == 0);
    }
}

TEST_CASE("a prompt that leaves a known one at any token reuses up to there, with the same bits",
          "[engine][law1][branch]") {
    test::TinyOptions windowed;
    windowed.family = "gemma3";
    const std::string family = GENERATE("llama", "gemma3");
    const std::string path =
        family == "llama" ? test::tiny_path() : test::tiny_path("windowed", windowed);
    const auto trunk = tiny_ids(75);
    EngineOptions o;
    o.permute_pages = true;
    EngineClient client(o);
    Request request = raw_request("trunk", trunk, 12);
    request.model_path = path;
    const Answer first = client.run(request);
    for (int at = 0; at < 75; at += 3) {
        CAPTURE(family, at);
        Request branch = request;
        branch.conversation = "branch";
        auto& id = branch.raw_ids[static_cast<std::size_t>(at)];
        id = id == 200 ? 201 : 200;
        const Answer a = client.run(branch);
        // Earlier branches may share a few tokens more than the trunk does.
        CHECK(a.stats.cached_tokens >= at);
        CHECK(a.stats.cached_tokens < 75);
        check_same(a, alone(branch));
        check_same(client.run(request), first);
    }
}

TEST_CASE("requests with one beginning that run at the same time share it", "[engine][law1]") {
    EngineClient client;
    auto ids = tiny_ids(64);
    Request first = raw_request("a", ids, 400);
    const RequestId a = client.submit(first);
    client.pump_until([&] { return !client.answers[a].text.empty(); });
    ids.push_back(33);
    const Request second = raw_request("b", ids, 10);
    const Answer b = client.run(second);
    CHECK(client.answers[a].ended() == false);
    CHECK(b.stats.cached_tokens == 64);
    check_same(b, alone(second));
    check_same(client.wait_for(a), alone(first));
}

TEST_CASE("a background job evicts nothing, leaves nothing, and gives way",
          "[engine][background]") {
    EngineOptions o;
    o.kv_budget_bytes = 64 * 4096;  // 64 pages, 4 of them spare
    o.context_tokens = 512;
    EngineClient client(o);
    const Request chat = raw_request("chat", tiny_ids(450), 20);
    const Answer first = client.run(chat);
    client.run(raw_request("other", tiny_ids(450, 1), 20));  // both together fill the pool
    const int kept = client.engine().memory().pages_in_use;
    CHECK(kept == 60);
    Request title = chat;
    title.background = true;
    title.raw_ids.push_back(50);
    title.sampling.max_tokens = 8;
    const Answer t = client.run(title);
    REQUIRE(t.done);
    CHECK(t.stats.cached_tokens == 450);
    Request again = title;
    again.background = false;
    check_same(t, alone(again));
    CHECK(client.engine().memory().pages_in_use == kept);
    SECTION("one that does not fit says so") {
        title.raw_ids = tiny_ids(300, 7);
        const Answer large = client.run(title);
        REQUIRE(large.failed);
        CHECK(large.error.code == Errc::out_of_memory);
        CHECK(client.engine().memory().pages_in_use == kept);
    }
    SECTION("a chat takes its pages from one that runs") {
        title.raw_ids = tiny_ids(30, 8);
        title.sampling.max_tokens = 30;
        const RequestId id = client.submit(title);
        const Request large = raw_request("third", tiny_ids(480, 9), 30);
        check_same(client.run(large), alone(large));
        const Answer& b = client.wait_for(id);
        if (b.done) {
            again = title;
            again.background = false;
            check_same(b, alone(again));
        }
    }
    const Answer warm = client.run(chat);
    check_same(warm, first);
}

TEST_CASE("stopped and sent again gives the same answer", "[engine][law1][stop]") {
    const Request request = sampled(raw_request("a", tiny_ids(200), 60));
    const Answer reference = alone(request);
    EngineOptions o;
    o.prefill_chunk = 16;
    EngineClient client(o);
    for (int round = 0; round < 12; ++round) {
        const RequestId id = client.submit(request);
        // Stops at another moment each time: while queued, in the prompt, in the answer.
        if (round > 0) {
            client.pump_until([&] {
                return client.answers[id].kinds.size() >= static_cast<std::size_t>(round * 3) ||
                       client.answers[id].ended();
            });
        }
        client.engine().cancel(id);
        const Answer& stopped = client.wait_for(id);
        REQUIRE(stopped.done);
        if (stopped.reason == FinishReason::stopped) {
            REQUIRE(stopped.ids.size() <= reference.ids.size());
            CHECK(std::equal(stopped.ids.begin(), stopped.ids.end(), reference.ids.begin()));
        }
        client.engine().cancel(id);  // ended: of no effect
    }
    check_same(client.run(request), reference);
}

TEST_CASE("a pool too small for all makes jobs wait or compute again, with the same answers",
          "[engine][law1][memory]") {
    // 6 slabs of 32 pages would be needed for all three at their ends.
    std::vector<Request> requests;
    for (int i = 0; i < 3; ++i) {
        requests.push_back(
            sampled(raw_request(std::string(1, static_cast<char>('a' + i)), tiny_ids(300, i), 60)));
    }
    EngineOptions o;
    o.prefill_chunk = 64;
    o.kv_budget_bytes = 1;  // one page: 16 tokens
    o.context_tokens = 512;
    EngineClient client(o);
    const Answer small = client.run(raw_request("x", tiny_ids(17), 2));
    // Memory comes by the slab, but the limit in force is the budget's.
    REQUIRE(small.failed);
    CHECK(small.error.code == Errc::context_overflow);
    o.kv_budget_bytes = 32 * 4096;
    EngineClient tight(o);
    std::vector<RequestId> ids;
    for (const Request& r : requests) ids.push_back(tight.submit(r));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        check_same(tight.wait_for(ids[i]), alone(requests[i]));
    }
    CHECK(tight.engine().memory().pages_total == 32);
    for (const Request& r : requests) tight.engine().forget(r.conversation);
    tight.run(raw_request("x", tiny_ids(4), 2));
    tight.engine().forget("x");
    tight.pump_until([&] { return tight.engine().memory().pages_in_use == 0; });
}

}  // namespace hearth
