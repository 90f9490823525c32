// ChatController's part about several chats at once: the shown one has view_ and turn_; those whose
// answers go on behind it are parked. An event of a parked chat is folded by the same code, with
// its view and turn in the places of the shown ones.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "app/chat_controller.h"
#include "app/chat_turn.h"

namespace hearth {

Result<void> ChatController::ensure_may_leave(const char* what) const {
    // What is not stored could not be found again.
    if (answers_go_on_ && view_.chat.id != 0) return {};
    return ensure_idle(what);
}

Result<void> ChatController::ensure_nobody_writes(const char* what) const {
    HEARTH_TRY_VOID(ensure_idle(what));
    if (parked_.empty()) return {};
    return fail(Errc::failed, "an answer is being written in \"{}\": stop it before you {}",
                parked_.front()->view.chat.title, what);
}

Result<void> ChatController::ensure_not_writing(ConversationId id) const {
    const bool is_parked = std::any_of(parked_.begin(), parked_.end(), [id](const auto& parked) {
        return parked->view.chat.id == id;
    });
    if (!is_parked && (id != view_.chat.id || !busy())) return {};
    return fail(Errc::failed,
                "an answer is being written in this chat: stop it before you remove it");
}

/// Puts the shown chat behind; what is shown afterwards has its model and no message.
void ChatController::park() {
    auto parked = std::make_unique<ParkedTurn>();
    parked->view = std::exchange(view_, ViewState{});
    parked->turn = std::move(turn_);
    view_.model_name = parked->view.model_name;
    view_.model_path = parked->view.model_path;
    view_.model_loaded = parked->view.model_loaded;
    parked_.push_back(std::move(parked));
    show_parked();
}

/// Shows a parked chat again; false when it is none.
bool ChatController::unpark(ConversationId id) {
    std::erase(answered_elsewhere_, id);
    const auto at = std::find_if(parked_.begin(), parked_.end(),
                                 [id](const auto& parked) { return parked->view.chat.id == id; });
    if (at == parked_.end()) return false;
    view_ = std::move((*at)->view);
    turn_ = std::move((*at)->turn);
    parked_.erase(at);
    return true;
}

void ChatController::swap_with(ParkedTurn& parked) {
    std::swap(view_, parked.view);
    std::swap(turn_, parked.turn);
    in_parked_ = !in_parked_;
}

/// Those that have ended are in the store; only that they ended is remembered.
void ChatController::drop_ended() {
    for (std::size_t i = parked_.size(); i-- > 0;) {
        if (parked_[i]->turn) continue;
        const ViewState& view = parked_[i]->view;
        if (view.last && view.last->error) {
            note(fmt::format("\"{}\": {}", view.chat.title, view.last->error->what));
        }
        answered_elsewhere_.push_back(view.chat.id);
        parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    show_parked();
}

void ChatController::show_parked() {
    view_.writing_elsewhere.clear();
    for (const auto& parked : parked_) view_.writing_elsewhere.push_back(parked->view.chat.id);
    view_.answered_elsewhere = answered_elsewhere_;
}

void ChatController::note(std::string text) {
    if (in_parked_) text = fmt::format("\"{}\": {}", view_.chat.title, text);
    notes_.push_back(std::move(text));
}

/// The program ends: what is written so far is kept as stopped answers.
void ChatController::end_all_turns() {
    if (!turn_ && parked_.empty()) return;
    stop();
    for (const auto& parked : parked_) {
        if (engine_) engine_->cancel(parked->turn->id);
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while ((busy() || !parked_.empty()) && std::chrono::steady_clock::now() < deadline) pump(50);
    const TurnResult stopped{FinishReason::stopped, {}, 0, {}};
    if (turn_) finish(MessageState::stopped, stopped, "");
    for (const auto& parked : parked_) {
        swap_with(*parked);
        finish(MessageState::stopped, stopped, "");
        swap_with(*parked);
    }
}

}  // namespace hearth
