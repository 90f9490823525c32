// The disk tier through the whole engine: what an earlier process computed gives the same bits as
// a cold run; what is damaged, foreign or gone is computed again.

#include <filesystem>
#include <fstream>

#include <sys/resource.h>

#include "engine/base/memory.h"
#include "tests/engine/engine_client.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::Answer;
using test::EngineClient;
using test::raw_request;
using test::tiny_ids;

void check_same(const Answer& a, const Answer& b) {
    REQUIRE(a.done);
    REQUIRE(b.done);
    CHECK(a.ids == b.ids);
    CHECK(a.text == b.text);
    CHECK(a.stats.logits_hash.size() == 32);
    CHECK(a.stats.logits_hash == b.stats.logits_hash);
}

EngineOptions with_cache(const std::string& folder) {
    EngineOptions o;
    o.cache_dir = folder;
    o.cache_budget_bytes = 1 << 28;
    return o;
}

/// A new engine, as after a restart.
Answer restarted(const EngineOptions& o, const Request& r) {
    EngineClient client(o);
    Answer a = client.run(r);
    CHECK(client.notes.empty());
    return a;
}

Answer cold(const Request& r) { return restarted({}, r); }

std::vector<std::string> files(const std::string& folder, const std::string& extension) {
    std::vector<std::string> out;
    for (const auto& e : fs::recursive_directory_iterator(folder)) {
        if (e.is_regular_file() && e.path().extension() == extension) out.push_back(e.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// The next turn of a conversation: what was said, the answer, and n_new tokens more.
Request next_turn(Request r, const Answer& a, int n_new, int salt = 9) {
    r.raw_ids.insert(r.raw_ids.end(), a.ids.begin(), a.ids.end());
    const auto more = tiny_ids(n_new, salt);
    r.raw_ids.insert(r.raw_ids.end(), more.begin(), more.end());
    return r;
}

std::string windowed_path() {
    test::TinyOptions windowed;
    windowed.family = "gemma3";
    return test::tiny_path("windowed", windowed);
}

}  // namespace

TEST_CASE("a chat reopened in a new process reads what was computed, with the same bits",
          "[engine][disk][law1]") {
    const std::string family = GENERATE("llama", "gemma3");
    const int n = GENERATE(3, 16, 255, 256, 257, 700);
    const EngineOptions o = with_cache(test::temporary_folder("disk"));
    Request request = raw_request("chat", tiny_ids(n), 12);
    if (family == "gemma3") request.model_path = windowed_path();
    CAPTURE(family, n);
    const Answer first = restarted(o, request);
    CHECK(first.stats.cached_tokens == 0);
    check_same(first, cold(request));
    const Request next = next_turn(request, first, 8);
    const Answer warm = restarted(o, next);
    const int n_stored = n + 12 - 1;  // the newest token was never computed
    CHECK(warm.stats.cached_disk_tokens == n_stored);
    CHECK(warm.stats.cached_ram_tokens == 0);
    CHECK(warm.stats.cached_tokens == n_stored);
    check_same(warm, cold(next));
    // Once more the same, from the records that both turns left.
    const Answer again = restarted(o, next);
    CHECK(again.stats.cached_disk_tokens == static_cast<int>(next.raw_ids.size()) - 1);
    check_same(again, warm);
}

TEST_CASE("memory first, then the disk for the rest", "[engine][disk][law1]") {
    const EngineOptions o = with_cache(test::temporary_folder("disk"));
    const Request request = raw_request("chat", tiny_ids(900), 5);
    const Answer reference = cold(request);
    restarted(o, request);
    for (const int n_ram : {40, 256, 300, 511, 899}) {
        CAPTURE(n_ram);
        EngineClient client(o);
        Request shorter = request;
        shorter.conversation = "other";
        shorter.raw_ids.resize(static_cast<std::size_t>(n_ram));
        shorter.sampling.max_tokens = 1;
        const Answer short_answer = client.run(shorter);
        CHECK(short_answer.stats.cached_disk_tokens == n_ram - 1);
        const Answer a = client.run(request);
        CHECK(a.stats.cached_ram_tokens == n_ram);
        CHECK(a.stats.cached_disk_tokens == 899 - n_ram);
        check_same(a, reference);
    }
}

TEST_CASE("an edited, branched or regenerated turn reuses up to the fork after a restart",
          "[engine][disk][law1][branch]") {
    const std::string family = GENERATE("llama", "gemma3");
    const EngineOptions o = with_cache(test::temporary_folder("disk"));
    Request request = raw_request("chat", tiny_ids(600), 10);
    if (family == "gemma3") request.model_path = windowed_path();
    restarted(o, request);
    for (const int at : {0, 1, 15, 16, 17, 255, 256, 257, 300, 511, 512, 599}) {
        CAPTURE(family, at);
        Request edited = request;
        auto& id = edited.raw_ids[static_cast<std::size_t>(at)];
        id = id == 200 ? 201 : 200;
        const Answer a = restarted(o, edited);
        CHECK(a.stats.cached_disk_tokens >= at);
        // Of this prompt or an earlier branch; the last token is computed always.
        CHECK(a.stats.cached_disk_tokens <= (at < 599 ? 598 : 599));
        check_same(a, cold(edited));
    }
    Request again = request;
    again.sampling.temperature = 1;
    again.sampling.seed = 4;
    const Answer regenerated = restarted(o, again);
    CHECK(regenerated.stats.cached_disk_tokens == 599);
    check_same(regenerated, cold(again));
}

TEST_CASE("two chats with one system prompt share it on disk", "[engine][disk]") {
    const std::string folder = test::temporary_folder("disk");
    const EngineOptions o = with_cache(folder);
    auto ids = tiny_ids(520);
    restarted(o, raw_request("one", ids, 3));
    const std::size_t n_files = files(folder, ".kv").size();
    for (std::size_t i = 400; i < 420; ++i) ids[i] = 77;
    const Request other = raw_request("two", ids, 3);
    const Answer a = restarted(o, other);
    CHECK(a.stats.cached_disk_tokens >= 400);
    check_same(a, cold(other));
    CHECK(files(folder, ".kv").size() == n_files + 2);  // the first 256 tokens are there once
    SECTION("one deleted, the other keeps everything") {
        EngineClient client(o);
        client.run(raw_request("third", tiny_ids(5), 1));
        client.engine().forget("one");
        client.engine().forget("third");
    }
    SECTION("deleted by another engine that does not have the chat in memory") {
        EngineClient client(o);
        client.run(raw_request("one", tiny_ids(5, 3), 1));
        client.engine().forget("one");
    }
    const Answer b = restarted(o, other);
    CHECK(b.stats.cached_disk_tokens == 519);
    check_same(b, a);
    EngineClient client(o);
    client.run(raw_request("two", tiny_ids(5, 4), 1));
    client.engine().forget("two");
    Request probe = other;
    probe.conversation = "probe";
    probe.no_disk_cache = true;
    client.run(probe);
}

TEST_CASE("a deleted chat leaves no record behind", "[engine][disk]") {
    const std::string folder = test::temporary_folder("disk");
    {
        EngineClient client(with_cache(folder));
        client.run(raw_request("one", tiny_ids(600), 3));
        client.run(raw_request("two", tiny_ids(20, 5), 3));
        client.engine().forget("one");
    }
    CHECK(files(folder, ".kv").size() == 1);
    CHECK(files(folder, ".chat").size() == 1);
    {
        EngineClient client(with_cache(folder));
        client.run(raw_request("three", tiny_ids(30, 6), 3));
        client.engine().forget("two");
        client.engine().forget("three");
    }
    CHECK(files(folder, ".kv").empty());
    CHECK(files(folder, ".chat").empty());
}

TEST_CASE("a turn stopped early writes nothing that a longer record has", "[engine][disk]") {
    const std::string folder = test::temporary_folder("disk");
    const EngineOptions o = with_cache(folder);
    Request request = raw_request("chat", tiny_ids(600), 6);
    restarted(o, request);
    const auto before = files(folder, ".kv");
    CHECK(before.size() == 3);
    request.raw_ids.resize(560);
    request.sampling.max_tokens = 1;
    CHECK(restarted(o, request).stats.cached_disk_tokens == 559);
    CHECK(files(folder, ".kv") == before);
}

TEST_CASE("a private chat and a background job leave no byte on disk", "[engine][disk][privacy]") {
    const std::string folder = test::temporary_folder("disk");
    Request request = raw_request("secret", tiny_ids(300), 5);
    request.no_disk_cache = true;
    restarted(with_cache(folder), request);
    CHECK(fs::is_empty(folder));
    request.no_disk_cache = false;
    request.background = true;
    restarted(with_cache(folder), request);
    CHECK(fs::is_empty(folder));
    SECTION("but it may read what others left") {
        request.background = false;
        restarted(with_cache(folder), request);
        request.no_disk_cache = true;
        const Answer a = restarted(with_cache(folder), request);
        CHECK(a.stats.cached_disk_tokens == 299);
        check_same(a, cold(request));
    }
}

TEST_CASE("what is behind the end of a text is not in its records", "[engine][disk][privacy]") {
    // A public chat that copied a page of a private one: its records are those of a chat alone.
    auto secret = tiny_ids(310);
    auto open = secret;
    open.resize(300);
    const auto records = [&](bool after_secret) {
        const std::string folder = test::temporary_folder("disk");
        {
            EngineClient client(with_cache(folder));
            Request request = raw_request("secret", secret, 3);
            request.no_disk_cache = true;
            if (after_secret) client.run(request);
            client.run(raw_request("open", open, 1));
        }
        std::vector<std::pair<std::string, std::string>> out;
        for (const std::string& path : files(folder, ".kv")) {
            std::ifstream file(path, std::ios::binary);
            out.emplace_back(fs::path(path).filename(),
                             std::string(std::istreambuf_iterator<char>(file), {}));
        }
        return out;
    };
    const auto alone = records(false), after = records(true);
    CHECK(alone.size() == 2);
    CHECK(alone == after);
}

TEST_CASE("damaged records are computed again, removed, and said nothing about",
          "[engine][disk][damage]") {
    const std::string folder = test::temporary_folder("disk");
    const EngineOptions o = with_cache(folder);
    const Request request = raw_request("chat", tiny_ids(600), 6);
    const Answer reference = cold(request);
    restarted(o, request);
    const auto paths = files(folder, ".kv");
    REQUIRE(paths.size() == 3);
    std::vector<std::string> contents;
    for (const std::string& path : paths) {
        std::ifstream file(path, std::ios::binary);
        contents.emplace_back(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
    }
    const auto restore_all = [&] {
        for (std::size_t i = 0; i < paths.size(); ++i) {
            std::ofstream(paths[i], std::ios::binary) << contents[i];
        }
    };
    const auto check_damaged = [&](const std::string& path, const std::string& bytes) {
        restore_all();
        std::ofstream(path, std::ios::binary) << bytes;
        const Answer a = restarted(o, request);
        CHECK(a.stats.cached_disk_tokens < 599);
        check_same(a, reference);
        // What was damaged is written anew, whole.
        const Answer b = restarted(o, request);
        CHECK(b.stats.cached_disk_tokens == 599);
        check_same(b, reference);
    };
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const std::string& good = contents[i];
        for (const std::size_t at :
             {std::size_t{0}, std::size_t{8}, std::size_t{40}, std::size_t{70}, std::size_t{200},
              std::size_t{4090}, std::size_t{4096}, good.size() / 2, good.size() - 1}) {
            CAPTURE(i, at);
            std::string bytes = good;
            bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
            check_damaged(paths[i], bytes);
        }
        for (const std::size_t n :
             {std::size_t{0}, std::size_t{4000}, std::size_t{4096}, good.size() - 1}) {
            CAPTURE(i, n);
            check_damaged(paths[i], good.substr(0, n));
        }
        CAPTURE(i);
        check_damaged(paths[i], good + "x");
        check_damaged(paths[i], contents[(i + 1) % 3]);  // a whole one, but another
    }
}

TEST_CASE("records of another model, KV type or context setting are not taken",
          "[engine][disk][identity]") {
    const EngineOptions o = with_cache(test::temporary_folder("disk"));
    const Request request = raw_request("chat", tiny_ids(400), 6);
    restarted(o, request);
    SECTION("another model") {
        Request other = request;
        test::TinyOptions seeded;
        seeded.seed = 2;
        other.model_path = test::tiny_path("seed2", seeded);
        const Answer a = restarted(o, other);
        CHECK(a.stats.cached_tokens == 0);
        check_same(a, cold(other));
    }
    SECTION("another KV type") {
        EngineOptions bf16 = o;
        bf16.kv_type = "bf16";
        const Answer a = restarted(bf16, request);
        CHECK(a.stats.cached_tokens == 0);
        CHECK(restarted(bf16, request).stats.cached_disk_tokens == 399);
    }
    SECTION("the same model under another path, context, threads, page order") {
        const std::string copy = test::temporary_folder("copy") + "/other.gguf";
        fs::copy_file(request.model_path, copy);
        Request moved = request;
        moved.model_path = copy;
        EngineOptions other = o;
        other.context_tokens = 512;
        other.n_threads = 1;
        other.permute_pages = true;
        other.isa = "scalar";
        const Answer a = restarted(other, moved);
        CHECK(a.stats.cached_disk_tokens == 399);
        check_same(a, cold(request));
    }
}

TEST_CASE("chats longer than the budget keep their beginning, and the budget holds",
          "[engine][disk][budget]") {
    const std::string folder = test::temporary_folder("disk");
    EngineOptions o = with_cache(folder);
    o.cache_budget_bytes = 3 * (4096 + 16 * 4096) + 2000;
    const Request request = raw_request("chat", tiny_ids(1500), 6);
    restarted(o, request);
    std::uintmax_t total = 0;
    for (const char* extension : {".kv", ".chat"}) {
        for (const std::string& path : files(folder, extension)) total += fs::file_size(path);
    }
    CHECK(total <= static_cast<std::uintmax_t>(o.cache_budget_bytes));
    const Answer a = restarted(o, request);
    CHECK(a.stats.cached_disk_tokens == 3 * 256);
    check_same(a, cold(request));
}

TEST_CASE("a folder that cannot be written is said once, and the chat goes on",
          "[engine][disk][trouble]") {
    const std::string folder = test::temporary_folder("disk");
    const Request request = raw_request("chat", tiny_ids(300), 6);
    const Answer reference = cold(request);
    EngineOptions o = with_cache(folder + "/file");
    std::ofstream(folder + "/file") << "no folder";
    EngineClient client(o);
    for (int i = 0; i < 3; ++i) {
        check_same(client.run(request), reference);
        client.run(raw_request("other", tiny_ids(300, i + 1), 2));
    }
    client.pump_until([&] { return !client.notes.empty(); });
    CHECK(client.notes.size() == 1);
    CHECK(client.notes[0].find("cannot be kept on disk") != std::string::npos);
}

TEST_CASE("a full disk is said once, what is there stays usable", "[engine][disk][trouble]") {
    const std::string folder = test::temporary_folder("disk");
    const EngineOptions o = with_cache(folder);
    const Request request = raw_request("chat", tiny_ids(300), 6);
    const Answer reference = restarted(o, request);
    const auto before = files(folder, ".kv");
    struct rlimit old = {};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
    {
        EngineClient client(o);
        const struct rlimit full { 10000, old.rlim_max };
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
        check_same(client.run(request), reference);
        client.run(raw_request("other", tiny_ids(300, 1), 2));
        client.pump_until([&] { return !client.notes.empty(); });
        client.run(raw_request("third", tiny_ids(300, 2), 2));
        client.pump();
        CHECK(client.notes.size() == 1);
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
    }
    CHECK(files(folder, ".kv") == before);
    CHECK(restarted(o, request).stats.cached_disk_tokens == 299);
}

TEST_CASE("stop while a chat is being read from disk", "[engine][disk][stop]") {
    const EngineOptions o = with_cache(test::temporary_folder("disk"));
    const Request request = raw_request("chat", tiny_ids(1900), 20);
    const Answer reference = restarted(o, request);
    EngineClient client(o);
    for (int i = 0; i < 20; ++i) {
        const RequestId id = client.submit(request);
        if (i % 2 == 1) client.pump_until([&] { return !client.answers[id].kinds.empty(); });
        client.engine().cancel(id);
        REQUIRE(client.wait_for(id).done);
        if (i % 5 == 4) client.engine().forget("nobody");
    }
    check_same(client.run(request), reference);
}

TEST_CASE("a pool too small for what is on disk computes with the same bits",
          "[engine][disk][memory]") {
    EngineOptions o = with_cache(test::temporary_folder("disk"));
    std::vector<Request> requests;
    for (int i = 0; i < 3; ++i) {
        requests.push_back(
            raw_request(std::string(1, static_cast<char>('a' + i)), tiny_ids(400, i), 30));
        restarted(o, requests.back());
    }
    o.kv_budget_bytes = 32 * 4096;
    o.context_tokens = 512;
    EngineClient tight(o);
    std::vector<RequestId> ids;
    for (const Request& r : requests) ids.push_back(tight.submit(r));
    for (std::size_t i = 0; i < requests.size(); ++i) {
        check_same(tight.wait_for(ids[i]), cold(requests[i]));
    }
}

TEST_CASE("a model that left memory reads its chats from disk when it comes back",
          "[engine][disk][unload]") {
    EngineOptions o = with_cache(test::temporary_folder("disk"));
    const Request request = raw_request("chat", tiny_ids(500), 6);
    const Answer reference = cold(request);
    SECTION("unloaded because nobody used it") {
        o.keep_alive_s = 0;
        EngineClient client(o);
        client.run(request);
        client.pump_until([&] { return client.unloaded.size() == 1; });
        const Answer a = client.run(request);
        CHECK(a.stats.cached_disk_tokens == 499);
        check_same(a, reference);
    }
    SECTION("for another model and back") {
        Request other = request;
        test::TinyOptions seeded;
        seeded.seed = 2;
        other.model_path = test::tiny_path("seed2", seeded);
        const Answer other_reference = cold(other);
        EngineClient client(o);
        for (int round = 0; round < 3; ++round) {
            const Answer a = client.run(request);
            CHECK(a.stats.cached_disk_tokens == (round == 0 ? 0 : 499));
            check_same(a, reference);
            const Answer b = client.run(other);
            CHECK(b.stats.cached_disk_tokens == (round == 0 ? 0 : 499));
            check_same(b, other_reference);
        }
    }
}

TEST_CASE("conversations in any order, across restarts, reuse all that was computed",
          "[engine][disk][law1][property]") {
    const EngineOptions o = with_cache(test::temporary_folder("disk"));
    std::vector<Request> chats;
    for (int i = 0; i < 4; ++i) {
        auto ids = tiny_ids(270, i / 2);  // two and two begin alike
        ids.push_back(20 + i);
        chats.push_back(raw_request("chat" + std::to_string(i), ids, 7));
    }
    std::vector<int> n_known(4, 0);
    unsigned state = 3;
    auto client = std::make_unique<EngineClient>(o);
    for (int step = 0; step < 24; ++step) {
        state = state * 1103515245u + 12345u;
        const std::size_t i = state / 65536 % 4;
        if (state / 131072 % 3 == 0) client = std::make_unique<EngineClient>(o);
        CAPTURE(step, i);
        Request& request = chats[i];
        const Answer a = client->run(request);
        CHECK(a.stats.cached_tokens >= n_known[i]);
        CHECK(a.stats.cached_tokens == a.stats.cached_ram_tokens + a.stats.cached_disk_tokens);
        check_same(a, cold(request));
        n_known[i] = static_cast<int>(request.raw_ids.size()) + 6;
        request = next_turn(request, a, 30, step);
    }
}

TEST_CASE("a thousand turns and a thousand stops leave pages, memory and files flat",
          "[engine][disk][soak]") {
    const std::string folder = test::temporary_folder("disk");
    EngineOptions o = with_cache(folder);
    o.cache_budget_bytes = 1 << 20;
    o.kv_budget_bytes = 128 * 4096;
    const int n_turns = 1000;
    EngineClient client(o);
    std::int64_t memory_bytes = 0;
    // Records come and go in the background: compare the most of each half, not two moments.
    std::size_t most_files[2] = {};
    for (int i = 0; i < n_turns; ++i) {
        Request request =
            raw_request("chat" + std::to_string(i % 50), tiny_ids(20 + i % 70, i % 97), 1 + i % 3);
        request.want_logits_hash = false;
        client.run(request);
        const RequestId id = client.submit(request);
        client.engine().cancel(id);
        client.wait_for(id);
        client.answers.clear();
        client.ended.clear();
        if (i == n_turns / 2) memory_bytes = resident_memory_bytes();
        std::size_t& most = most_files[i < n_turns / 2 ? 0 : 1];
        most = std::max(most, files(folder, ".kv").size() + files(folder, ".chat").size());
    }
    CHECK(client.engine().memory().pages_in_use <= 128);
#ifndef __SANITIZE_ADDRESS__  // it keeps what was freed
    CHECK(resident_memory_bytes() < memory_bytes + (8 << 20));
#endif
    CHECK(most_files[1] <= most_files[0] + most_files[0] / 2);
    for (int i = 0; i < 50; ++i) client.engine().forget("chat" + std::to_string(i));
    client.run(raw_request("last", tiny_ids(3), 1));
    client.engine().forget("last");
    client.pump_until(
        [&] { return client.engine().memory().pages_in_use == 0 && files(folder, ".kv").empty(); });
}

}  // namespace hearth
