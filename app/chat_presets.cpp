// ChatController's part about named prompts and presets: kept in the store, so that every front end
// and every process of this user sees the same ones.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/chat_controller.h"
#include "app/chat_turn.h"
#include "app/text_input.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDefaults = "model_defaults";  ///< {model: {"prompt": name, "preset": name}}

/// The fact of the store that holds all of a kind: {name: text}.
const char* fact_of(Kept kind) { return kind == Kept::prompt ? "prompts" : "presets"; }
const char* word_of(Kept kind) { return kind == Kept::prompt ? "prompt" : "preset"; }

/// What is not an object (a strange file) counts as empty.
Result<Json> read_object(Store& store, const char* fact) {
    HEARTH_TRY(const std::string text, store.fact(fact));
    Json json = Json::parse(text, nullptr, false);
    return json.is_object() ? json : Json::object();
}

Result<void> write_object(Store& store, const char* fact, const Json& json) {
    return store.set_fact(
        fact, json.empty() ? "" : json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Result<std::vector<NamedText>> ChatController::named(Kept kind) {
    HEARTH_TRY(const Json all, read_object(*store_, fact_of(kind)));
    std::vector<NamedText> out;
    for (const auto& [name, text] : all.items()) {
        if (text.is_string()) out.push_back({name, text.get<std::string>()});
    }
    return out;
}

Result<void> ChatController::save_named(Kept kind, const std::string& name) {
    const std::string key = valid_utf8(name);
    if (key.find_first_not_of(' ') == std::string::npos)
        return fail(Errc::usage, "give the {} a name first", word_of(kind));
    if (kind == Kept::prompt && system_prompt_.empty())
        return fail(Errc::usage, "this chat has no system prompt that could be kept");
    HEARTH_TRY(Json all, read_object(*store_, fact_of(kind)));
    all[key] = kind == Kept::prompt ? system_prompt_ : settings_to_json(layers_.chat);
    return write_object(*store_, fact_of(kind), all);
}

Result<void> ChatController::remove_named(Kept kind, const std::string& name) {
    HEARTH_TRY(Json all, read_object(*store_, fact_of(kind)));
    if (all.erase(name) == 0) return fail(Errc::failed, "there is no {} '{}'", word_of(kind), name);
    return write_object(*store_, fact_of(kind), all);
}

Result<void> ChatController::use_named(Kept kind, const std::string& name) {
    HEARTH_TRY(const Json all, read_object(*store_, fact_of(kind)));
    const auto found = all.find(name);
    if (found == all.end() || !found->is_string())
        return fail(Errc::failed, "there is no {} '{}'", word_of(kind), name);
    const std::string text = found->get<std::string>();
    if (kind == Kept::prompt) return set_system(text);
    SettingLayers wanted = layers_;
    wanted.chat = settings_from_json(text);
    // What the user says last wins, here over what the program was started with.
    for (const auto& [key, value] : wanted.chat) {
        wanted.flag.erase(key);
        wanted.environment.erase(key);
    }
    HEARTH_TRY_VOID(take_layers(std::move(wanted)));
    if (view_.chat.id == 0) return {};
    return store_->set_params(view_.chat.id, settings_to_json(layers_.chat));
}

/// Other settings; another engine when they are of the engine.
Result<void> ChatController::take_layers(SettingLayers wanted) {
    if (!same_engine(resolve_settings(layers_).engine, resolve_settings(wanted).engine)) {
        HEARTH_TRY_VOID(ensure_nobody_writes("change settings of the engine"));
        engine_.reset();
    }
    layers_ = std::move(wanted);
    return {};
}

Result<std::string> ChatController::model_default(Kept kind) {
    HEARTH_TRY(const Json all, read_object(*store_, kDefaults));
    const auto own = all.find(model_key_);
    if (own == all.end() || !own->is_object()) return std::string();
    const auto name = own->find(word_of(kind));
    return name != own->end() && name->is_string() ? name->get<std::string>() : std::string();
}

Result<void> ChatController::set_model_default(Kept kind, const std::string& name) {
    HEARTH_TRY_VOID(ensure_model());
    HEARTH_TRY(Json all, read_object(*store_, kDefaults));
    Json own =
        all.contains(model_key_) && all[model_key_].is_object() ? all[model_key_] : Json::object();
    own[word_of(kind)] = name;
    if (name.empty()) own.erase(word_of(kind));
    all[model_key_] = own;
    if (own.empty()) all.erase(model_key_);
    return write_object(*store_, kDefaults, all);
}

/// A chat that has not begun takes what its model begins with. Flags still win.
void ChatController::begin_with_model_defaults() {
    if (view_.chat.id != 0 || model_key_.empty()) return;
    const auto text_of = [&](Kept kind) -> std::string {
        const auto name = model_default(kind);
        if (!name || name->empty()) return "";
        const auto all = named(kind);
        if (!all) return "";
        for (const NamedText& one : *all) {
            if (one.name == *name) return one.text;
        }
        return "";
    };
    // What the user said for this chat already stays.
    if (system_prompt_.empty()) system_prompt_ = text_of(Kept::prompt);
    if (!layers_.chat.empty()) return;
    SettingLayers wanted = layers_;
    wanted.chat = settings_from_json(text_of(Kept::preset));
    if (auto taken = take_layers(std::move(wanted)); !taken) note(taken.error().what);
}

}  // namespace hearth
