// The engine around an emulated card: what is planned is what is taken, to the byte; what does not
// fit is refused with what would; a card that is lost ends requests, not the program.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/generate/card_plan.h"
#include "engine/generate/resident.h"
#include "engine/generate/setup.h"
#include "simt_support.h"
#include "tests/engine/engine_client.h"

using namespace hearth;
using namespace hearth::test;

namespace {

const std::string& card_model_path() {
    TinyOptions o;
    o.dtype = DType::q4_0;
    return tiny_path("card", o);
}

EngineOptions on_card(int context_tokens) {
    EngineOptions o;
    o.isa = "cuda";
    o.context_tokens = context_tokens;
    o.prefill_chunk = 16;
    return o;
}

/// Sets the memory of the emulated card; what it was comes back at the end.
class CardMemory {
  public:
    explicit CardMemory(std::int64_t bytes) {
        simt::config().device_memory = static_cast<std::size_t>(bytes);
    }
    ~CardMemory() { simt::config().device_memory = before_; }
    CardMemory(const CardMemory&) = delete;
    CardMemory& operator=(const CardMemory&) = delete;

  private:
    std::size_t before_ = simt::config().device_memory;
};

/// The largest context that the refusal offers.
int offered(const std::string& what) {
    const std::string words = "the largest context that fits is ";
    const auto at = what.find(words);
    INFO(what);
    REQUIRE(at != std::string::npos);
    return std::stoi(what.substr(at + words.size()));
}

/// What the error says about memory, or what a load takes.
struct Loaded {
    std::string error;
    Errc code{};
    std::int64_t planned = 0, taken = 0, left = 0;
    int n_cpu_layers = 0;
};
Loaded load(const EngineOptions& options, std::int64_t card_bytes) {
    const CardMemory memory(card_bytes);
    const auto b = card();
    const std::int64_t before = b->free_bytes();
    auto resident = Resident::load(card_model_path(), options, *b);
    Loaded r;
    if (!resident) {
        r.error = resident.error().what;
        r.code = resident.error().code;
    } else {
        r.planned = (*resident)->card_bytes;
        r.n_cpu_layers = (*resident)->cpu.n;
        r.left = b->free_bytes();
        r.taken = before - r.left;
    }
    if (resident) resident->reset();
    b->drop_weights();
    return r;
}

using Rows = std::vector<std::vector<float>>;

/// Pages for n positions, as a step wants them; they go back at the end.
struct Pages {
    Pages(KvCache& c, int n) : kv(c) {
        REQUIRE(kv.reserve(pages, n));
        for (const std::int32_t page : pages) slots.push_back(kv.slot(page));
    }
    ~Pages() { kv.cut(pages, 0); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    KvCache& kv;
    std::vector<std::int32_t> pages, slots;
};

/// Calls step(batch, first position) for one sequence in chunks; only the last row of a chunk is an
/// output: a resident holds few of them.
template <typename Step>
void in_chunks(const Pages& pages, const std::vector<std::int32_t>& ids, int chunk, Step step) {
    const int n = static_cast<int>(ids.size());
    for (int at = 0; at < n; at += chunk) {
        const int rows = std::min(chunk, n - at);
        const std::int32_t last = rows - 1;
        const SequenceSpan span{0, rows, at, pages.slots.data(),
                                static_cast<int>(pages.slots.size())};
        step(BatchView{
            std::span(ids).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(rows)),
            {&span, 1},
            {&last, 1}});
    }
}

std::vector<float> last_row(Resident& r, Backend& b) {
    const MatrixView m = on_host(b, r.activations->logits.top(1));
    return {m.data, m.data + m.cols};
}

/// Logits of the last position, and of position 19, as the resident computes them.
Rows logits_of(Resident& r, Backend& b, const std::vector<std::int32_t>& ids, int chunk) {
    Rows rows;
    for (const std::size_t n : {ids.size() / 2, ids.size()}) {
        const std::vector<std::int32_t> part(ids.begin(), ids.begin() + static_cast<int>(n));
        const Pages pages(*r.kv, static_cast<int>(n));
        in_chunks(pages, part, std::min(chunk, r.activations->max_tokens),
                  [&](const BatchView& batch) { CHECK(r.pass(b).run(batch, nullptr)); });
        rows.push_back(last_row(r, b));
    }
    return rows;
}

/// The same by two whole models: layers [0, n) of `off`, the rest of `on`.
Rows by_hand(Resident& off, Backend& cpu, Resident& on, Backend& device,
             const std::vector<std::int32_t>& ids, int n) {
    const Model& m = *on.model;
    Rows rows;
    for (const std::size_t count : {ids.size() / 2, ids.size()}) {
        const std::vector<std::int32_t> part(ids.begin(), ids.begin() + static_cast<int>(count));
        const Pages here(*off.kv, static_cast<int>(count)), there(*on.kv, static_cast<int>(count));
        std::vector<std::vector<float>> x;
        in_chunks(here, part, 1, [&](const BatchView& batch) {
            cpu.begin(batch);
            decode_layers(off.model->config, off.model->weights, batch, off.kv->layers(),
                          *off.activations, cpu, 0, n);
            CHECK(cpu.run());
            const MatrixView row = off.activations->x.top(1);
            x.emplace_back(row.data, row.data + row.cols);
        });
        std::size_t at = 0;
        in_chunks(there, part, 1, [&](const BatchView& batch) {
            device.copy(on.activations->x.data, x[at].data(), x[at].size() * sizeof(float));
            ++at;
            device.begin(batch);
            decode_layers(m.config, m.weights, batch, on.kv->layers(), *on.activations, device, n,
                          m.config.n_layers);
            decode_head(m.config, m.weights, batch, *on.activations, device);
            CHECK(device.run());
        });
        rows.push_back(last_row(on, device));
    }
    return rows;
}

constexpr std::int64_t kPlenty = std::int64_t{4} << 30;

}  // namespace

TEST_CASE("the plan of the card's memory is what is taken, to the byte", "[cuda][plan]") {
    const int context = GENERATE(512, 1024, 2048);
    const std::string kv = GENERATE(as<std::string>{}, "f16", "bf16");
    INFO("context " << context << " kv " << kv);
    EngineOptions options = on_card(context);
    options.kv_type = kv;
    const Loaded plenty = load(options, kPlenty);
    CHECK(plenty.error == "");
    CHECK(plenty.planned > 0);
    CHECK(plenty.taken == plenty.planned);
}

TEST_CASE("a context that just fits is taken, one byte less is refused with what fits",
          "[cuda][plan]") {
    const int context = GENERATE(1024, 2048);
    EngineOptions options = on_card(context);
    // The KV budget keeps the plan to the context itself: no room for further conversations.
    const auto model = load_model(card_model_path(), options);
    REQUIRE(model);
    const std::int64_t page_bytes = KvCache::bytes_per_page((*model)->config, DType::f16);
    const std::int64_t pages = context / kPageTokens;
    options.kv_budget_bytes = pages * page_bytes;
    const Loaded whole = load(options, kPlenty);
    CHECK(whole.error == "");
    const std::int64_t needed = whole.planned + kCardMarginBytes;

    const Loaded fits = load(options, needed);
    CHECK(fits.error == "");
    CHECK(fits.taken == whole.planned);
    CHECK(fits.left == kCardMarginBytes);

    const Loaded short_of = load(options, needed - 1);
    CHECK(short_of.code == Errc::out_of_memory);
    const int smaller = offered(short_of.error);
    CHECK(smaller == context - KvCache::kSlabPages * kPageTokens);
    EngineOptions less = options;
    less.context_tokens = smaller;
    const Loaded now = load(less, needed - 1);
    CHECK(now.error == "");
    CHECK(now.taken == now.planned);

    // Not even the head of the model.
    const Loaded never = load(options, kCardMarginBytes);
    CHECK(never.code == Errc::out_of_memory);
    CHECK(never.error.find("for the shortest context") != std::string::npos);
}

TEST_CASE("layers that find no room on the card run on the CPU, with the bits of both",
          "[cuda][plan][split]") {
    EngineOptions options = on_card(512);
    const Loaded whole = load(options, kPlenty);
    CHECK(whole.n_cpu_layers == 0);
    // One byte less than the shortest context needs beside all weights: one layer goes.
    options.kv_budget_bytes = 1;
    const Loaded least = load(options, kPlenty);
    const std::int64_t needed = least.planned + kCardMarginBytes;
    CHECK(load(options, needed).n_cpu_layers == 0);
    options.kv_budget_bytes = 0;
    const Loaded split = load(options, needed - 1);
    CHECK(split.error == "");
    CHECK(split.n_cpu_layers == 1);
    CHECK(split.taken == split.planned);

    const auto ids = tiny_ids(40);
    const auto plenty = card();
    const auto cpu = backend(CpuIsa::automatic, 1);
    auto on_all = Resident::load(card_model_path(), options, *plenty);
    auto off = Resident::load(card_model_path(), options, *cpu);
    REQUIRE((on_all && off));
    const auto expected = by_hand(**off, *cpu, **on_all, *plenty, ids, 1);
    std::string note;
    for (const int chunk : {40, 1, 7}) {
        INFO("chunk " << chunk);
        const CardMemory memory(static_cast<std::int64_t>(simt::config().device_memory) -
                                plenty->free_bytes() + needed - 1);
        const auto b = card();
        auto shared = Resident::load(card_model_path(), options, *b);
        REQUIRE(shared);
        REQUIRE((*shared)->cpu.n == 1);
        note = (*shared)->notes.back();
        const auto got = logits_of(**shared, *b, ids, chunk);
        REQUIRE(got.size() == expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            INFO("position " << i);
            CHECK(same_bits(got[i], expected[i]));
        }
        CHECK((*shared)->placement("cuda") == "cuda, 1 of 2 layers on the CPU");
    }
    CHECK(note.find("1 of 2 layers find no room on the card and run on the CPU") == 0);
}

TEST_CASE("an answer on the card is planned memory only, and all of it comes back",
          "[cuda][plan][engine]") {
    const CardMemory memory(kPlenty);
    std::size_t free_before = 0, free_after = 0, total = 0;
    cudaMemGetInfo(&free_before, &total);
    std::string text;
    {
        EngineOptions options = on_card(512);
        EngineClient client(options);
        Request r = raw_request("a", tiny_ids(40), 6);
        r.model_path = card_model_path();
        const Answer a = client.run(r);
        CHECK(a.error.what == "");
        REQUIRE(a.done);
        CHECK(a.ids.size() == 6);
        REQUIRE(a.notes.size() > 0);
        CHECK(a.notes[0].find("on the card: weights") == 0);
        // Again, from kept pages: the same text.
        const Answer again = client.run(r);
        CHECK(again.ids == a.ids);
        CHECK(again.stats.cached_tokens > 0);
        CHECK(again.stats.logits_hash == a.stats.logits_hash);
        // With drafts from the text: the same again.
        Request drafts = r;
        drafts.draft.fixed_tokens = 3;
        CHECK(client.run(drafts).stats.logits_hash == a.stats.logits_hash);
    }
    cudaMemGetInfo(&free_after, &total);
    CHECK(free_after == free_before);
}

TEST_CASE("a card that is lost ends the answer with a sentence; the engine lives on",
          "[cuda][engine][lost]") {
    const CardMemory memory(kPlenty);
    {
        EngineClient client(on_card(512));
        Request r = raw_request("a", tiny_ids(20), 400);
        r.model_path = card_model_path();
        const RequestId id = client.submit(r);
        client.pump_until([&] { return client.answers[id].ids.size() > 2; });
        simt::config().lose_after_launches = 0;
        const Answer a = client.wait_for(id);
        REQUIRE(a.failed);
        CHECK(a.error.code == Errc::device_lost);
        CHECK(a.error.what.find("the card stopped computing") == 0);
        CHECK(a.ids.size() > 2);  // what was shown stays
        // Whoever asks again is told so at once, by the same model and by another.
        const Answer b = client.run(r);
        REQUIRE(b.failed);
        CHECK(b.error.code == Errc::device_lost);
        Request other = r;
        other.model_path = tiny_path();
        const Answer c = client.run(other);
        REQUIRE(c.failed);
        CHECK(c.error.code == Errc::device_lost);
    }
    simt::config().lose_after_launches = -1;
    simt::reset_errors();
    // A new engine computes.
    EngineClient client(on_card(512));
    Request r = raw_request("a", tiny_ids(20), 3);
    r.model_path = card_model_path();
    CHECK(client.run(r).done);
}

TEST_CASE("a driver that offers too little shared memory is said, not met in a kernel",
          "[cuda][status]") {
    CHECK(card_status().is_usable);
    simt::config().max_smem_optin = 48 << 10;
    const CardStatus s = card_status();
    simt::config().max_smem_optin = 99 << 10;
    CHECK_FALSE(s.is_usable);
    CHECK(s.text.find("48 KiB of shared memory, 65 are needed") != std::string::npos);
}

TEST_CASE("the copy onto the card tells how far it is, and can be given up", "[cuda][upload]") {
    Rng rng(71);
    std::vector<std::vector<std::uint8_t>> data;
    std::vector<TensorView> weights;
    for (int i = 0; i < 5; ++i) {
        data.push_back(random_weights(DType::q8_0, 96, 256, rng));
        weights.push_back({data.back().data(), DType::q8_0, 96, 256});
    }
    const auto b = card();
    const std::int64_t before = b->free_bytes(), bytes = b->weight_bytes(weights);
    std::vector<std::int64_t> told;
    CHECK(b->load_weights(weights, [&](std::int64_t done, std::int64_t total) {
        CHECK(total == bytes);
        told.push_back(done);
        return true;
    }) == "");
    CHECK(before - b->free_bytes() == bytes);
    CHECK(told.size() >= weights.size());
    CHECK(std::is_sorted(told.begin(), told.end()));
    CHECK(told.back() == bytes);
    b->drop_weights();
    CHECK(b->free_bytes() == before);
    CHECK(b->load_weights(weights, [&](std::int64_t done, std::int64_t) {
        return done < bytes / 2;
    }) == "loading the weights onto the card was stopped");
    CHECK(b->free_bytes() == before);
}
