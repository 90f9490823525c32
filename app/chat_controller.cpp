#include "app/chat_controller.h"

#include <chrono>
#include <filesystem>
#include <mutex>
#include <random>

#include <nlohmann/json.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/chat_turn.h"
#include "app/model_cards.h"
#include "app/text_input.h"
#include "engine/base/log.h"

namespace hearth {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::uint64_t draw_seed() {
    std::random_device device;
    // 53 bits: exact in JSON and in the database.
    return (std::uint64_t{device()} << 32 | device()) & ((std::uint64_t{1} << 53) - 1);
}

}  // namespace

struct ChatController::Wake {
    std::mutex mutex;
    std::function<void()> call;
};

ChatController::ChatController(ChatSetup setup)
    : store_(std::move(setup.store)),
      make_engine_(std::move(setup.make_engine)),
      model_card_(std::move(setup.model_card)),
      places_(std::move(setup.places)),
      layers_(std::move(setup.settings)),
      forget_cached_(std::move(setup.forget_cached)),
      drafts_(places_),
      initial_system_(std::move(setup.system_prompt)),
      want_logits_hash_(setup.want_logits_hash),
      system_prompt_(initial_system_),
      event_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      wake_(std::make_unique<Wake>()) {
    for (const std::string& notice : store_->notices()) note(notice);
}

ChatController::~ChatController() {
    end_all_turns();
    engine_.reset();
    if (event_fd_ >= 0) ::close(event_fd_);
}

// --- a turn --------------------------------------------------------------------------------------

Result<void> ChatController::ensure_idle(const char* what) const {
    if (!busy()) return {};
    return fail(Errc::failed, "an answer is being written: stop it before you {}", what);
}

Result<void> ChatController::ensure_model() const {
    if (!view_.model_path.empty()) return {};
    return fail(Errc::model_not_found,
                "no model is chosen; `hearth ls` lists those of this machine");
}

void ChatController::set_wake(std::function<void()> wake) {
    const std::lock_guard lock(wake_->mutex);
    wake_->call = std::move(wake);
}

Result<void> ChatController::ensure_engine() {
    if (engine_) return {};
    const int descriptor = event_fd_;
    auto wake = [descriptor, more = wake_.get()] {
        const std::uint64_t one = 1;
        // A full counter means that the reader is awake already.
        [[maybe_unused]] const ssize_t n = ::write(descriptor, &one, sizeof one);
        const std::lock_guard lock(more->mutex);
        if (more->call) more->call();
    };
    HEARTH_TRY(engine_, make_engine_(resolve_settings(layers_).engine, wake));
    return {};
}

Result<void> ChatController::ensure_chat() {
    if (view_.chat.id != 0) return {};
    HEARTH_TRY(const ConversationId id, store_->create(model_key_));
    if (!view_.chat.title.empty()) HEARTH_TRY_VOID(store_->set_title(id, view_.chat.title));
    if (!system_prompt_.empty()) HEARTH_TRY_VOID(store_->set_system_prompt(id, system_prompt_));
    if (!layers_.chat.empty()) {
        HEARTH_TRY_VOID(store_->set_params(id, settings_to_json(layers_.chat)));
    }
    HEARTH_TRY(const auto chat, store_->get(id));
    if (chat) view_.chat = *chat;
    view_.chat.id = id;
    return {};
}

Result<void> ChatController::reload_messages() {
    if (view_.chat.id == 0) return {};
    if (!in_parked_) seen_changes_ = store_->foreign_changes();
    HEARTH_TRY(const auto chat, store_->get(view_.chat.id));
    if (chat) view_.chat = *chat;
    HEARTH_TRY(view_.messages, store_->path(view_.chat.id));
    if (view_.chat.active_leaf == 0) view_.messages.clear();
    const ContextCut cut = stored_cut(view_.messages);
    view_.unseen_begin = cut.begin;
    view_.unseen_end = cut.end;
    return {};
}

Result<void> ChatController::send(const std::string& text) {
    return send_after(view_.messages.empty() ? 0 : view_.messages.back().id, text);
}

Result<void> ChatController::edit(MessageId message, const std::string& text) {
    for (const StoredMessage& shown : view_.messages) {
        if (shown.id != message) continue;
        if (shown.role != "user")
            return fail(Errc::usage, "only questions can be edited; /regen answers again");
        return send_after(shown.parent, text);
    }
    return fail(Errc::failed, "the message to edit is not in this chat");
}

Result<void> ChatController::send_after(MessageId parent, const std::string& text) {
    HEARTH_TRY_VOID(ensure_idle("send"));
    HEARTH_TRY_VOID(ensure_model());
    HEARTH_TRY_VOID(ensure_engine());
    StoredMessage message;
    message.role = "user";
    for (const std::string& document : attachment_texts_) message.content += document + "\n\n";
    message.content += valid_utf8(text);
    if (message.content.empty()) return fail(Errc::usage, "the message is empty");
    HEARTH_TRY_VOID(ensure_chat());
    message.parent = parent;
    // Law 2: on disk before anything is computed.
    HEARTH_TRY(const MessageId id, store_->append(view_.chat.id, message));
    clear_attachments();
    HEARTH_TRY_VOID(reload_messages());
    ChatTurn turn;
    turn.parent = id;
    return start(std::move(turn));
}

Result<void> ChatController::regenerate() {
    HEARTH_TRY_VOID(ensure_idle("ask again"));
    HEARTH_TRY_VOID(ensure_model());
    HEARTH_TRY_VOID(ensure_engine());
    std::size_t n = view_.messages.size();
    while (n > 0 && view_.messages[n - 1].role != "user") --n;
    if (n == 0) return fail(Errc::failed, "there is no question yet that could be answered again");
    HEARTH_TRY_VOID(store_->set_active_leaf(view_.chat.id, view_.messages[n - 1].id));
    HEARTH_TRY_VOID(reload_messages());
    ChatTurn turn;
    turn.parent = view_.messages.back().id;
    return start(std::move(turn));
}

Result<void> ChatController::continue_last() {
    HEARTH_TRY_VOID(ensure_idle("go on"));
    HEARTH_TRY_VOID(ensure_model());
    HEARTH_TRY_VOID(ensure_engine());
    if (view_.messages.empty() || view_.messages.back().role != "assistant" ||
        view_.messages.back().content.empty()) {
        return fail(Errc::failed, "there is no answer yet that could go on");
    }
    ChatTurn turn;
    turn.continues = view_.messages.back();
    turn.parent = turn.continues->parent;
    return start(std::move(turn));
}

Result<std::string> ChatController::undo() {
    HEARTH_TRY_VOID(ensure_idle("take it back"));
    std::size_t n = view_.messages.size();
    while (n > 0 && view_.messages[n - 1].role != "user") --n;
    if (n == 0) return fail(Errc::failed, "there is no question that could be taken back");
    const StoredMessage question = view_.messages[n - 1];
    HEARTH_TRY_VOID(store_->set_active_leaf(view_.chat.id, question.parent));
    HEARTH_TRY_VOID(reload_messages());
    return question.content;
}

Result<void> ChatController::send_raw(std::vector<std::int32_t> ids) {
    HEARTH_TRY_VOID(ensure_idle("send"));
    HEARTH_TRY_VOID(ensure_model());
    HEARTH_TRY_VOID(ensure_engine());
    if (ids.empty()) return fail(Errc::usage, "there are no token ids to begin with");
    ChatTurn turn;
    turn.raw_ids = std::move(ids);
    return start(std::move(turn));
}

Request ChatController::make_request(ChatTurn& turn) {
    const Settings settings = resolve_settings(layers_);
    Request request;
    request.conversation = engine_name(turn.raw_ids.empty() ? view_.chat.id : 0);
    request.model_path = view_.model_path;
    request.chat_template = settings.chat_template;
    request.sampling = settings.sampling;
    request.sampling.seed = turn.seed;
    request.draft = drafts_.choose(settings.draft, view_.model_path, notes_);
    request.context_policy = settings.context_policy;
    request.want_logits_hash = want_logits_hash_;
    request.raw_ids = turn.raw_ids;
    request.no_disk_cache = !turn.raw_ids.empty();  // nothing is stored of it
    request.continue_last = turn.continues.has_value();
    if (turn.raw_ids.empty()) {
        // What was left out stays out, so that the beginning of the prompt stays the same. Who
        // wants to stop instead gets all of it, or the error.
        turn.cut = settings.context_policy == ContextPolicy::stop ? ContextCut{}
                                                                  : stored_cut(view_.messages);
        request.messages =
            messages_for_engine(system_prompt_, view_.messages, turn.cut, &turn.begins);
    }
    return request;
}

Result<void> ChatController::start(ChatTurn turn) {
    std::vector<std::string> skipped;
    const Settings settings = resolve_settings(layers_, &skipped);
    for (std::string& sentence : skipped) note(std::move(sentence));
    turn.seed = settings.random_seed ? draw_seed() : settings.sampling.seed;
    turn.params_json = params_of_turn(settings, turn.seed, view_.model_path);
    Request request = make_request(turn);
    view_.answer.clear();
    view_.answer_ids.clear();
    view_.last.reset();
    view_.queued_reason.clear();
    view_.prefill_done = view_.prefill_total = view_.cached_tokens = 0;
    view_.phase = Phase::queued;
    // A continued answer is drawn as the answer that grows.
    if (turn.continues) {
        view_.answer = turn.continues->content;
        view_.messages.pop_back();
    }
    turn_ = std::make_unique<ChatTurn>(std::move(turn));
    turn_->id = engine_->submit(std::move(request));
    return {};
}

void ChatController::stop() {
    if (turn_ && engine_) engine_->cancel(turn_->id);
}

// --- conversations -------------------------------------------------------------------------------

Result<void> ChatController::new_chat() {
    HEARTH_TRY_VOID(ensure_may_leave("begin a new chat"));
    leave_chat();
    begin_with_model_defaults();
    return {};
}

/// An empty chat; the one that was shown goes on behind it when it is being answered.
void ChatController::leave_chat() {
    if (busy()) park();
    view_.chat = Conversation{};
    view_.messages.clear();
    view_.unseen_begin = view_.unseen_end = 0;
    view_.answer.clear();
    view_.answer_ids.clear();
    view_.last.reset();
    layers_.chat.clear();
    system_prompt_ = initial_system_;
    clear_attachments();
}

Result<void> ChatController::switch_to(ConversationId id) {
    HEARTH_TRY_VOID(ensure_may_leave("open another chat"));
    HEARTH_TRY(const auto chat, store_->get(id));
    if (!chat) return fail(Errc::failed, "there is no conversation {}", id);
    SettingLayers wanted = layers_;
    wanted.chat = settings_from_json(chat->params_json);
    if (!same_engine(resolve_settings(layers_).engine, resolve_settings(wanted).engine)) {
        HEARTH_TRY_VOID(ensure_nobody_writes("open a chat with other settings of the engine"));
        engine_.reset();
    }
    leave_chat();
    const bool is_writing = unpark(id);
    view_.chat = *chat;
    system_prompt_ = chat->system_prompt;
    layers_.chat = std::move(wanted.chat);
    if (!chat->model.empty() && chat->model != model_key_) {
        if (auto model = use_model(chat->model); !model) {
            note(fmt::format("the model of this chat is not there: {}{}", model.error().what,
                             view_.model_name.empty()
                                 ? ""
                                 : fmt::format("; {} answers instead", view_.model_name)));
        }
    }
    show_parked();
    // What is on the screen of a chat that is written is ahead of what is stored.
    if (is_writing) return {};
    return reload_messages();
}

Result<std::vector<Conversation>> ChatController::chats(int limit, int offset, ChatFolder folder) {
    return store_->list(limit, offset, folder);
}

Result<Conversation> ChatController::find_chat(const std::string& name) {
    HEARTH_TRY(const auto chat, store_->find(name));
    if (!chat) return fail(Errc::failed, "there is no conversation '{}'", name);
    return *chat;
}

Result<std::vector<Conversation>> ChatController::search(const std::string& text, int limit) {
    return store_->search(text, limit);
}

Result<void> ChatController::set_title(const std::string& title) {
    view_.chat.title = valid_utf8(title);
    if (view_.chat.id == 0) return {};
    return store_->set_title(view_.chat.id, view_.chat.title);
}

Result<void> ChatController::remove_chat(ConversationId id) {
    HEARTH_TRY_VOID(ensure_not_writing(id));
    if (id == view_.chat.id) HEARTH_TRY_VOID(new_chat());
    HEARTH_TRY_VOID(store_->remove(id));
    if (engine_)
        engine_->forget(engine_name(id));
    else if (forget_cached_)
        forget_cached_(engine_name(id));
    return {};
}

Result<Conversation> ChatController::restore_chat() {
    HEARTH_TRY(const auto chat, store_->latest_removed());
    if (!chat) return fail(Errc::failed, "no conversation was removed");
    HEARTH_TRY_VOID(store_->restore(chat->id));
    return *chat;
}

Result<std::vector<StoredMessage>> ChatController::messages_of(ConversationId id) {
    return store_->path(id);
}

// --- model and settings --------------------------------------------------------------------------

Result<void> ChatController::use_model(const std::string& name) {
    HEARTH_TRY(const FoundModel model, resolve_model(name, places_));
    // A file that cannot be used is refused here, before a question is stored for it.
    HEARTH_TRY(const inspect::ModelCard card, model_card_(model.path));
    layers_.model_card = settings_from_card(card.metadata);
    layers_.model_file = settings_from_metadata(card.metadata);
    view_.model_name = model.name;
    view_.model_path = model.path;
    view_.model_loaded = false;
    // A name such as org/repo is no path, although it looks like one.
    std::error_code error;
    const bool is_path = std::filesystem::exists(name, error);
    model_key_ = is_path ? std::filesystem::absolute(name, error).string() : model.name;
    return {};
}

Result<void> ChatController::set_model(const std::string& name) {
    HEARTH_TRY_VOID(ensure_idle("take another model"));
    HEARTH_TRY_VOID(use_model(name));
    if (view_.chat.id == 0) {
        begin_with_model_defaults();
        return {};
    }
    view_.chat.model = model_key_;
    return store_->set_model(view_.chat.id, model_key_);
}

std::vector<FoundModel> ChatController::models() { return find_models(places_, &notes_); }

Result<inspect::ModelCard> ChatController::model_card() {
    HEARTH_TRY_VOID(ensure_model());
    return model_card_(view_.model_path);
}

Result<std::vector<inspect::DraftCandidate>> ChatController::draft_candidates() {
    HEARTH_TRY_VOID(ensure_model());
    return find_drafts(view_.model_path, places_);
}

Result<void> ChatController::set_system(const std::string& text) {
    HEARTH_TRY_VOID(ensure_idle("change the system prompt"));
    system_prompt_ = valid_utf8(text);
    if (view_.chat.id == 0) return {};
    view_.chat.system_prompt = system_prompt_;
    return store_->set_system_prompt(view_.chat.id, system_prompt_);
}

Result<void> ChatController::set_param(const std::string& name, const std::string& value) {
    const SettingRow* row = find_setting(name);
    if (row != nullptr && row->engine_wide) HEARTH_TRY_VOID(ensure_nobody_writes("change this"));
    const Settings before = resolve_settings(layers_);
    if (row != nullptr && value == "default") {
        layers_.chat.erase(row->name);
        layers_.flag.erase(row->name);
    } else {
        HEARTH_TRY_VOID(put_setting(layers_.chat, name, value));
        // What the user says last wins, here over what the program was started with.
        const std::string key = find_setting(name)->name;
        layers_.flag.erase(key);
        layers_.environment.erase(key);
    }
    if (!same_engine(before.engine, resolve_settings(layers_).engine)) engine_.reset();
    if (view_.chat.id == 0) return {};
    return store_->set_params(view_.chat.id, settings_to_json(layers_.chat));
}

std::vector<SettingValue> ChatController::params() const { return describe_settings(layers_); }

Result<std::string> ChatController::attach(const std::string& path) {
    HEARTH_TRY(const std::string bytes, read_text_file(path));
    if (bytes.substr(0, 8192).find('\0') != std::string::npos) {
        return fail(Errc::failed, "{} is not a text file: it has NUL bytes", path);
    }
    std::size_t replaced = 0;
    const std::string text = valid_utf8(bytes, &replaced);
    const std::string name = valid_utf8(file_name(path));
    HEARTH_TRY_VOID(attach_text(name, text));
    std::string sentence =
        fmt::format("{} ({} bytes) goes before the next message", name, bytes.size());
    if (replaced > 0) sentence += fmt::format("; {} bytes that are no UTF-8 are marked", replaced);
    return sentence;
}

Result<void> ChatController::attach_text(const std::string& name, const std::string& text) {
    attachment_texts_.push_back(as_document(name, valid_utf8(text)));
    view_.attachments.push_back(name);
    return {};
}

void ChatController::clear_attachments() {
    attachment_texts_.clear();
    view_.attachments.clear();
}

std::string ChatController::take_attachments() {
    std::string text;
    for (const std::string& document : attachment_texts_) text += document + "\n\n";
    clear_attachments();
    return text;
}

std::vector<std::string> ChatController::take_notes() { return std::exchange(notes_, {}); }

}  // namespace hearth
