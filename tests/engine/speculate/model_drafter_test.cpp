// Drafts by a second model: answers stay equal, its keys and values follow the text, nothing is
// left behind.

#include "engine/speculate/model_drafter.h"

#include <random>

#include "tests/engine/speculate/rig.h"

namespace hearth {
namespace {

using test::Answer;
using test::check_same;
using test::EngineClient;
using test::Ids;
using test::plain;
using test::Rig;
using test::tiny_ids;
using test::tiny_path;

/// Another tiny model with the same vocabulary.
const std::string& other_path() {
    test::TinyOptions o;
    o.seed = 77;
    o.hidden_size = 32;
    o.n_layers = 1;
    return tiny_path("drafting", o);
}

std::unique_ptr<ModelDrafter> load_drafter(Rig& rig, const std::string& path,
                                           DraftHead::Size head = {},
                                           EngineOptions options = Rig::one_thread()) {
    auto drafter = ModelDrafter::load(path, options, rig.backend());
    if (!drafter) FAIL(drafter.error().what);
    const auto paired = (*drafter)->pair_with(*rig.resident().model, head);
    if (!paired) FAIL(paired.error().what);
    return std::move(*drafter);
}

/// Puts a model behind the look-up drafter or in its place; it drafts for model_path "any".
ModelDrafter& use_model(Rig& rig, const std::string& path, bool lookup_first = false,
                        DraftHead::Size head = {}) {
    auto drafter = load_drafter(rig, path, head);
    ModelDrafter& out = *drafter;
    rig.set_drafter(lookup_first ? std::make_unique<LookupDrafter>() : nullptr);
    rig.resident().speculator->add(std::move(drafter), "any");
    return out;
}

Request request_of(const Ids& prompt, float temperature, std::uint64_t seed, int most = 30) {
    Request r = test::raw_request("a", prompt, most);
    r.sampling.temperature = temperature;
    r.sampling.seed = seed;
    return r;
}

Request by_model(Request r, int fixed, bool lookup = false) {
    r.draft.lookup = lookup;
    r.draft.model_path = "any";
    r.draft.fixed_tokens = fixed;
    return r;
}

std::vector<SamplingParams> settings() {
    std::vector<SamplingParams> out(5);
    out[0].temperature = 0;
    out[1].temperature = 0;
    out[1].repeat_penalty = 1.3f;
    out[2].temperature = 0.7f;
    out[2].top_p = 0.9f;
    out[3].temperature = 1;
    out[3].top_k = 0;
    out[4].temperature = 1;
    out[4].presence_penalty = 0.3f;
    out[4].repeat_last_n = -1;
    return out;
}

DraftAsk ask_of(const std::string& conversation, const Ids& history, const SamplingParams& sampling,
                const std::atomic<bool>& stop, int n) {
    return {conversation, history, sampling, n, [](const Draft&) { return true; }, stop};
}

}  // namespace

TEST_CASE("a model that drafts for itself is accepted whole, greedy and sampled",
          "[speculate][draft-model]") {
    Rig rig;
    for (const float temperature : {0.0f, 0.7f, 1.0f}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            const Request r = request_of(tiny_ids(40), temperature, seed);
            rig.set_drafter(nullptr);
            const Answer reference = rig.run(plain(r));
            rig.worker().forget("a");
            const ModelDrafter& model = use_model(rig, tiny_path());
            const Answer a = rig.run(by_model(r, 4));
            CAPTURE(temperature, seed);
            check_same(a, reference);
            CHECK(a.stats.speculation.drafter == model.name());
            CHECK(a.stats.speculation.accepted == 23);
            CHECK(a.stats.speculation.drafted == 23);
            rig.worker().forget("a");
            CHECK(model.memory().pages_in_use == 0);
            CHECK(rig.pages() == 0);
        }
    }
}

TEST_CASE("a drafting model never changes an answer", "[speculate][draft-model][law1]") {
    Rig rig;
    int n_accepted = 0, n_drafted = 0;
    for (const SamplingParams& sampling : settings()) {
        for (std::uint64_t seed = 1; seed <= (sampling.temperature > 0 ? 5u : 1u); ++seed) {
            for (const int n_prompt : {1, 17, 48, 200}) {
                Request r = test::raw_request("a", tiny_ids(n_prompt, 3), 30);
                const int most = r.sampling.max_tokens;
                r.sampling = sampling;
                r.sampling.max_tokens = most;
                r.sampling.ignore_eos = true;
                r.sampling.seed = seed;
                rig.set_drafter(nullptr);
                const Answer reference = rig.run(plain(r));
                for (const bool itself : {false, true}) {
                    const bool lookup = seed % 2 == 0;
                    const ModelDrafter& model =
                        use_model(rig, itself ? tiny_path() : other_path(), lookup);
                    for (const int fixed : {1, 5, 15, 0}) {
                        CAPTURE(sampling.temperature, seed, n_prompt, itself, fixed);
                        rig.worker().forget("a");
                        const Answer a = rig.run(by_model(r, fixed, lookup));
                        check_same(a, reference);
                        n_drafted += a.stats.speculation.drafted;
                        n_accepted += a.stats.speculation.accepted;
                        CHECK(model.check_idle() == "");
                    }
                    rig.worker().forget("a");
                    CHECK(model.memory().pages_in_use == 0);
                    CHECK(rig.pages() == 0);
                }
            }
        }
    }
    CHECK(n_accepted > 1000);
    CHECK(n_drafted > n_accepted + 1000);  // wrong ones were among them
}

TEST_CASE("stop strings and the context's end inside a model's drafts", "[speculate][stop]") {
    EngineOptions options = Rig::one_thread();
    options.context_tokens = 96;
    Rig rig(tiny_path(), options);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Request r = request_of(tiny_ids(20, static_cast<int>(seed)), 1.0f, seed, -1);
        rig.set_drafter(nullptr);
        const Answer free = rig.run(plain(r));
        CHECK(free.reason == FinishReason::length);
        use_model(rig, tiny_path());
        for (const int fixed : {1, 5, 15, 0}) check_same(rig.run(by_model(r, fixed)), free);
        const std::size_t at = 4 + seed * 5 % (free.text.size() - 12);
        r.sampling.stop = {free.text.substr(at, 1 + seed % 5)};
        const Answer stopped = rig.run(plain(r));
        CHECK(stopped.reason == FinishReason::stop);
        for (const int fixed : {1, 5, 15, 0}) check_same(rig.run(by_model(r, fixed)), stopped);
        rig.worker().forget("a");
    }
}

TEST_CASE("what the drafting model has read follows the text", "[speculate][draft-model]") {
    Rig rig;
    const auto model = load_drafter(rig, other_path());
    const std::atomic<bool> stop{false};
    const SamplingParams sampling;
    const auto to_read = [&](const Ids& text) {
        return model->n_to_read(ask_of("a", text, sampling, stop, 8));
    };
    const auto draft = [&](const Ids& text) {
        Draft d;
        do d = model->propose(ask_of("a", text, sampling, stop, 8));
        while (d.reads_on);
        return d;
    };
    const Ids first = tiny_ids(300, 1);
    CHECK(to_read(first) == 300);
    const Draft d = draft(first);
    CHECK(d.size() == 8);
    SECTION("accepted drafts are not read again but the last one") {
        Ids text = first;
        text.insert(text.end(), d.ids.begin(), d.ids.end());
        text.push_back(9);
        CHECK(to_read(text) == 2);
    }
    SECTION("rejected drafts are rolled back exactly") {
        Ids text = first;
        for (int i = 0; i < 3; ++i) text.push_back(d.ids[static_cast<std::size_t>(i)]);
        text.push_back(d.ids[3] + 1);
        CHECK(to_read(text) == 1);
        const Draft warm = draft(text);
        const auto fresh = load_drafter(rig, other_path());
        Draft cold;
        do cold = fresh->propose(ask_of("b", text, sampling, stop, 8));
        while (cold.reads_on);
        CHECK(warm.ids == cold.ids);
        CHECK(warm.bins == cold.bins);
    }
    SECTION("the next turn, an edit, and the way back to the branch before") {
        Ids answered = first;
        answered.push_back(20);
        answered.push_back(21);
        draft(answered);
        model->answered("a", Ids{20, 21});
        CHECK(model->check_idle() == "");
        Ids next = answered;
        for (const std::int32_t id : tiny_ids(10, 4)) next.push_back(id);
        CHECK(to_read(next) <= 12);
        draft(next);
        Ids edited = first;
        edited[250] += 1;
        CHECK(to_read(edited) == 50);
        draft(edited);
        CHECK(to_read(next) <= 12);  // also without an answer between
        draft(next);
        model->answered("a", Ids{20});
        CHECK(to_read(edited) <= 10);
        model->answered("a", {});
        model->forget("a");
        CHECK(model->memory().pages_in_use == 0);
        CHECK(model->check_idle() == "");
    }
    SECTION("a conversation forgotten while it is answered leaves nothing") {
        model->forget("a");
        draft(first);
        model->answered("a", Ids{1, 2});
        CHECK(model->memory().pages_in_use == 0);
    }
}

TEST_CASE("a text beyond the drafting model's context is answered without it",
          "[speculate][context]") {
    Rig rig;
    test::TinyOptions o;
    o.context_length = 64;
    const std::string& path = tiny_path("short-drafting", o);
    for (const int n_prompt : {40, 62, 63, 64, 65, 100}) {
        const Request r = request_of(tiny_ids(n_prompt), 0, 1, 60);
        rig.set_drafter(nullptr);
        const Answer reference = rig.run(plain(r));
        const ModelDrafter& model = use_model(rig, path);
        const Answer a = rig.run(by_model(r, 5));
        CAPTURE(n_prompt);
        check_same(a, reference);
        CHECK((a.stats.speculation.drafted > 0) == (n_prompt < 63));
        CHECK(model.check_idle() == "");
        rig.worker().forget("a");
    }
}

TEST_CASE("stopped at random moments a drafting model's pages return", "[speculate][memory]") {
    Rig rig;
    const Request r = request_of(tiny_ids(300), 0.7f, 5, 60);
    const Answer reference = rig.run(plain(r));
    rig.worker().forget("a");
    const ModelDrafter& model = use_model(rig, other_path(), /*lookup_first=*/true);
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
        const int fixed = static_cast<int>(random() % 4) * 3;
        const RequestId id = rig.start(by_model(r, fixed, round % 2 == 0));
        const int n_steps = static_cast<int>(random() % 30);
        for (int i = 0; i < n_steps && rig.worker().n_jobs() > 0; ++i) {
            const std::atomic<bool> stop{random() % 8 == 0};
            rig.worker().step(stop);
        }
        rig.worker().cancel(id);
        const Answer stopped = rig.take(id);
        REQUIRE(stopped.done);
        REQUIRE(stopped.ids.size() <= reference.ids.size());
        CHECK(std::equal(stopped.ids.begin(), stopped.ids.end(), reference.ids.begin()));
        CHECK(model.check_idle() == "");
        if (round % 3 != 0) continue;
        rig.worker().forget("a");
        CHECK(model.memory().pages_in_use == 0);
        CHECK(rig.pages() == 0);
    }
    check_same(rig.run(by_model(r, 4)), reference);
}

TEST_CASE("many turns with a drafting model leave its pages as they were", "[speculate][memory]") {
    Rig rig;
    const ModelDrafter& model = use_model(rig, other_path(), /*lookup_first=*/true);
    for (int chat = 0; chat < 30; ++chat) {
        Ids text = tiny_ids(20, chat);
        for (int turn = 0; turn < 10; ++turn) {
            Request r = by_model(request_of(text, 0.7f, 1, 12), 3, turn % 2 == 0);
            const Answer a = rig.run(r);
            REQUIRE(a.done);
            text.insert(text.end(), a.ids.begin(), a.ids.end());
            for (const std::int32_t id : tiny_ids(5, turn)) text.push_back(id);
        }
        const Drafter::Memory m = model.memory();
        // 190 tokens: twelve pages, and the ends of turns.
        CHECK(m.pages_in_use > 0);
        CHECK(m.pages_in_use <= 12 + 10);
        rig.worker().forget("a");
        CHECK(model.memory().pages_in_use == 0);
        CHECK(rig.pages() == 0);
    }
}

TEST_CASE("with hardly any page for the drafting model answers stay", "[speculate][memory]") {
    EngineOptions options = Rig::one_thread();
    Rig rig;
    const Request r = request_of(tiny_ids(300), 0, 5, 60);
    const Answer reference = rig.run(plain(r));
    options.kv_budget_bytes = 64 * 1024;
    auto drafter = load_drafter(rig, tiny_path(), {}, options);
    const ModelDrafter& model = *drafter;
    rig.set_drafter(nullptr);
    rig.resident().speculator->add(std::move(drafter), "any");
    check_same(rig.run(by_model(r, 5)), reference);
    CHECK(model.check_idle() == "");
}

TEST_CASE("a head over a shortlist drafts what is frequent and what the text has",
          "[speculate][draft-model]") {
    Rig rig;
    const DraftHead::Size size{96, 64};
    int n_beyond = 0;
    for (const float temperature : {0.0f, 1.0f}) {
        const Request r = request_of(tiny_ids(60, 2), temperature, 2, 100);
        rig.set_drafter(nullptr);
        const Answer reference = rig.run(plain(r));
        const ModelDrafter& model = use_model(rig, tiny_path(), false, size);
        CHECK(model.memory().weight_bytes > rig.resident().model->weight_bytes());
        for (const int fixed : {1, 5, 0}) {
            const Answer a = rig.run(by_model(r, fixed));
            check_same(a, reference);
            if (fixed > 0) CHECK(a.stats.speculation.accepted > 0);
        }
        rig.worker().forget("a");
    }
    const auto model = load_drafter(rig, tiny_path(), size);
    const std::atomic<bool> stop{false};
    const SamplingParams sampling;
    for (int salt = 0; salt < 40; ++salt) {
        const Ids text = tiny_ids(12, salt);
        const Draft d = model->propose(ask_of("b", text, sampling, stop, 15));
        for (const std::int32_t id : d.ids) n_beyond += id >= 96 ? 1 : 0;
        model->answered("b", {});
    }
    CHECK(n_beyond > 0);
}

TEST_CASE("an engine takes a drafting model in, does without a bad one, and says so",
          "[speculate][engine]") {
    EngineClient client;
    Request r = test::raw_request("a", tiny_ids(30), 20);
    const Answer reference = client.run(plain(r));
    CHECK(client.engine().memory().draft_weight_bytes == 0);
    r.draft.model_path = other_path();
    r.draft.lookup = false;
    r.draft.fixed_tokens = 3;
    const Answer drafted = client.run(r);
    check_same(drafted, reference);
    CHECK(drafted.stats.speculation.steps > 0);
    CHECK(drafted.notes.empty());
    CHECK(client.engine().memory().draft_weight_bytes > 0);
    CHECK(client.engine().memory().draft_pages_in_use > 0);

    test::TinyOptions o;
    o.vocabulary = test::TinyVocabulary::spm;
    for (const std::string& bad : {tiny_path("other-words", o), std::string("/none/such.gguf")}) {
        r.conversation += "x";
        r.draft.model_path = bad;
        const Answer without = client.run(r);
        check_same(without, reference);
        REQUIRE(without.notes.size() == 1);
        CHECK(without.notes[0].find("answers come without it") != std::string::npos);
        r.conversation += "y";
        CHECK(client.run(r).notes.empty());  // said once
    }
    r.draft.model_path = tiny_path();  // another one takes its place
    r.conversation = "z";
    const Answer again = client.run(r);
    check_same(again, reference);
    CHECK(again.stats.speculation.accepted == again.stats.speculation.drafted);
    for (const char* c : {"a", "ax", "axy", "axyx", "axyxy", "z"}) client.engine().forget(c);
    check_same(client.run(plain(r)), reference);
    client.engine().forget("z");
    check_same(client.run(plain(test::raw_request("q", tiny_ids(30), 20))), reference);
    CHECK(client.engine().memory().draft_pages_in_use == 0);
}

}  // namespace hearth
