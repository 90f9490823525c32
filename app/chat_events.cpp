// ChatController's other half: engine events into ViewState, and the answer into the Store.

#include <algorithm>

#include <unistd.h>

#include "app/chat_controller.h"
#include "app/chat_turn.h"

namespace hearth {
namespace {

/// How much of a streamed answer a crash may take (law 2).
constexpr auto kSaveInterval = std::chrono::milliseconds(800);
/// Of the context: from here on the user is warned that it gets full.
constexpr int kNearlyFullPercent = 85;

void append(std::vector<std::int32_t>& to, const std::vector<std::int32_t>& ids) {
    to.insert(to.end(), ids.begin(), ids.end());
}

}  // namespace

/// One overload per event and no catch-all: a new event does not compile until it is handled.
struct ChatController::Fold {
    ChatController& c;

    bool is_mine(RequestId id) const { return c.turn_ && c.turn_->id == id; }

    void operator()(event::Queued& e) const {
        if (!is_mine(e.id)) return;
        c.view_.phase = Phase::queued;
        c.view_.queued_reason = std::move(e.reason);
    }
    void operator()(event::Loading& e) const {
        if (!is_mine(e.id)) return;
        c.view_.phase = Phase::loading;
        c.view_.loading_percent = e.percent;
        c.view_.model_loaded = false;
    }
    void operator()(event::Loaded& e) const {
        if (!is_mine(e.id)) return;
        c.view_.model_loaded = true;
        for (std::string& sentence : e.notes) c.note(std::move(sentence));
    }
    void operator()(event::LeftOut& e) const {
        if (!is_mine(e.id)) return;
        ContextCut& cut = c.turn_->cut;
        const auto& begins = c.turn_->begins;
        const auto first = static_cast<std::size_t>(e.first);
        const auto last = first + static_cast<std::size_t>(e.n);
        if (last >= begins.size()) return;
        cut.begin = cut.empty() ? begins[first] : std::min(cut.begin, begins[first]);
        cut.end = begins[last];
        c.view_.unseen_begin = cut.begin;
        c.view_.unseen_end = cut.end;
        c.note(
            fmt::format("the model does not see messages {} to {} of this chat any more: {} "
                        "tokens are more than the context of {} holds with room for an answer. "
                        "They stay in the chat.",
                        cut.begin + 1, cut.end, e.tokens, e.context));
    }
    void operator()(event::Prefill& e) const {
        if (!is_mine(e.id)) return;
        c.view_.phase = Phase::prefill;
        c.view_.prefill_done = e.done;
        c.view_.prefill_total = e.total;
        c.view_.cached_tokens = e.cached;
    }
    void operator()(event::Text& e) const {
        if (!is_mine(e.id)) return;
        c.view_.phase = Phase::decoding;
        c.view_.answer += e.text;
        append(c.view_.answer_ids, e.token_ids);
        c.turn_->unsaved_text += e.text;
        append(c.turn_->unsaved_ids, e.token_ids);
        c.flush(c.turn_->row == 0);
    }
    void operator()(event::Done& e) const {
        if (!is_mine(e.id)) return;
        const bool was_stopped = e.reason == FinishReason::stopped;
        const TurnResult result{e.reason, std::move(e.stats), c.turn_->seed, std::nullopt};
        c.finish(was_stopped ? MessageState::stopped : MessageState::complete, result,
                 e.tokenizer_hash);
    }
    void operator()(event::Failed& e) const {
        if (!is_mine(e.id)) return;
        const TurnResult result{FinishReason::error, Stats{}, c.turn_->seed, std::move(e.error)};
        c.finish(MessageState::failed, result, "");
    }
    void operator()(event::Note& e) const { c.note(std::move(e.text)); }
    void operator()(event::Unloaded& e) const {
        if (e.model_path == c.view_.model_path) c.view_.model_loaded = false;
    }
};

/// Into the chat that the event belongs to.
void ChatController::fold(Event& event) {
    const RequestId id = std::visit(
        [](const auto& e) -> RequestId {
            if constexpr (requires { e.id; }) return e.id;
            return 0;
        },
        event);
    ParkedTurn* owner = nullptr;
    for (const auto& parked : parked_) {
        if (parked->turn->id == id) owner = parked.get();
    }
    if (owner != nullptr) swap_with(*owner);
    std::visit(Fold{*this}, event);
    if (owner == nullptr) return;
    swap_with(*owner);
    drop_ended();
}

bool ChatController::pump(int timeout_ms) {
    if (!engine_) return false;
    std::vector<Event> events = engine_->poll();
    if (events.empty() && timeout_ms > 0 && engine_->wait(timeout_ms)) events = engine_->poll();
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(event_fd_, &count, sizeof count);
    // What came between poll and read has no wake-up of its own any more.
    for (Event& late : engine_->poll()) events.push_back(std::move(late));
    for (Event& e : events) fold(e);
    if (turn_) flush(false);
    for (const auto& parked : parked_) {
        swap_with(*parked);
        flush(false);
        swap_with(*parked);
    }
    return !events.empty();
}

/// Makes the row of the answer with all that is there so far.
Result<void> ChatController::store_answer(MessageState state) {
    StoredMessage answer;
    answer.parent = turn_->parent;
    answer.role = "assistant";
    answer.content = view_.answer;
    if (turn_->continues) answer.token_ids = turn_->continues->token_ids;
    append(answer.token_ids, view_.answer_ids);
    answer.state = state;
    answer.model = view_.model_name;
    answer.params_json = turn_->params_json;
    HEARTH_TRY(turn_->row, store_->append(view_.chat.id, answer));
    return {};
}

void ChatController::flush(bool force) {
    const auto now = std::chrono::steady_clock::now();
    const bool has_news = !turn_->unsaved_text.empty() || !turn_->unsaved_ids.empty();
    const bool is_due = force || now - turn_->last_save >= kSaveInterval;
    if (!turn_->raw_ids.empty() || !has_news || !is_due) return;
    turn_->last_save = now;
    const Result<void> saved =
        turn_->row == 0 ? store_answer(MessageState::streaming)
                        : store_->extend(turn_->row, turn_->unsaved_text, turn_->unsaved_ids);
    if (saved) {
        turn_->unsaved_text.clear();
        turn_->unsaved_ids.clear();
    } else if (!turn_->told_about_store) {
        turn_->told_about_store = true;
        note(fmt::format("the answer is not on disk yet ({}); it is tried again every second",
                         saved.error().what));
    }
}

void ChatController::warn_of_full_context(const Stats& stats) {
    const bool nearly_full = stats.context_tokens > 0 &&
                             100 * stats.context_used >= kNearlyFullPercent * stats.context_tokens;
    if (!nearly_full || warned_chat_ == view_.chat.id ||
        resolve_settings(layers_).context_policy != ContextPolicy::stop) {
        return;
    }
    warned_chat_ = view_.chat.id;
    note(fmt::format(
        "the context is {} % full ({} of {} tokens). When it is full this chat stops; "
        "--context-policy drop-oldest (/context policy drop-oldest) goes on without "
        "its oldest messages, --ctx makes it larger",
        100 * stats.context_used / stats.context_tokens, stats.context_used, stats.context_tokens));
}

void ChatController::finish(MessageState state, const TurnResult& result,
                            const std::string& tokenizer_hash) {
    flush(true);
    Result<void> saved;
    if (turn_->raw_ids.empty()) {
        // Stopped before the first word: nothing to keep. A failure is a row that says so.
        const bool has_row = turn_->row != 0;
        if (!has_row && (state != MessageState::stopped || !view_.answer_ids.empty())) {
            saved = store_answer(MessageState::streaming);
        }
        if (saved && turn_->row != 0) {
            std::pair<MessageId, MessageId> unseen;
            if (const ContextCut& cut = turn_->cut;
                !cut.empty() && cut.end <= view_.messages.size())
                unseen = {view_.messages[cut.begin].id, view_.messages[cut.end - 1].id};
            saved = store_->finish(
                turn_->row, state, finish_reason_name(result.reason), tokenizer_hash,
                stats_to_json(result.stats, result.error ? result.error->what : "", unseen));
        }
        if (!saved) note(fmt::format("the answer is not stored: {}", saved.error().what));
    }
    const bool is_stored = turn_->raw_ids.empty();
    turn_.reset();
    view_.phase = Phase::idle;
    view_.queued_reason.clear();
    view_.last = result;
    if (!is_stored) return;
    if (!in_parked_) warn_of_full_context(view_.last->stats);
    if (auto loaded = reload_messages(); !loaded) note(loaded.error().what);
}

}  // namespace hearth
