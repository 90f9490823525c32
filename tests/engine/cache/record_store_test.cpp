#include "engine/cache/record_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/cache/record_rig.h"
#include "tests/support/gguf_writer.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using test::make_chain;
using test::Record;
using test::record_tokens;
using Put = RecordStore::Put;

constexpr Hash128 kIdentity{0x1111, 0x2222};
constexpr std::int64_t kBlockBytes = 4096 + 16 * 64;  ///< of a whole block with pages of 64 bytes

std::vector<Record> chain_of(int n_tokens, int salt, Hash128 identity = kIdentity) {
    return make_chain(identity, record_tokens(n_tokens, salt), 64);
}

/// As the writer does: the list, then the records.
void save(RecordStore& store, const std::string& conversation, const std::vector<Record>& chain,
          Hash128 identity = kIdentity) {
    std::vector<Hash128> own;
    for (const Record& r : chain) own.push_back(r.header.own);
    REQUIRE(store.claim(identity, conversation, own));
    for (const Record& r : chain) {
        const auto put = store.put(identity, r.name, r.bytes);
        REQUIRE(put);
        if (*put == Put::no_room) break;
        if (*put == Put::written) {
            store.supersede(identity, conversation, r.name, r.header.tokens);
        }
    }
    std::vector<RecordName> names;
    for (const Record& r : chain) names.push_back(r.name);
    store.mark_used(identity, names);
}

/// How many records of the chain are there, from its beginning; none may be there behind.
int n_there(const RecordStore& store, const std::vector<Record>& chain) {
    int n = 0;
    while (n < static_cast<int>(chain.size()) &&
           store.has(kIdentity, chain[static_cast<std::size_t>(n)].name)) {
        ++n;
    }
    for (auto i = static_cast<std::size_t>(n); i < chain.size(); ++i) {
        CHECK_FALSE(store.has(kIdentity, chain[i].name));
    }
    return n;
}

}  // namespace

TEST_CASE("records are stored once, for this user alone", "[record_store]") {
    const std::string folder = test::temporary_folder("store") + "/a/b";
    RecordStore store(folder, 1 << 20);
    CHECK(store.names(kIdentity).empty());
    CHECK(store.total_bytes() == 0);
    const auto chain = chain_of(600, 1);
    save(store, "one", chain);
    CHECK(n_there(store, chain) == 3);
    CHECK(store.names(kIdentity).size() == 3);
    CHECK(*store.put(kIdentity, chain[0].name, chain[0].bytes) == Put::present);
    for (const Record& r : chain) {
        const std::string path = store.path_of(kIdentity, r.name);
        struct stat status = {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777) == 0600);
        const auto file = RecordFile::open(path);
        REQUIRE(file);
        CHECK(file->header().own == r.header.own);
    }
    struct stat status = {};
    REQUIRE(::stat(folder.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK(store.names({3, 4}).empty());  // another identity has another folder
}

TEST_CASE("the budget holds, the end of what was unused for longest goes first", "[record_store]") {
    RecordStore store(test::temporary_folder("budget"), 8 * kBlockBytes);
    const auto a = chain_of(768, 1), b = chain_of(768, 2), c = chain_of(768, 3);
    save(store, "a", a);
    save(store, "b", b);
    CHECK(n_there(store, a) == 3);
    std::vector<RecordName> names;
    for (const Record& r : a) names.push_back(r.name);
    store.mark_used(kIdentity, names);  // b is the older one now
    save(store, "c", c);
    CHECK(store.total_bytes() <= store.budget_bytes());
    CHECK(n_there(store, c) == 3);
    CHECK(n_there(store, a) == 3);
    CHECK(n_there(store, b) < 3);
    SECTION("pruned to nothing") {
        const auto pruned = store.prune(0);
        REQUIRE(pruned);
        CHECK(store.names(kIdentity).empty());
    }
    SECTION("what is larger than the budget is not taken, nor anything evicted for it") {
        RecordStore small(test::temporary_folder("small"), 2 * kBlockBytes + 500);
        const auto d = chain_of(1024, 4);
        save(small, "d", d);
        CHECK(n_there(small, d) == 2);  // the third has no room: its beginning stays
        CHECK(*small.put(kIdentity, d[2].name, d[2].bytes) == Put::no_room);
        CHECK(small.total_bytes() <= small.budget_bytes());
        RecordStore tiny(test::temporary_folder("tiny"), 100);
        CHECK(*tiny.put(kIdentity, d[0].name, d[0].bytes) == Put::no_room);
    }
}

TEST_CASE("at every moment the budget holds and no record is without its beginning",
          "[record_store][property]") {
    RecordStore store(test::temporary_folder("random"), 12 * kBlockBytes);
    std::mt19937 random(5);
    std::vector<std::vector<Record>> chains;
    for (int i = 0; i < 6; ++i) {
        // Two of each have 256 tokens in common.
        auto tokens = record_tokens(256, i / 2);
        const auto rest = record_tokens(100 + 150 * i, 50 + i);
        tokens.insert(tokens.end(), rest.begin(), rest.end());
        chains.push_back(make_chain(kIdentity, tokens, 64));
    }
    for (int step = 0; step < 300; ++step) {
        const std::size_t i = random() % chains.size();
        const std::string name = "chat" + std::to_string(i);
        if (random() % 8 == 0)
            REQUIRE(store.forget(name));
        else
            save(store, name, chains[i]);
        CHECK(store.total_bytes() <= store.budget_bytes());
        for (const auto& chain : chains) n_there(store, chain);
    }
    for (std::size_t i = 0; i < chains.size(); ++i) {
        REQUIRE(store.forget("chat" + std::to_string(i)));
    }
    CHECK(store.records().empty());
    CHECK(store.total_bytes() == 0);  // the lists, too
}

TEST_CASE("a forgotten conversation takes along what no other one has", "[record_store]") {
    RecordStore store(test::temporary_folder("forget"), 1 << 20);
    auto tokens = record_tokens(700, 1);
    const auto a = make_chain(kIdentity, tokens, 64);
    tokens[300] = 7;  // leaves it in the second block
    const auto b = make_chain(kIdentity, tokens, 64);
    CHECK(a[0].header.own == b[0].header.own);
    save(store, "a", a);
    save(store, "b", b);
    CHECK(store.names(kIdentity).size() == 5);
    CHECK(*store.forget("a") == 2);
    CHECK(n_there(store, b) == 3);
    CHECK(n_there(store, a) == 1);
    CHECK(*store.forget("a") == 0);
    CHECK(*store.forget("b") == 3);
    CHECK(store.names(kIdentity).empty());
}

TEST_CASE("a text that grew replaces its shorter end", "[record_store]") {
    RecordStore store(test::temporary_folder("grow"), 1 << 20);
    const auto tokens = record_tokens(700, 1);
    const auto first = [&](int n) {
        return make_chain(kIdentity, {tokens.begin(), tokens.begin() + n}, 64);
    };
    save(store, "a", first(300));
    save(store, "a", first(310));
    save(store, "a", first(400));
    CHECK(store.names(kIdentity).size() == 2);
    save(store, "a", first(700));
    CHECK(store.names(kIdentity).size() == 3);
    SECTION("not what another conversation ends with") {
        save(store, "b", first(520));
        save(store, "a", first(700));
        CHECK(store.names(kIdentity).size() == 4);
    }
    SECTION("not another branch") {
        auto other = tokens;
        other[600] = 7;
        save(store, "a", make_chain(kIdentity, {other.begin(), other.begin() + 650}, 64));
        CHECK(store.names(kIdentity).size() == 4);
    }
}

TEST_CASE("what a killed writer left is removed, and never read", "[record_store][crash]") {
    const std::string folder = test::temporary_folder("left");
    RecordStore store(folder, 1 << 20);
    const auto a = chain_of(300, 1);
    save(store, "a", a);
    const std::string left = store.folder_of(kIdentity) + "/tmp-1-1";
    std::ofstream(left) << "half of a record";
    CHECK(store.names(kIdentity).size() == 2);
    save(store, "b", chain_of(300, 2));
    CHECK_FALSE(fs::exists(left));
    CHECK(store.names(kIdentity).size() == 4);
}

TEST_CASE("several processes write one folder and the budget holds", "[record_store][processes]") {
    const std::string folder = test::temporary_folder("processes");
    constexpr std::int64_t kBudget = 10 * kBlockBytes;
    std::vector<pid_t> children;
    for (int child = 0; child < 4; ++child) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            RecordStore store(folder, kBudget);
            bool good = true;
            for (int i = 0; i < 25 && good; ++i) {
                for (const Record& r : chain_of(600, i % 5 + child)) {
                    good = good && store.put(kIdentity, r.name, r.bytes).has_value();
                    good = good && store.total_bytes() <= kBudget;
                }
            }
            ::_exit(good ? 0 : 1);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) {
        int status = 0;
        REQUIRE(::waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
    RecordStore store(folder, kBudget);
    CHECK_FALSE(store.records().empty());
    for (const RecordStore::Record& r : store.records()) {
        const auto file = RecordFile::open(r.path());
        REQUIRE(file);
        std::vector<std::uint8_t> pages(static_cast<std::size_t>(file->header().n_pages()) * 64);
        CHECK(file->read_pages(0, file->header().n_pages(), pages));
    }
}

TEST_CASE("kill -9 while records are written leaves whole ones only", "[record_store][crash]") {
    const std::string folder = test::temporary_folder("kill");
    for (int round = 0; round < 12; ++round) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            RecordStore store(folder, 1 << 24);
            for (int i = 0;; ++i) {
                for (const Record& r : chain_of(600, round * 1000 + i)) {
                    (void)store.put(kIdentity, r.name, r.bytes);
                }
            }
        }
        ::usleep(static_cast<unsigned>(1000 * (3 + round * 2)));
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
    RecordStore store(folder, 1 << 24);
    for (const RecordStore::Record& r : store.records()) {
        const auto file = RecordFile::open(r.path());
        REQUIRE(file);
        std::vector<std::uint8_t> pages(static_cast<std::size_t>(file->header().n_pages()) * 64);
        CHECK(file->read_pages(0, file->header().n_pages(), pages));
    }
    save(store, "a", chain_of(300, -1));  // the lock is free again
    for (const FileInfo& f : list_folder(store.folder_of(kIdentity))) {
        CHECK_FALSE(is_temporary(f.name));
    }
}

TEST_CASE("a folder that cannot be written is a sentence", "[record_store][trouble]") {
    const std::string folder = test::temporary_folder("trouble");
    std::ofstream(folder + "/file") << "not a folder";
    RecordStore store(folder + "/file", 1 << 20);
    const auto a = chain_of(100, 1);
    const auto put = store.put(kIdentity, a[0].name, a[0].bytes);
    REQUIRE_FALSE(put);
    CHECK(put.error().what.find("cannot be kept on disk") != std::string::npos);
    CHECK_FALSE(store.claim(kIdentity, "a", {}));
    CHECK(store.names(kIdentity).empty());
    CHECK(*store.forget("a") == 0);
    CHECK(*store.clear() == 0);
}

TEST_CASE("clear removes what is ours and nothing else", "[record_store]") {
    const std::string folder = test::temporary_folder("clear");
    RecordStore store(folder, 1 << 20);
    save(store, "a", chain_of(300, 1));
    save(store, "a", chain_of(300, 1, {5, 6}), {5, 6});
    std::ofstream(folder + "/kv/mine.txt") << "a";
    std::ofstream(store.folder_of(kIdentity) + "/mine.txt") << "a";
    CHECK(*store.clear() == 4);
    CHECK(store.records().empty());
    CHECK(fs::exists(folder + "/kv/mine.txt"));
    CHECK(fs::exists(store.folder_of(kIdentity) + "/mine.txt"));
    CHECK_FALSE(fs::exists(store.folder_of({5, 6})));
}

}  // namespace hearth
