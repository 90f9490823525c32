// Any bytes as a file of chats (Hearth, ChatGPT, LM Studio, lists of messages): refused with a
// sentence, or chats of which every message has a role and an earlier parent, that come back the
// same from Hearth's own JSON, that every format can show, and that the store takes once.

#include <cstdlib>
#include <string>
#include <string_view>

#include "app/exchange/export.h"
#include "app/exchange/import.h"
#include "app/exchange/own_format.h"
#include "app/text_input.h"
#include "engine/store/store.h"

using namespace hearth;

namespace {

void demand(bool ok) {
    if (!ok) std::abort();
}

bool is_text(const std::string& text) { return valid_utf8(text) == text; }

void check_chat(const PortableChat& chat) {
    const int n = static_cast<int>(chat.messages.size());
    demand(!chat.origin.empty() && n > 0);
    demand(chat.active >= -1 && chat.active < n);
    demand(is_text(chat.title) && is_text(chat.system_prompt) && is_text(chat.model));
    for (int i = 0; i < n; ++i) {
        const PortableMessage& m = chat.messages[static_cast<std::size_t>(i)];
        demand(m.parent >= -1 && m.parent < i);
        demand(!m.origin.empty() && !m.message.role.empty());
        demand(is_text(m.message.content) && is_text(m.message.reasoning));
    }
}

void demand_same(const StoredMessage& a, const StoredMessage& b) {
    demand(a.role == b.role && a.content == b.content && a.reasoning == b.reasoning);
    demand(a.token_ids == b.token_ids && a.tokenizer_hash == b.tokenizer_hash);
    demand(a.state == b.state && a.finish_reason == b.finish_reason && a.model == b.model);
    demand(a.params_json == b.params_json && a.stats_json == b.stats_json);
    demand(a.created_ms == b.created_ms);
}

void demand_same(const PortableChat& a, const PortableChat& b) {
    demand(a.origin == b.origin && a.title == b.title && a.model == b.model);
    demand(a.system_prompt == b.system_prompt && a.params_json == b.params_json);
    demand(a.created_ms == b.created_ms && a.updated_ms == b.updated_ms);
    demand(a.pinned == b.pinned && a.archived == b.archived && a.active == b.active);
    demand(a.messages.size() == b.messages.size());
    for (std::size_t i = 0; i < a.messages.size(); ++i) {
        demand(a.messages[i].origin == b.messages[i].origin);
        demand(a.messages[i].parent == b.messages[i].parent);
        demand_same(a.messages[i].message, b.messages[i].message);
    }
}

/// Stored, stored again, taken out, deleted.
void check_store(const PortableChat& chat) {
    static const std::unique_ptr<Store> store = *Store::in_memory();
    const auto first = store->import_chat(chat);
    demand(first.has_value() && first->is_new);
    demand(first->n_added == static_cast<int>(chat.messages.size()));
    const auto second = store->import_chat(chat);
    demand(second.has_value() && !second->is_new && second->n_added == 0);
    const auto out = store->export_chat(first->id);
    demand(out.has_value() && out->messages.size() == chat.messages.size());
    demand(store->remove(first->id).has_value() && store->purge(first->id).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size > 50000) return 0;
    const auto file = read_import({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    if (!file) {
        demand(!file.error().what.empty() && is_text(file.error().what));
        return 0;
    }
    for (const std::string& note : file->notes) demand(is_text(note));
    for (const PortableChat& chat : file->chats) check_chat(chat);
    for (const auto format : {ExportFormat::markdown, ExportFormat::html})
        demand(is_text(export_text(file->chats, format)));
    const auto again = read_import(own_format(file->chats), "again.json");
    demand(again.has_value() && again->chats.size() == file->chats.size());
    for (std::size_t i = 0; i < file->chats.size(); ++i) {
        demand_same(file->chats[i], again->chats[i]);
        check_store(file->chats[i]);
    }
    return 0;
}
