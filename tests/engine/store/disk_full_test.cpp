// A disk that fails at every single write, in turn.
#include <optional>

#include "tests/engine/store/faulty_disk.h"
#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

/// What the store said was committed.
struct Committed {
    std::optional<ConversationId> chat;
    std::optional<MessageId> question, answer;
    std::string text;
    bool ended = false;
    int n_errors = 0;
    std::string last_error;
};

/// The value, counting errors instead of failing.
template <typename T>
bool worked(const Result<T>& result, Committed& so_far) {
    if (result) return true;
    ++so_far.n_errors;
    so_far.last_error = result.error().what;
    return false;
}

/// One turn as the program does it; each step is tried again once, as after a user's "try again".
void one_turn(Store& store, Committed& done) {
    if (!done.chat)
        if (const auto chat = store.create("tiny"); worked(chat, done)) done.chat = *chat;
    if (!done.chat) return;
    if (!done.question)
        if (const auto q = store.append(*done.chat, message(0, "user", std::string(9000, 'q')));
            worked(q, done))
            done.question = *q;
    if (!done.question) return;
    if (!done.answer)
        if (const auto a = store.append(
                *done.chat, message(*done.question, "assistant", "", MessageState::streaming));
            worked(a, done))
            done.answer = *a;
    if (!done.answer) return;
    for (int i = 0; i < 5; ++i) {
        const std::string piece(2000, static_cast<char>('a' + i));
        if (worked(store.extend(*done.answer, piece, {i}), done)) done.text += piece;
    }
    if (!done.ended)
        done.ended =
            worked(store.finish(*done.answer, MessageState::complete, "stop", "", ""), done);
}

void check_committed(Store& store, const Committed& done) {
    REQUIRE(done.ended);
    const auto messages = must(store.path(*done.chat));
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].content == std::string(9000, 'q'));
    CHECK(messages[1].content == done.text);
    CHECK(messages[1].state == MessageState::complete);
    CHECK(must(store.list(100)).size() >= 1);
    must(store.check_integrity());
}

}  // namespace

TEST_CASE("a disk that is full at any write gives an error and loses nothing", "[store][disk]") {
    const int code = GENERATE(SQLITE_FULL, SQLITE_IOERR_WRITE);
    const bool is_checkpoint_due = GENERATE(false, true);
    for (int n_writes = 0; n_writes < 400; n_writes += is_checkpoint_due ? 5 : 1) {
        INFO("fails after " << n_writes << " writes with " << code);
        TempFolder folder;
        FaultyDisk disk;
        const std::string path = folder / "hearth.db";
        auto store = open_store(path);
        const auto [before, question] =
            ask(*store, std::string(is_checkpoint_due ? 5'000'000 : 10, 'b'));
        Committed done;
        disk.fail_after(n_writes, code);
        one_turn(*store, done);
        const int n_failed = disk.n_failed();
        if (done.n_errors > 0) {
            CHECK_THAT(done.last_error, Catch::Contains(path));
            if (code == SQLITE_FULL && done.n_errors > 1)
                CHECK_THAT(done.last_error,
                           Catch::Contains("disk is full") || Catch::Contains("error"));
        }
        // Reading goes on while the disk is full,
        CHECK(must(store->path(before)).size() == 1);
        disk.heal();
        // and writing afterwards, without opening anew.
        one_turn(*store, done);
        check_committed(*store, done);
        store.reset();
        check_committed(*open_store(path), done);
        if (n_failed == 0) return;  // past the last write: all cases seen
    }
    FAIL("more writes than this test expects");
}

TEST_CASE("a disk that is full when the database is made", "[store][disk]") {
    for (int n_writes = 0; n_writes < 200; ++n_writes) {
        INFO("fails after " << n_writes << " writes");
        TempFolder folder;
        FaultyDisk disk;
        const std::string path = folder / "hearth.db";
        disk.fail_after(n_writes, SQLITE_FULL);
        const auto first = Store::open(path);
        const int n_failed = disk.n_failed();
        if (!first) CHECK_THAT(first.error().what, Catch::Contains(path));
        disk.heal();
        auto store = open_store(path);
        ask(*store, "q");
        must(store->check_integrity());
        if (n_failed == 0) return;
    }
    FAIL("more writes than this test expects");
}

}  // namespace hearth
