#pragma once
// ChatController: what the user wants in, engine events folded into ViewState; writes the Store.
// Owns engine, store and the current conversation. Single-threaded: every call is from the front
// end's thread. Knows no terminal and no window.
//
// Order that keeps law 2: the user's message is committed before the request is submitted; the
// answer's row exists from its first text and grows about once a second until Done.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/draft_chooser.h"
#include "app/exchange/export.h"
#include "app/exchange/import.h"
#include "app/settings.h"
#include "app/view_state.h"
#include "engine/engine.h"
#include "engine/inspect.h"
#include "engine/models/models.h"
#include "engine/store/store.h"

namespace hearth {

struct ChatTurn;
struct ParkedTurn;

/// Makes the engine; `wake` is called from its thread after new events.
using EngineMaker = std::function<Result<std::unique_ptr<Engine>>(const EngineOptions& options,
                                                                  std::function<void()> wake)>;

/// What can be kept under a name: a system prompt, or the settings of a chat.
enum class Kept : std::uint8_t { prompt, preset };
struct NamedText {
    std::string name;
    std::string text;  ///< of a preset: its settings as JSON
};

struct ChatSetup {
    std::unique_ptr<Store> store;
    EngineMaker make_engine;  ///< Engine::make_local, or a fake in tests
    std::function<Result<inspect::ModelCard>(const std::string&)> model_card = inspect::card;
    ModelPlaces places;
    SettingLayers settings;  ///< model_* and chat are filled by the controller
    /// Removes what is cached on disk of a deleted conversation, while there is no engine.
    std::function<void(const std::string& conversation)> forget_cached;
    std::string system_prompt;      ///< for chats that have none of their own
    bool want_logits_hash = false;  ///< fill Stats::logits_hash
};

class ChatController {
  public:
    explicit ChatController(ChatSetup setup);
    ~ChatController();  ///< stops what runs and stores the partial answer
    ChatController(const ChatController&) = delete;
    ChatController& operator=(const ChatController&) = delete;

    const ViewState& view() const { return view_; }
    bool busy() const { return view_.phase != Phase::idle; }

    // --- a turn (errors when one already runs) -------------------------------------------------
    /// Stores the message (attachments before the text), then asks the engine for the answer.
    Result<void> send(const std::string& text);
    /// Another answer to the last user message; the old one stays as a version.
    Result<void> regenerate();
    /// Lets the last answer go on; the shorter one stays as a version.
    Result<void> continue_last();
    /// Sends another version of a message that is shown (`message`, a question); the old one and
    /// what followed it stay as a branch.
    Result<void> edit(MessageId message, const std::string& text);
    /// Takes the last question and its answer out of the chat (both stay in the database) and
    /// returns the question's text.
    Result<std::string> undo();
    /// Starts from token ids as they are; nothing is stored.
    Result<void> send_raw(std::vector<std::int32_t> ids);
    /// Ends what runs within 150 ms; go on pumping until !busy(). Harmless when idle.
    void stop();

    /// Drains engine events and folds them, waiting up to `timeout_ms` for the first one.
    /// True when the view changed.
    bool pump(int timeout_ms);
    /// A descriptor that is readable when there are engine events: for poll(2) beside stdin.
    /// pump() clears it.
    int event_fd() const { return event_fd_; }
    /// Called from the engine's thread beside the descriptor; must not block. For the window.
    void set_wake(std::function<void()> wake);
    /// Answers go on when another chat is opened or begun; otherwise that is refused while one is
    /// written. For front ends that go on pumping.
    void let_answers_go_on(bool on) { answers_go_on_ = on; }
    /// Sentences for the user since the last call (what was limited, not stored, loaded how).
    std::vector<std::string> take_notes();

    // --- conversations -------------------------------------------------------------------------
    Result<void> new_chat();  ///< empty; model, system prompt and settings of the start
    Result<void> switch_to(ConversationId id);  ///< also its model, when that is still there
    Result<std::vector<Conversation>> chats(int limit, int offset = 0,
                                            ChatFolder folder = ChatFolder::shown);
    /// By id, title or unique prefix. Errors: failed, when none or ambiguous.
    Result<Conversation> find_chat(const std::string& name);
    Result<std::vector<Conversation>> search(const std::string& text, int limit);
    Result<void> set_title(const std::string& title);
    Result<void> remove_chat(ConversationId id);  ///< the current one: a new chat begins
    Result<Conversation> restore_chat();          ///< the one removed last
    /// Reads the messages of any conversation, for saving and showing.
    Result<std::vector<StoredMessage>> messages_of(ConversationId id);

    /// The conversation again, when another process changed the database. True when the view may
    /// have changed. Cheap when nothing happened; does nothing while an answer is written.
    bool refresh();

    // --- branches of the current conversation (errors while an answer is written) --------------
    /// Versions of a message, oldest first; the one that is shown among them.
    Result<std::vector<StoredMessage>> versions(MessageId message);
    /// Shows the branch through `message` down to its newest end.
    Result<void> show_version(MessageId message);
    /// The next message follows `message`; what came after it stays as a branch. 0 = the beginning.
    Result<void> branch_from(MessageId message);
    /// A new conversation with the messages up to `message`, and goes there.
    Result<void> fork(MessageId message);
    Result<std::vector<TreeEntry>> tree();

    // --- order and exchange --------------------------------------------------------------------
    Result<void> set_pinned(ConversationId id, bool pinned);
    Result<void> set_archived(ConversationId id, bool archived);
    Result<std::string> export_chat(ConversationId id, ExportFormat format);
    Result<ImportSum> import_chats(const std::string& path);

    // --- model and settings --------------------------------------------------------------------
    Result<void> set_model(const std::string& name);  ///< path or name; loads at the next turn
    std::vector<FoundModel> models();
    Result<inspect::ModelCard> model_card();  ///< of the model in force
    /// Who may draft for it, the best first, and why the others may not.
    Result<std::vector<inspect::DraftCandidate>> draft_candidates();
    Result<void> set_system(const std::string& text);
    const std::string& system_prompt() const { return system_prompt_; }
    /// A row of the settings table; kept with the chat. "default" gives the lower layers back.
    /// Beats a flag of the same name for the rest of the run. Errors: usage.
    Result<void> set_param(const std::string& name, const std::string& value);
    std::vector<SettingValue> params() const;  ///< value and origin of each, in table order

    // --- named prompts and presets, shared by all front ends through the store -----------------
    Result<std::vector<NamedText>> named(Kept kind);
    /// Keeps the system prompt, or the settings, of this chat; replaces what has the name.
    Result<void> save_named(Kept kind, const std::string& name);
    Result<void> use_named(Kept kind, const std::string& name);  ///< in this chat
    Result<void> remove_named(Kept kind, const std::string& name);
    /// What new chats of the model in force begin with; "" = nothing.
    Result<std::string> model_default(Kept kind);
    Result<void> set_model_default(Kept kind, const std::string& name);

    /// Reads a text file; it goes before the next message. Returns a sentence (name, size).
    Result<std::string> attach(const std::string& path);
    /// The same for text that is already here (a pipe). "" name = no heading.
    Result<void> attach_text(const std::string& name, const std::string& text);
    void clear_attachments();
    /// What waits to go before the next message, as one text; nothing waits afterwards.
    std::string take_attachments();

    Store& store() { return *store_; }

  private:
    struct Fold;  ///< one overload per event, in chat_events.cpp

    Result<void> ensure_idle(const char* what) const;
    Result<void> ensure_may_leave(const char* what) const;
    Result<void> ensure_nobody_writes(const char* what) const;
    Result<void> ensure_not_writing(ConversationId id) const;
    Result<void> ensure_model() const;
    Result<void> ensure_engine();
    Result<void> ensure_chat();
    Result<void> send_after(MessageId parent, const std::string& text);
    Result<void> start(ChatTurn turn);
    Request make_request(ChatTurn& turn);
    void warn_of_full_context(const Stats& stats);
    Result<void> reload_messages();
    Result<void> use_model(const std::string& name);
    Result<void> store_answer(MessageState state);
    void flush(bool force);
    void finish(MessageState state, const TurnResult& result, const std::string& tokenizer_hash);
    void note(std::string text);
    Result<void> take_layers(SettingLayers wanted);
    void begin_with_model_defaults();
    void leave_chat();
    void fold(Event& event);
    void park();
    bool unpark(ConversationId id);
    void swap_with(ParkedTurn& parked);
    void drop_ended();
    void show_parked();
    void end_all_turns();

    std::unique_ptr<Store> store_;
    EngineMaker make_engine_;
    std::function<Result<inspect::ModelCard>(const std::string&)> model_card_;
    ModelPlaces places_;
    SettingLayers layers_;
    const std::function<void(const std::string&)> forget_cached_;
    DraftChooser drafts_;
    const std::string initial_system_;
    const bool want_logits_hash_;

    ViewState view_;
    std::string model_key_;  ///< what finds the model again: its name, or an absolute path
    std::string system_prompt_;
    std::int64_t seen_changes_ = 0;  ///< Store::foreign_changes at the last reading
    std::vector<std::string> attachment_texts_;
    std::vector<std::string> notes_;
    ConversationId warned_chat_ = 0;  ///< was told that its context is nearly full
    std::unique_ptr<ChatTurn> turn_;  ///< the running request
    std::vector<std::unique_ptr<ParkedTurn>> parked_;
    std::vector<ConversationId> answered_elsewhere_;
    bool answers_go_on_ = false;
    bool in_parked_ = false;  ///< view_ and turn_ are those of a parked chat, for one event
    int event_fd_ = -1;
    struct Wake;  ///< what the engine's thread calls; outlives the engine
    std::unique_ptr<Wake> wake_;
    std::unique_ptr<Engine> engine_;  ///< last: joined before anything its events refer to goes
};

}  // namespace hearth
