// Random operations on a store and on a plain model of it: both must say the same all the time.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/engine/store/store_fixture.h"

namespace hearth {
namespace {

struct ModelMessage {
    MessageId parent = 0;
    std::string content;
    std::size_t n_ids = 0;
    bool streaming = false;
};

struct ModelChat {
    std::map<MessageId, ModelMessage> messages;
    MessageId leaf = 0;
    bool deleted = false, pinned = false, archived = false;
};

/// A store and its model; every operation is done to both.
class Twins {
  public:
    explicit Twins(unsigned seed) : random_(seed) {}

    void step() {
        switch (pick(16)) {
            case 0:
                return create();
            case 1:
            case 2:
            case 3:
            case 4:
                return append(MessageState::complete);
            case 5:
                return append(MessageState::streaming);
            case 6:
            case 7:
                return extend();
            case 8:
                return finish();
            case 9:
                return set_leaf();
            case 10:
            case 11:
                return show_branch();
            case 12:
                return fork();
            case 13:
                return remove_or_restore();
            case 14:
                return flags();
            default:
                return import();
        }
    }

    void check_one() {
        if (chats_.empty()) return;
        const auto& [id, chat] = any_chat();
        check_path(id, chat);
        check_tree(id, chat);
        check_find(id, chat);
    }

    void check_all() {
        for (const auto& [id, chat] : chats_) check_path(id, chat);
        for (const ChatFolder folder :
             {ChatFolder::shown, ChatFolder::archived, ChatFolder::trash}) {
            std::vector<ConversationId> expected, found;
            for (const auto& [id, chat] : chats_)
                if (folder == ChatFolder::trash
                        ? chat.deleted
                        : !chat.deleted && chat.archived == (folder == ChatFolder::archived))
                    expected.push_back(id);
            for (const Conversation& c : must(store_->list(1'000'000, 0, folder)))
                found.push_back(c.id);
            std::sort(found.begin(), found.end());
            CHECK(found == expected);
        }
        must(store_->check_integrity());
    }

  private:
    std::size_t pick(std::size_t n) { return random_() % n; }

    std::pair<const ConversationId, ModelChat>& any_chat() {
        return *std::next(chats_.begin(), static_cast<std::ptrdiff_t>(pick(chats_.size())));
    }
    MessageId any_message(const ModelChat& chat) {
        if (chat.messages.empty()) return 0;
        return std::next(chat.messages.begin(),
                         static_cast<std::ptrdiff_t>(pick(chat.messages.size())))
            ->first;
    }
    std::string word() { return fmt::format("w{} ", pick(500)); }

    void create() {
        if (chats_.size() > 60) return purge();
        chats_[must(store_->create("tiny"))];
    }
    void purge() {
        auto& [id, chat] = any_chat();
        const ConversationId gone = id;
        const auto purged = store_->purge(gone);
        REQUIRE(purged.has_value() == chat.deleted);
        if (purged) chats_.erase(gone);
    }
    void append(MessageState state) {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        const MessageId parent = pick(3) == 0 ? 0 : pick(2) ? chat.leaf : any_message(chat);
        StoredMessage m = message(parent, pick(2) ? "user" : "assistant", word(), state);
        const auto added = store_->append(id, m);
        REQUIRE(added.has_value() == !chat.deleted);
        if (!added) return;
        chat.messages[*added] = {parent, m.content, 0, state == MessageState::streaming};
        chat.leaf = *added;
    }
    void extend() {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        const MessageId at = any_message(chat);
        if (at == 0) return;
        ModelMessage& m = chat.messages[at];
        const std::string more = word();
        const bool done = store_->extend(at, more, {7}).has_value();
        REQUIRE(done == m.streaming);
        if (done) m.content += more, ++m.n_ids;
    }
    void finish() {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        const MessageId at = any_message(chat);
        if (at == 0) return;
        ModelMessage& m = chat.messages[at];
        REQUIRE(store_->finish(at, MessageState::complete, "stop", "", "").has_value() ==
                m.streaming);
        m.streaming = false;
    }
    void set_leaf() {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        chat.leaf = pick(8) == 0 ? 0 : any_message(chat);
        must(store_->set_active_leaf(id, chat.leaf));
    }
    MessageId end_of(const ModelChat& chat, MessageId at) {
        for (bool went = true; went;) {
            went = false;
            for (auto m = chat.messages.rbegin(); m != chat.messages.rend() && !went; ++m)
                if (m->second.parent == at) at = m->first, went = true;
        }
        return at;
    }
    void show_branch() {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        const MessageId at = any_message(chat);
        if (at == 0) return;
        chat.leaf = must(store_->show_branch(id, at));
        CHECK(chat.leaf == end_of(chat, at));
    }
    void fork() {
        if (chats_.empty() || chats_.size() > 60) return create();
        auto& [id, chat] = any_chat();
        const MessageId at = any_message(chat);
        if (at == 0 || chat.deleted) return;
        const std::vector<MessageId> path = path_of(chat, at);
        const ConversationId copy = must(store_->fork(id, at));
        const auto messages = must(store_->path(copy));
        REQUIRE(messages.size() == path.size());
        ModelChat made;
        for (std::size_t i = 0; i < path.size(); ++i) {
            ModelMessage m = chat.messages[path[i]];
            m.parent = made.leaf;
            m.streaming = false;
            made.leaf = messages[i].id;
            made.messages[made.leaf] = m;
        }
        chats_[copy] = made;
    }
    void remove_or_restore() {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        if (chat.deleted)
            must(store_->restore(id));
        else
            must(store_->remove(id));
        chat.deleted = !chat.deleted;
    }
    void flags() {
        if (chats_.empty()) return create();
        auto& [id, chat] = any_chat();
        must(store_->set_pinned(id, chat.pinned = pick(2) != 0));
        must(store_->set_archived(id, chat.archived = pick(2) != 0));
    }
    /// One of five foreign chats, grown since the last time or not.
    void import() {
        const std::size_t which = pick(5);
        PortableChat& foreign = foreign_[which];
        foreign.origin = fmt::format("elsewhere:{}", which);
        const std::size_t n_new = pick(3);
        for (std::size_t i = 0; i < n_new; ++i) {
            PortableMessage m;
            m.origin = std::to_string(foreign.messages.size());
            m.parent = static_cast<int>(pick(foreign.messages.size() + 1)) - 1;
            m.message = message(0, "user", word());
            foreign.messages.push_back(std::move(m));
        }
        const ImportOutcome outcome = must(store_->import_chat(foreign));
        const bool is_known = chats_.count(outcome.id) != 0;
        REQUIRE(outcome.is_new == !is_known);
        ModelChat& chat = chats_[outcome.id];
        CHECK(outcome.in_trash == chat.deleted);
        if (chat.deleted) {
            CHECK(outcome.n_added == 0);
            return;
        }
        std::vector<MessageId>& ids = imported_[outcome.id];
        CHECK(outcome.n_added == static_cast<int>(foreign.messages.size() - ids.size()));
        if (outcome.n_added == 0) return;
        for (const TreeEntry& entry : must(store_->tree(outcome.id))) {
            if (chat.messages.count(entry.id) != 0) continue;
            const PortableMessage& m = foreign.messages[ids.size()];
            ids.push_back(entry.id);
            const MessageId parent = m.parent < 0 ? 0 : ids[static_cast<std::size_t>(m.parent)];
            CHECK(entry.parent == parent);
            chat.messages[entry.id] = {parent, m.message.content, 0, false};
        }
        chat.leaf = ids.back();
    }

    static std::vector<MessageId> path_of(const ModelChat& chat, MessageId leaf) {
        std::vector<MessageId> path;
        for (MessageId at = leaf; at != 0; at = chat.messages.at(at).parent) path.push_back(at);
        std::reverse(path.begin(), path.end());
        return path;
    }
    void check_path(ConversationId id, const ModelChat& chat) {
        const auto found = must(store_->path(id));
        const auto expected = path_of(chat, chat.leaf);
        REQUIRE(found.size() == expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            const ModelMessage& m = chat.messages.at(expected[i]);
            REQUIRE(found[i].id == expected[i]);
            CHECK(found[i].content == m.content);
            CHECK(found[i].token_ids.size() == m.n_ids);
            int n_siblings = 0, place = 0;
            for (const auto& [other, sibling] : chat.messages)
                if (sibling.parent == m.parent) {
                    ++n_siblings;
                    if (other <= expected[i]) ++place;
                }
            CHECK(found[i].n_versions == n_siblings);
            CHECK(found[i].version == place);
        }
    }
    void check_tree(ConversationId id, const ModelChat& chat) {
        const auto tree = must(store_->tree(id));
        REQUIRE(tree.size() == chat.messages.size());
        const auto shown = path_of(chat, chat.leaf);
        for (const TreeEntry& entry : tree) {
            CHECK(entry.parent == chat.messages.at(entry.id).parent);
            CHECK(entry.shown == (std::find(shown.begin(), shown.end(), entry.id) != shown.end()));
        }
    }
    void check_find(ConversationId id, const ModelChat& chat) {
        const MessageId at = any_message(chat);
        if (at == 0) return;
        const std::string& needle = chat.messages.at(at).content;
        std::vector<MessageId> in_chat;
        for (const auto& [other, m] : chat.messages)
            if (m.content.find(needle) != std::string::npos) in_chat.push_back(other);
        CHECK(must(store_->find_in_chat(id, needle)) == in_chat);
        bool found = false;
        for (const SearchHit& hit : must(store_->find_text(needle, 1000)))
            found = found || hit.chat.id == id;
        CHECK(found == !chat.deleted);
    }

    std::unique_ptr<Store> store_ = must(Store::in_memory());
    std::mt19937 random_;
    std::map<ConversationId, ModelChat> chats_;
    std::map<std::size_t, PortableChat> foreign_;
    std::map<ConversationId, std::vector<MessageId>> imported_;
};

}  // namespace

TEST_CASE("a store and a plain model of it stay equal", "[store][property]") {
    const int n_steps = std::getenv("HEARTH_TEST_FULL") != nullptr ? 1'000'000 : 10'000;
    constexpr int kStepsOfOne = 2'500;  // trees stay small enough for a slow model
    for (int done = 0; done < n_steps; done += kStepsOfOne) {
        Twins twins(static_cast<unsigned>(done) + 1);
        for (int i = 0; i < kStepsOfOne; ++i) {
            twins.step();
            if (i % 10 == 0) twins.check_one();
        }
        twins.check_all();
    }
}

}  // namespace hearth
