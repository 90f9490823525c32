// Processes that die and processes that write at once.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

/// Runs `work` in a process of its own, which leaves without any cleaning up.
pid_t start_process(const std::function<int()>& work) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) ::_exit(work());
    return pid;
}

/// The exit code, or 128 + signal.
int wait_for(pid_t pid) {
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class Pipe {
  public:
    Pipe() { REQUIRE(::pipe(ends_) == 0); }
    ~Pipe() {
        ::close(ends_[0]);
        if (ends_[1] >= 0) ::close(ends_[1]);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void write_byte() const {
        if (::write(ends_[1], "x", 1) != 1) ::_exit(9);
    }
    void write_text(const std::string& text) const {
        if (::write(ends_[1], text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            ::_exit(9);
    }
    void read_byte() const {
        char byte = 0;
        REQUIRE(::read(ends_[0], &byte, 1) == 1);
    }
    void close_writing_end() { ::close(std::exchange(ends_[1], -1)); }
    std::string read_all() const {
        std::string text;
        char buffer[4096];
        for (ssize_t n = 0; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        return text;
    }

  private:
    int ends_[2] = {-1, -1};
};

/// Chats until it is killed. After each commit it reports: Q question, A answer begun, t one piece
/// of the answer, F answer ended.
int chat_until_killed(const std::string& path, const Pipe& committed) {
    auto store = Store::open(path);
    if (!store) return 1;
    for (int turn = 0;; ++turn) {
        const auto chat = (*store)->create("tiny");
        if (!chat) return 2;
        const auto question = (*store)->append(*chat, message(0, "user", "question"));
        if (!question) return 3;
        committed.write_text("Q");
        const auto answer =
            (*store)->append(*chat, message(*question, "assistant", "", MessageState::streaming));
        if (!answer) return 4;
        committed.write_text("A");
        for (int i = 0; i < 12; ++i) {
            if (!(*store)->extend(*answer, fmt::format("{},", i), {i})) return 5;
            committed.write_text("t");
        }
        if (!(*store)->finish(*answer, MessageState::complete, "stop", "", "")) return 6;
        committed.write_text("F");
    }
}

/// Texts "0,1,…,n-1," and ids 0 … n-1 for the n pieces of an answer.
void check_answer(const StoredMessage& answer, std::size_t at_least, std::size_t at_most) {
    const std::size_t n = answer.token_ids.size();
    CHECK(n >= at_least);
    CHECK(n <= at_most);
    std::string text;
    for (std::size_t i = 0; i < n; ++i) {
        text += fmt::format("{},", i);
        CHECK(answer.token_ids[i] == static_cast<std::int32_t>(i));
    }
    CHECK(answer.content == text);
}

/// Every chat that was reported is there, with every piece that was reported. `already` chats are
/// older.
void check_nothing_is_missing(Store& store, std::size_t already, const std::string& reported) {
    auto chats = must(store.list(1'000'000));
    // By age, not by time of change: the machine's clock may be set back while this runs.
    std::sort(chats.begin(), chats.end(),
              [](const Conversation& a, const Conversation& b) { return a.id > b.id; });
    std::size_t n_questions = 0, n_pieces = 0;
    bool has_begun = false, has_ended = false;
    for (const char c : reported) {
        if (c == 'Q') ++n_questions, n_pieces = 0, has_begun = has_ended = false;
        if (c == 'A') has_begun = true;
        if (c == 't') ++n_pieces;
        if (c == 'F') has_ended = true;
    }
    REQUIRE(chats.size() >= already + n_questions);
    REQUIRE(chats.size() <= already + n_questions + 1);
    for (std::size_t turn = 0; turn < n_questions; ++turn) {
        const Conversation& chat = chats[chats.size() - 1 - already - turn];
        const bool is_last = turn + 1 == n_questions;
        const auto messages = must(store.path(chat.id));
        REQUIRE(messages.size() >= (is_last && !has_begun ? 1 : 2));
        CHECK(messages[0].content == "question");
        if (messages.size() < 2) continue;
        check_answer(messages[1], is_last ? n_pieces : 12, 12);
        if (!is_last || has_ended)
            CHECK(messages[1].state == MessageState::complete);
        else
            CHECK((messages[1].state == MessageState::stopped ||
                   (n_pieces == 12 && messages[1].state == MessageState::complete)));
    }
}

}  // namespace

TEST_CASE("kill -9 while streaming loses nothing that was committed", "[store][kill]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    const int n_kills = std::getenv("HEARTH_TEST_FULL") != nullptr ? 50 : 20;
    std::mt19937 random(20261130);
    std::uniform_int_distribution<useconds_t> moment_us(5'000, 65'000);
    std::size_t already = 0;
    for (int kill = 0; kill < n_kills; ++kill) {
        Pipe committed;
        const pid_t pid = start_process([&] { return chat_until_killed(path, committed); });
        committed.close_writing_end();
        ::usleep(moment_us(random));
        ::kill(pid, SIGKILL);
        const std::string reported = committed.read_all();
        REQUIRE(wait_for(pid) == 128 + SIGKILL);
        INFO("kill " << kill << ": " << reported);
        auto store = open_store(path);
        must(store->check_integrity());
        check_nothing_is_missing(*store, already, reported);
        already = must(store->list(1'000'000)).size();
    }
    CHECK(already > 0);
}

TEST_CASE("answers of the dead are stopped, those of the living are not", "[store][kill]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    auto reader = open_store(path);
    const auto [chat, question] = ask(*reader, "q");
    Pipe ready;
    const pid_t pid = start_process([&, chat = chat, question = question] {
        auto store = Store::open(path);
        if (!store) return 1;
        const auto answer =
            (*store)->append(chat, message(question, "assistant", "", MessageState::streaming));
        if (!answer || !(*store)->extend(*answer, "half", {1})) return 2;
        ready.write_byte();
        ::pause();
        return 0;
    });
    ready.read_byte();
    {
        auto beside = open_store(path);  // the writer lives
        CHECK(beside->notices().empty());
        CHECK(must(beside->path(chat)).back().state == MessageState::streaming);
    }
    ::kill(pid, SIGKILL);
    wait_for(pid);
    // A store that is open for long sees it at once,
    CHECK(must(reader->path(chat)).back().state == MessageState::stopped);
    // and the next one that opens writes it down and says so, once.
    auto next = open_store(path);
    REQUIRE(next->notices().size() == 1);
    CHECK_THAT(next->notices()[0], Catch::Contains("cut off"));
    const StoredMessage answer = must(next->path(chat)).back();
    CHECK(answer.state == MessageState::stopped);
    CHECK(answer.finish_reason == "interrupted");
    CHECK(answer.content == "half");
    CHECK(answer.token_ids == std::vector<std::int32_t>{1});
    CHECK(!next->extend(answer.id, "more", {}));
    CHECK(open_store(path)->notices().empty());
    must(next->check_integrity());
}

TEST_CASE("many processes make one database at once", "[store][kill]") {
    TempFolder folder;
    for (int round = 0; round < 40; ++round) {
        const std::string path = folder / fmt::format("{}.db", round);
        Pipe start;
        std::vector<pid_t> pids;
        for (int p = 0; p < 5; ++p)
            pids.push_back(start_process([&] {
                start.close_writing_end();
                start.read_all();  // all begin when the parent closes its end
                auto store = Store::open(path);
                if (!store) {
                    (void)!::write(2, store.error().what.data(), store.error().what.size());
                    return 1;
                }
                return (*store)->create("tiny") ? 0 : 2;
            }));
        start.close_writing_end();
        INFO("round " << round);
        for (const pid_t pid : pids) CHECK(wait_for(pid) == 0);
        auto store = open_store(path);
        CHECK(must(store->list(100)).size() == 5);
        CHECK(store->notices().empty());
        must(store->check_integrity());
    }
}

TEST_CASE("two processes write at once, both whole", "[store][kill]") {
    TempFolder folder;
    const std::string path = folder / "hearth.db";
    constexpr int kProcesses = 3, kTurns = 15, kPieces = 8;
    std::vector<pid_t> pids;
    // All find no file: they also race to make it.
    for (int p = 0; p < kProcesses; ++p)
        pids.push_back(start_process([&] {
            auto store = Store::open(path);
            if (!store) return 1;
            const auto chat = (*store)->create("tiny");
            if (!chat) return 2;
            MessageId last = 0;
            for (int turn = 0; turn < kTurns; ++turn) {
                const auto question = (*store)->append(*chat, message(last, "user", "q"));
                if (!question) return 3;
                const auto answer = (*store)->append(
                    *chat, message(*question, "assistant", "", MessageState::streaming));
                if (!answer) return 4;
                for (int i = 0; i < kPieces; ++i)
                    if (!(*store)->extend(*answer, fmt::format("{},", i), {i})) return 5;
                if (!(*store)->finish(*answer, MessageState::complete, "stop", "", "")) return 6;
                if ((*store)->path(*chat)->size() != static_cast<std::size_t>(turn + 1) * 2)
                    return 7;
                last = *answer;
            }
            return 0;
        }));
    for (const pid_t pid : pids) CHECK(wait_for(pid) == 0);
    auto store = open_store(path);
    CHECK(store->notices().empty());
    const auto chats = must(store->list(100));
    REQUIRE(chats.size() == kProcesses);
    for (const Conversation& chat : chats) {
        const auto messages = must(store->path(chat.id));
        REQUIRE(messages.size() == 2 * kTurns);
        for (std::size_t i = 1; i < messages.size(); i += 2)
            check_answer(messages[i], kPieces, kPieces);
    }
    must(store->check_integrity());
}

}  // namespace hearth
