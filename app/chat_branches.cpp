// ChatController's part about branches, order and exchange of conversations.

#include "app/chat_controller.h"
#include "app/chat_turn.h"

namespace hearth {

bool ChatController::refresh() {
    if (busy()) return false;
    const std::int64_t changes = store_->foreign_changes();
    if (changes == seen_changes_) return false;
    seen_changes_ = changes;
    if (auto loaded = reload_messages(); !loaded) note(loaded.error().what);
    return true;
}

Result<std::vector<StoredMessage>> ChatController::versions(MessageId message) {
    return store_->versions(view_.chat.id, message);
}

Result<void> ChatController::show_version(MessageId message) {
    HEARTH_TRY_VOID(ensure_idle("show another version"));
    HEARTH_TRY([[maybe_unused]] const MessageId leaf, store_->show_branch(view_.chat.id, message));
    view_.last.reset();
    return reload_messages();
}

Result<void> ChatController::branch_from(MessageId message) {
    HEARTH_TRY_VOID(ensure_idle("go back"));
    if (view_.chat.id == 0) return fail(Errc::failed, "this chat is empty, it has no branches");
    HEARTH_TRY_VOID(store_->set_active_leaf(view_.chat.id, message));
    view_.last.reset();
    return reload_messages();
}

Result<void> ChatController::fork(MessageId message) {
    HEARTH_TRY_VOID(ensure_idle("make a chat of this branch"));
    if (view_.chat.id == 0)
        return fail(Errc::failed, "this chat is empty, there is nothing to copy");
    HEARTH_TRY(const ConversationId made, store_->fork(view_.chat.id, message));
    return switch_to(made);
}

Result<std::vector<TreeEntry>> ChatController::tree() {
    if (view_.chat.id == 0) return std::vector<TreeEntry>();
    return store_->tree(view_.chat.id);
}

Result<void> ChatController::set_pinned(ConversationId id, bool pinned) {
    HEARTH_TRY_VOID(store_->set_pinned(id, pinned));
    if (id == view_.chat.id) view_.chat.pinned = pinned;
    return {};
}

Result<void> ChatController::set_archived(ConversationId id, bool archived) {
    HEARTH_TRY_VOID(store_->set_archived(id, archived));
    if (id == view_.chat.id) view_.chat.archived = archived;
    return {};
}

Result<std::string> ChatController::export_chat(ConversationId id, ExportFormat format) {
    HEARTH_TRY(const PortableChat chat, store_->export_chat(id));
    return export_text({chat}, format);
}

Result<ImportSum> ChatController::import_chats(const std::string& path) {
    HEARTH_TRY_VOID(ensure_idle("import"));
    HEARTH_TRY(ImportSum sum, import_file(*store_, path));
    HEARTH_TRY_VOID(reload_messages());
    return sum;
}

}  // namespace hearth
