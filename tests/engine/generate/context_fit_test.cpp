#include "engine/generate/context_fit.h"

#include <catch2/catch.hpp>

using namespace hearth;

namespace {

/// Turns of known length: `tokens` ids for each message, 1 more for the template.
Request chat(const std::vector<std::pair<const char*, int>>& messages, ContextPolicy policy) {
    Request request;
    for (const auto& [role, tokens] : messages)
        request.messages.push_back(
            {role, std::string(static_cast<std::size_t>(tokens), 'x'), {}, {}});
    request.context_policy = policy;
    request.sampling.max_tokens = 1;
    return request;
}

Result<std::vector<std::int32_t>> make(const Request& request) {
    std::vector<std::int32_t> ids{0};
    for (const TurnMessage& m : request.messages) {
        REQUIRE(!m.content.empty());
        for (const char c : m.content) ids.push_back(c);
    }
    return ids;
}

const std::vector<std::pair<const char*, int>> kFourTurns = {
    {"system", 10},    {"user", 20}, {"assistant", 20}, {"user", 20},
    {"assistant", 20}, {"user", 20}, {"assistant", 20}, {"user", 9}};

}  // namespace

TEST_CASE("a conversation that fits is left whole under every policy", "[context]") {
    const auto policy =
        GENERATE(ContextPolicy::stop, ContextPolicy::drop_oldest, ContextPolicy::drop_middle);
    const auto fitted = fit_prompt(chat(kFourTurns, policy), 141, make);
    REQUIRE(fitted);
    CHECK(fitted->n_left_out == 0);
    CHECK(fitted->ids.size() == 140);
}

TEST_CASE("the oldest turns go, whole, until a part of the context is free", "[context]") {
    for (const int context : {139, 140}) {
        const auto fitted = fit_prompt(chat(kFourTurns, ContextPolicy::drop_oldest), context, make);
        REQUIRE(fitted);
        CHECK(fitted->first_left_out == 1);  // the system message stays
        CHECK(fitted->n_left_out == 4);      // two turns: 60 of at most 84 tokens are left
        CHECK(fitted->ids.size() == 60);
        CHECK(fitted->whole_tokens == 140);
    }
}

TEST_CASE("dropping from the middle keeps the first turn", "[context]") {
    const auto fitted = fit_prompt(chat(kFourTurns, ContextPolicy::drop_middle), 120, make);
    REQUIRE(fitted);
    CHECK(fitted->first_left_out == 3);
    CHECK(fitted->n_left_out == 4);
    CHECK(fitted->ids.size() == 60);
}

TEST_CASE("nothing is left out under the policy to stop", "[context]") {
    const auto fitted = fit_prompt(chat(kFourTurns, ContextPolicy::stop), 100, make);
    REQUIRE(fitted);
    CHECK(fitted->n_left_out == 0);
    CHECK(fitted->ids.size() == 140);
}

TEST_CASE("a last message that is too long alone stays too long", "[context]") {
    const auto policy = GENERATE(ContextPolicy::drop_oldest, ContextPolicy::drop_middle);
    const auto alone = fit_prompt(chat({{"user", 500}}, policy), 100, make);
    REQUIRE(alone);
    CHECK(alone->n_left_out == 0);
    CHECK(alone->ids.size() == 501);
    const auto after =
        fit_prompt(chat({{"user", 5}, {"assistant", 5}, {"user", 500}}, policy), 100, make);
    REQUIRE(after);
    CHECK(after->ids.size() == 501);
    // Above the aim and within the context: it goes, with all before it left out.
    const auto large =
        fit_prompt(chat({{"user", 50}, {"assistant", 5}, {"user", 80}}, policy), 100, make);
    REQUIRE(large);
    CHECK(large->ids.size() == 81);
    CHECK(large->n_left_out == 2);
}

TEST_CASE("an answer that goes on keeps its question", "[context]") {
    Request request = chat({{"user", 50}, {"assistant", 50}, {"user", 10}, {"assistant", 10}},
                           ContextPolicy::drop_oldest);
    request.continue_last = true;
    const auto fitted = fit_prompt(request, 100, make);
    REQUIRE(fitted);
    CHECK(fitted->n_left_out == 2);
    CHECK(fitted->ids.size() == 21);
}

TEST_CASE("an answer finds room after a conversation is cut", "[context]") {
    Request request = chat(kFourTurns, ContextPolicy::drop_oldest);
    request.sampling.max_tokens = -1;
    const auto fitted = fit_prompt(request, 141, make);  // it would fit, with room for one token
    REQUIRE(fitted);
    CHECK(fitted->n_left_out > 0);
    CHECK(fitted->ids.size() <= 84);
}
