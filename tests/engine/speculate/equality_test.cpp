// Law 1 under speculation: whatever is drafted, ids, text, end and the hash of the logits are those
// of decoding token by token.

#include "tests/engine/speculate/rig.h"

namespace hearth {
namespace {

using test::Answer;
using test::check_same;
using test::draft_of;
using test::FakeDrafter;
using test::Ids;
using test::plain;
using test::Rig;
using test::tiny_ids;
using test::with_drafts;

struct Setting {
    const char* name;
    void (*apply)(SamplingParams& p);
};

const Setting kSettings[] = {
    {"greedy", [](SamplingParams& p) { p.temperature = 0; }},
    {"greedy with penalties",
     [](SamplingParams& p) {
         p.temperature = 0;
         p.repeat_penalty = 1.3f;
         p.frequency_penalty = 0.2f;
         p.presence_penalty = 0.1f;
     }},
    {"0.7 top-p",
     [](SamplingParams& p) {
         p.temperature = 0.7f;
         p.top_k = 0;
         p.min_p = 0;
         p.top_p = 0.9f;
     }},
    {"1.0 min-p",
     [](SamplingParams& p) {
         p.temperature = 1;
         p.top_k = 0;
         p.top_p = 1;
         p.min_p = 0.05f;
     }},
    {"1.0 penalties over the whole context",
     [](SamplingParams& p) {
         p.temperature = 1;
         p.repeat_penalty = 1.2f;
         p.repeat_last_n = -1;
         p.presence_penalty = 0.3f;
     }},
    {"0.7 typical, biased",
     [](SamplingParams& p) {
         p.temperature = 0.7f;
         p.typical_p = 0.8f;
         p.logit_bias = {{20, 2.0f}, {40, -3.0f}};
     }},
    {"top-k 1",
     [](SamplingParams& p) {
         p.temperature = 1;
         p.top_k = 1;
     }},
};

/// Prompts: short, one that repeats itself, across page borders, and long.
std::vector<Ids> prompts() {
    Ids repeated;
    for (int i = 0; i < 6; ++i) {
        const Ids part = tiny_ids(11, 5);
        repeated.insert(repeated.end(), part.begin(), part.end());
    }
    return {tiny_ids(3, 1), repeated, tiny_ids(31, 2), tiny_ids(150, 3)};
}

/// The text of a request with the answer that it has without drafts.
Ids whole_text(const Request& r, const Answer& reference) {
    Ids text = r.raw_ids;
    text.insert(text.end(), reference.ids.begin(), reference.ids.end());
    return text;
}

struct Kind {
    const char* name;
    /// A drafter that knows the text to come.
    std::unique_ptr<Drafter> (*make)(const Ids& text);
};

std::unique_ptr<Drafter> fake(FakeDrafter::Propose propose) {
    return std::make_unique<FakeDrafter>(std::move(propose));
}

const Kind kKinds[] = {
    {"always right",
     [](const Ids& text) {
         return fake([text](const DraftAsk& a) {
             return test::follow_text(a, text, [](auto id, int) { return id; });
         });
     }},
    {"always wrong",
     [](const Ids& text) {
         return fake([text](const DraftAsk& a) {
             return test::follow_text(a, text, [](auto id, int) { return (id + 1) % 256; });
         });
     }},
    {"often right",
     [](const Ids& text) {
         return fake([text](const DraftAsk& a) {
             return test::follow_text(
                 a, text, [](auto id, int i) { return i * 7919 % 10 < 3 ? (id + 7) % 256 : id; });
         });
     }},
    {"ids out of range",
     [](const Ids& text) {
         return fake([text](const DraftAsk& a) {
             return test::follow_text(a, text, [](auto id, int i) {
                 const Ids bad = {-1, 1 << 30, INT32_MIN, INT32_MAX, 384, 100000};
                 return i % 3 == 0 ? bad[static_cast<std::size_t>(i) % bad.size()] : id;
             });
         });
     }},
    {"more than asked for, bins of another length",
     [](const Ids& text) {
         return fake([text](const DraftAsk& a) {
             Ids ids(text.begin() +
                         static_cast<std::ptrdiff_t>(std::min(a.history.size(), text.size())),
                     text.end());
             ids.resize(100, 3);
             Draft d = draft_of(ids);
             if (a.history.size() % 3 == 0) d.bins.resize(2);
             if (a.history.size() % 3 == 1) d.bins.assign(200, 255);
             return d;
         });
     }},
    {"throws now and then", [](const Ids& text) {
         return fake([text](const DraftAsk& a) -> Draft {
             if (a.history.size() % 13 == 0) throw std::runtime_error("no idea");
             return test::follow_text(a, text, [](auto id, int) { return id; });
         });
     }}};

Request request_of(const Ids& prompt, const Setting& setting, std::uint64_t seed) {
    Request r = test::raw_request("a", prompt, 30);
    setting.apply(r.sampling);
    r.sampling.seed = seed;
    return r;
}

/// The same request with drafts of 1, 5, 15 and as many as the control wants.
void check_all_lengths(Rig& rig, const Kind& kind, const Request& r, const Answer& reference) {
    for (const int fixed : {1, 5, 15, 0}) {
        CAPTURE(kind.name, fixed);
        rig.set_drafter(kind.make(whole_text(r, reference)));
        rig.worker().forget("a");
        check_same(rig.run(with_drafts(r, fixed)), reference);
        rig.worker().forget("a");
        CHECK(rig.pages() == 0);
    }
}

}  // namespace

TEST_CASE("drafts never change an answer: drafters, samplers, prompts and seeds",
          "[speculate][law1]") {
    Rig rig;
    for (const Setting& setting : kSettings) {
        const bool random = std::string(setting.name).find("greedy") == std::string::npos;
        for (std::uint64_t seed = 1; seed <= (random ? 5u : 1u); ++seed) {
            for (const Ids& prompt : prompts()) {
                const Request r = request_of(prompt, setting, seed);
                const Answer reference = rig.run(plain(r));
                CHECK(reference.stats.speculation.steps == 0);
                CAPTURE(setting.name, seed, prompt.size());
                for (const Kind& kind : kKinds) check_all_lengths(rig, kind, r, reference);
            }
        }
    }
}

TEST_CASE("look-up drafting never changes an answer", "[speculate][law1][lookup]") {
    Rig rig;
    int n_accepted = 0;
    for (const Setting& setting : kSettings) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            for (const Ids& prompt : prompts()) {
                Request r = request_of(prompt, setting, seed);
                r.sampling.max_tokens = 60;
                const Answer reference = rig.run(plain(r));
                rig.worker().forget("a");
                for (const int fixed : {0, 4, 15}) {
                    CAPTURE(setting.name, seed, prompt.size(), fixed);
                    r.draft.fixed_tokens = fixed;
                    check_same(rig.run(r), reference);
                    // Again, with the first answer to look things up in and pages in the cache.
                    const Answer again = rig.run(r);
                    check_same(again, reference);
                    n_accepted += again.stats.speculation.accepted;
                }
                rig.worker().forget("a");
            }
        }
    }
    CHECK(n_accepted > 10000);  // the same answer again is drafted nearly whole
}

TEST_CASE("families, quantized weights and KV types give equal answers with drafts",
          "[speculate][law1]") {
    struct Case {
        const char* family;
        DType dtype;
        const char* kv;
    };
    const Case cases[] = {{"qwen2", DType::q4_k, "f16"},   {"gemma3", DType::q8_0, "f16"},
                          {"gemma2", DType::q6_k, "bf16"}, {"llama", DType::q4_0, "bf16"},
                          {"qwen3", DType::q5_k, "f16"},   {"phi3", DType::bf16, "f16"}};
    for (const Case& c : cases) {
        test::TinyOptions tiny;
        tiny.family = c.family;
        tiny.dtype = c.dtype;
        tiny.hidden_size = 256;
        tiny.intermediate_size = 256;
        tiny.n_heads = 16;
        tiny.n_kv_heads = 4;
        EngineOptions options;
        options.n_threads = 2;
        options.kv_type = c.kv;
        options.permute_pages = true;
        Rig rig(test::tiny_path(std::string("speculate-") + c.family, tiny), options);
        for (const Setting& setting : {kSettings[0], kSettings[4]}) {
            const Request r = request_of(tiny_ids(40, 4), setting, 3);
            const Answer reference = rig.run(plain(r));
            CAPTURE(c.family, setting.name);
            check_all_lengths(rig, kKinds[0], r, reference);
            check_all_lengths(rig, kKinds[2], r, reference);
        }
    }
}

TEST_CASE("a stop string inside accepted drafts ends the answer where it would end",
          "[speculate][stop]") {
    Rig rig;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Request r = request_of(tiny_ids(20, static_cast<int>(seed)), kSettings[3], seed);
        r.sampling.max_tokens = 40;
        const Answer free = rig.run(plain(r));
        // A piece of the text itself, beginning anywhere, of one or several bytes.
        const std::size_t at = 4 + seed * 5 % (free.text.size() - 12);
        r.sampling.stop = {free.text.substr(at, 1 + seed % 5), "never said"};
        const Answer reference = rig.run(plain(r));
        CHECK(reference.reason == FinishReason::stop);
        for (const Kind& kind : kKinds) {
            // The drafter goes on past the stop.
            for (const int fixed : {1, 5, 15, 0}) {
                CAPTURE(seed, kind.name, fixed);
                rig.set_drafter(kind.make(whole_text(r, free)));
                rig.worker().forget("a");
                check_same(rig.run(with_drafts(r, fixed)), reference);
                // What is kept is what was shown: the next turn goes on from there.
                Request next = r;
                next.sampling.stop.clear();
                next.raw_ids.insert(next.raw_ids.end(), reference.ids.begin(), reference.ids.end());
                next.raw_ids.push_back(30);
                const Answer warm = rig.run(plain(next));
                rig.worker().forget("a");
                check_same(warm, rig.run(plain(next)));
            }
        }
    }
}

TEST_CASE("an end-of-generation token in the middle of drafts ends the answer",
          "[speculate][stop]") {
    Rig rig;
    int n_ended = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Request r = request_of(tiny_ids(10, static_cast<int>(seed)), kSettings[3], seed);
        r.sampling.ignore_eos = false;
        for (const std::int32_t id : rig.resident().model->tokenizer->eog_ids()) {
            r.sampling.logit_bias.push_back({id, 5.0f});
        }
        const Answer reference = rig.run(plain(r));
        n_ended += reference.reason == FinishReason::stop ? 1 : 0;
        CAPTURE(seed);
        // It drafts beyond the end, end tokens among it.
        Ids text = whole_text(r, reference);
        for (int i = 0; i < 20; ++i) {
            text.push_back(rig.resident().model->tokenizer->eog_ids().front());
        }
        for (const int fixed : {1, 5, 15, 0}) {
            rig.set_drafter(kKinds[0].make(text));
            rig.worker().forget("a");
            check_same(rig.run(with_drafts(r, fixed)), reference);
        }
    }
    CHECK(n_ended > 8);
}

TEST_CASE("the context or max_tokens end inside drafts", "[speculate][context]") {
    EngineOptions options = Rig::one_thread();
    options.context_tokens = 64;
    Rig rig(test::tiny_path(), options);
    for (const int n_prompt : {1, 15, 40, 47, 48, 60, 61, 62, 63}) {
        Request r = request_of(tiny_ids(n_prompt), kSettings[4], 2);
        for (const int most : {-1, 1, 2, 7}) {
            r.sampling.max_tokens = most;
            const Answer reference = rig.run(plain(r));
            CHECK(reference.reason == FinishReason::length);
            CHECK(
                reference.ids.size() ==
                static_cast<std::size_t>(most < 0 ? 64 - n_prompt : std::min(most, 64 - n_prompt)));
            CAPTURE(n_prompt, most);
            Ids text = whole_text(r, reference);
            for (int i = 0; i < 40; ++i) text.push_back(9);
            for (const int fixed : {1, 5, 15, 0}) {
                rig.set_drafter(kKinds[0].make(text));
                rig.worker().forget("a");
                check_same(rig.run(with_drafts(r, fixed)), reference);
            }
        }
    }
}

TEST_CASE("beside others, and with chunks between, drafts change nothing", "[speculate][law1]") {
    EngineOptions options = Rig::one_thread();
    options.prefill_chunk = GENERATE(0, 7);
    Rig rig(test::tiny_path(), options);
    std::vector<Request> requests;
    std::vector<Answer> references;
    for (int i = 0; i < 5; ++i) {
        Request r = request_of(tiny_ids(20 + 30 * i, i), kSettings[i % 5], 7);
        r.conversation = std::string(1, static_cast<char>('a' + i));
        r.sampling.max_tokens = 20 + 9 * i;
        requests.push_back(r);
        references.push_back(rig.run(plain(r)));
        rig.worker().forget(r.conversation);
    }
    for (const int fixed : {2, 15, 0}) {
        rig.set_drafter(fake([&](const DraftAsk& a) {
            const auto i = static_cast<std::size_t>(a.conversation[0] - 'a');
            return test::follow_text(a, whole_text(requests[i], references[i]),
                                     [](auto id, int j) { return j % 6 == 5 ? id + 1 : id; });
        }));
        std::vector<RequestId> ids;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            ids.push_back(rig.start(with_drafts(requests[i], fixed)));
            for (std::size_t j = 0; j < i; ++j) rig.step();
        }
        while (rig.worker().n_jobs() > 0) rig.step();
        int accepted = 0;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            CAPTURE(i, fixed);
            const Answer a = rig.take(ids[i]);
            check_same(a, references[i]);
            accepted += a.stats.speculation.accepted;
            rig.worker().forget(requests[i].conversation);
        }
        CHECK((accepted > 0 || fixed == 0));
        CHECK(rig.pages() == 0);
    }
}

TEST_CASE("with hardly any page free drafts shrink and answers stay", "[speculate][memory]") {
    EngineOptions options = Rig::one_thread();
    options.kv_budget_bytes = 32 * 4096;  // 32 pages
    options.context_tokens = 512;
    Rig rig(test::tiny_path(), options);
    Request r = request_of(tiny_ids(400), kSettings[0], 1);
    r.sampling.max_tokens = -1;
    const Answer reference = rig.run(plain(r));
    CHECK(reference.ids.size() == 112);
    for (const int fixed : {3, 15}) {
        rig.set_drafter(kKinds[0].make(whole_text(r, reference)));
        rig.worker().forget("a");
        check_same(rig.run(with_drafts(r, fixed)), reference);
    }
}

TEST_CASE("a drafter that is always right is accepted whole", "[speculate]") {
    Rig rig;
    for (const Setting& setting : kSettings) {
        Request r = request_of(tiny_ids(25), setting, 9);
        const Answer reference = rig.run(plain(r));
        rig.set_drafter(kKinds[0].make(whole_text(r, reference)));
        rig.worker().forget("a");
        const Answer a = rig.run(with_drafts(r, 4));
        check_same(a, reference);
        const SpeculationStats& s = a.stats.speculation;
        CAPTURE(setting.name);
        CHECK(s.drafter == "fake");
        CHECK(s.drafted == s.accepted);
        // 30 tokens: one with the prompt, then steps of 1 + 4, the last one of what is left.
        CHECK(s.steps == 6);
        CHECK(s.accepted == 23);
    }
}

TEST_CASE("a drafter that throws is given up and says so, and the answer goes on", "[speculate]") {
    Rig rig;
    const Request r = request_of(tiny_ids(25), kSettings[0], 1);
    const Answer reference = rig.run(plain(r));
    int calls = 0;
    rig.set_drafter(fake([&](const DraftAsk& a) -> Draft {
        if (++calls == 3) throw std::runtime_error("it broke");
        return test::follow_text(a, whole_text(r, reference), [](auto id, int) { return id; });
    }));
    rig.worker().forget("a");
    check_same(rig.run(with_drafts(r, 2)), reference);
    CHECK(calls == 3);
    const auto notes = rig.resident().speculator->take_notes();
    REQUIRE(notes.size() == 1);
    CHECK(notes[0] == "drafting by fake ended (it broke); the answer goes on without it");
}

TEST_CASE("stopped at any moment, drafts leave no page and no token behind",
          "[speculate][stop][memory]") {
    Rig rig;
    const Request r = request_of(tiny_ids(50), kSettings[4], 4);
    const Answer reference = rig.run(plain(r));
    rig.worker().forget("a");
    rig.set_drafter(kKinds[2].make(whole_text(r, reference)));
    for (int n_steps = 0; n_steps < 20; ++n_steps) {
        for (const bool in_step : {false, true}) {
            const RequestId id = rig.start(with_drafts(r, 1 + n_steps % 15));
            for (int i = 0; i < n_steps && rig.worker().n_jobs() > 0; ++i) {
                const std::atomic<bool> stop{in_step && i == n_steps - 1};
                rig.worker().step(stop);
            }
            rig.worker().cancel(id);
            CAPTURE(n_steps, in_step);
            const Answer stopped = rig.take(id);
            REQUIRE(stopped.done);
            REQUIRE(stopped.ids.size() <= reference.ids.size());
            CHECK(std::equal(stopped.ids.begin(), stopped.ids.end(), reference.ids.begin()));
            const auto n_shown = static_cast<int>(r.raw_ids.size() + stopped.ids.size());
            // The newest token is not computed yet; the page it belongs to may be kept in part.
            CHECK(rig.pages() <= (n_shown - 1 + kPageTokens - 1) / kPageTokens);
            // What is kept is good: the whole answer comes out the same.
            if (n_steps % 5 == 0) check_same(rig.run(with_drafts(r, 3)), reference);
            rig.worker().forget("a");
            CHECK(rig.pages() == 0);
        }
    }
}

}  // namespace hearth
