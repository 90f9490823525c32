// A conversation that outgrows its context, seen by a front end: what is left out is told, and the
// answer is that of the conversation without it.
#include "tests/engine/engine_client.h"

using namespace hearth;
using hearth::test::Answer;
using hearth::test::EngineClient;

namespace {

Request long_chat(const std::string& model, ContextPolicy policy) {
    Request r;
    r.conversation = "chat";
    r.model_path = model;
    r.context_policy = policy;
    r.sampling.temperature = 0;
    r.sampling.max_tokens = 4;
    r.sampling.ignore_eos = true;
    r.want_logits_hash = true;
    for (int turn = 0; turn < 6; ++turn) {
        r.messages.push_back({"user", "question " + std::to_string(turn), {}, {}});
        r.messages.push_back({"assistant", "answer " + std::to_string(turn), {}, {}});
    }
    r.messages.push_back({"user", "the last question", {}, {}});
    return r;
}

}  // namespace

TEST_CASE("what is left out is told, and the answer is that of the rest", "[engine][context]") {
    const std::string model = test::tiny_path();
    EngineClient whole_client;
    const Answer whole = whole_client.run(long_chat(model, ContextPolicy::stop));
    REQUIRE(whole.done);
    EngineOptions small;
    small.context_tokens = whole.stats.prompt_tokens - 1;
    EngineClient client(small);

    const Answer stopped = client.run(long_chat(model, ContextPolicy::stop));
    REQUIRE(stopped.failed);
    CHECK(stopped.error.code == Errc::context_overflow);

    const auto policy = GENERATE(ContextPolicy::drop_oldest, ContextPolicy::drop_middle);
    const Request request = long_chat(model, policy);
    const Answer cut = client.run(request);
    REQUIRE(cut.done);
    REQUIRE(cut.left_out.n > 0);
    CHECK(cut.left_out.n % 2 == 0);
    CHECK(cut.left_out.first == (policy == ContextPolicy::drop_oldest ? 0 : 2));
    CHECK(cut.left_out.tokens == whole.stats.prompt_tokens);
    CHECK(cut.left_out.context == small.context_tokens);
    CHECK(cut.stats.prompt_tokens <= small.context_tokens * 60 / 100);

    Request rest = request;
    const auto first = rest.messages.begin() + cut.left_out.first;
    rest.messages.erase(first, first + cut.left_out.n);
    rest.context_policy = ContextPolicy::stop;
    EngineClient other(small);
    const Answer same = other.run(rest);
    REQUIRE(same.done);
    CHECK(same.stats.prompt_tokens == cut.stats.prompt_tokens);
    CHECK(same.text == cut.text);
    CHECK(same.stats.logits_hash == cut.stats.logits_hash);
}
