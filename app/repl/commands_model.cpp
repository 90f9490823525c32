// Slash commands about the model, settings and numbers.
#include <algorithm>

#include <fmt/format.h>

#include "app/answer_report.h"
#include "app/repl/command_table.h"
#include "app/repl/commands.h"
#include "app/repl/graphemes.h"
#include "app/repl/session.h"
#include "app/session.h"

namespace hearth::repl {
namespace {

using Rows = std::vector<std::vector<std::string>>;

void list_models(ReplSession& s, const std::vector<FoundModel>& models) {
    Rows rows;
    for (const FoundModel& model : models) {
        rows.push_back({model.path == s.chat.view().model_path ? "*" : " ", model.name,
                        show_bytes(model.bytes), model.origin});
    }
    s.say(table(rows, s.columns(), 0));
}

Outcome show_info(ReplSession& s) {
    HEARTH_TRY(const inspect::ModelCard card, s.chat.model_card());
    const auto count = [](std::int64_t n) { return grouped(n); };
    s.say(table({{"name", s.chat.view().model_name},
                 {"file", s.chat.view().model_path},
                 {"title", card.name},
                 {"family", card.family},
                 {"parameters", count(card.n_params)},
                 {"weights", fmt::format("{}, {}", card.quantization, show_bytes(card.file_bytes))},
                 {"context", count(card.context_length) + " tokens at most"},
                 {"layers", fmt::format("{} of width {}", card.n_layers, card.hidden_size)},
                 {"vocabulary", count(card.vocab_size) + " tokens, " + card.tokenizer},
                 {"cache", show_bytes(card.kv_bytes_per_token) + " a token"}},
                s.columns()));
    for (const std::string& note : card.notes) s.say_dim("  " + note);
    return {};
}

Outcome show_license(ReplSession& s) {
    HEARTH_TRY(const inspect::ModelCard card, s.chat.model_card());
    Rows rows;
    for (const auto& [key, value] : card.metadata) {
        if (key.find("license") != std::string::npos) rows.push_back({key, value});
    }
    s.say(rows.empty() ? "The model file names no licence." : table(rows, s.columns()));
    return {};
}

Outcome show_template(ReplSession& s) {
    HEARTH_TRY(const inspect::ModelCard card, s.chat.model_card());
    s.say(card.template_source.empty() ? "The model has no chat template." : card.template_source);
    return {};
}

void show_parameters(ReplSession& s) {
    Rows rows;
    for (const SettingValue& value : s.chat.params()) {
        rows.push_back({value.name, value.value, origin_name(value.origin)});
    }
    s.say(table(rows, s.columns()));
}

void show_system(ReplSession& s) {
    const std::string& system = s.chat.system_prompt();
    s.say(system.empty() ? "There is no system prompt. /system TEXT sets one." : system);
}

struct Switch {
    const char* word;
    void (*set)(ReplSession& s);
    const char* said;
};

constexpr Switch kSwitches[] = {
    {"verbose", [](ReplSession& s) { s.show_stats = true; }, "Numbers stand after each answer."},
    {"quiet", [](ReplSession& s) { s.show_stats = false; }, "No numbers after answers."},
    {"wordwrap", [](ReplSession& s) { s.word_wrap = true; }, "Rows break at words."},
    {"nowordwrap", [](ReplSession& s) { s.word_wrap = false; }, "The terminal breaks rows."},
    {"history", [](ReplSession& s) { s.history.set_enabled(true); },
     "What you type is remembered."},
    {"nohistory", [](ReplSession& s) { s.history.set_enabled(false); },
     "What you type is not remembered. (Chats are stored all the same; --no-log stores none.)"},
};

/// Words of Ollama's /set that are about things which are not there yet.
constexpr std::string_view kLaterSwitches[] = {"think", "nothink", "format", "noformat"};

}  // namespace

Outcome command_model(ReplSession& s, const std::string& args) {
    if (args.empty()) {
        const ViewState& view = s.chat.view();
        s.say(view.model_name.empty() ? "No model is chosen." : view.model_name);
        s.say_dim("/model NAME takes another; /list names those of this machine.");
        return {};
    }
    HEARTH_TRY_VOID(s.chat.set_model(args));
    s.say_dim(fmt::format("{} answers from now on.", s.chat.view().model_name));
    return {};
}

Outcome command_list(ReplSession& s, const std::string&) {
    const std::vector<FoundModel> models = s.chat.models();
    if (models.empty()) {
        s.say(fmt::format("No model was found. Put a .gguf file into {}.",
                          s.options.paths.own_models()));
        return {};
    }
    list_models(s, models);
    return {};
}

Outcome command_ps(ReplSession& s, const std::string&) {
    const ViewState& view = s.chat.view();
    s.say(
        fmt::format("{}: {}", view.model_name,
                    view.model_loaded ? "in memory" : "not in memory; the next message loads it"));
    return {};
}

Outcome command_show(ReplSession& s, const std::string& args) {
    if (args.empty() || args == "info") return show_info(s);
    if (args == "template") return show_template(s);
    if (args == "license" || args == "licence") return show_license(s);
    if (args == "parameters") {
        show_parameters(s);
        return {};
    }
    if (args == "system") {
        show_system(s);
        return {};
    }
    return fail(Errc::usage, "/show takes info, template, parameters, system or license, not '{}'",
                args);
}

Outcome command_set(ReplSession& s, const std::string& args) {
    Split split = split_word(args);
    if (split.word.empty()) {
        show_parameters(s);
        s.say_dim("/set NAME VALUE changes one; /help settings says what they do.");
        return {};
    }
    for (const Switch& row : kSwitches) {
        if (split.word != row.word || !split.rest.empty()) continue;
        row.set(s);
        s.say_dim(row.said);
        return {};
    }
    if (split.word == "system") return command_system(s, split.rest);
    if (std::find(std::begin(kLaterSwitches), std::end(kLaterSwitches), split.word) !=
        std::end(kLaterSwitches)) {
        return fail(Errc::usage, "/set {} is not there yet", split.word);
    }
    if (split.word == "parameter") split = split_word(split.rest);
    if (split.word.empty() || split.rest.empty()) {
        return fail(Errc::usage,
                    "/set takes a name and a value, for example: /set temperature 0.5");
    }
    HEARTH_TRY_VOID(s.chat.set_param(split.word, split.rest));
    const SettingRow* row = find_setting(split.word);
    for (const SettingValue& value : s.chat.params()) {
        if (row == nullptr || value.name != row->name) continue;
        s.say_dim(fmt::format("{} = {} ({})", value.name, value.value, origin_name(value.origin)));
    }
    return {};
}

Outcome command_draft(ReplSession& s, const std::string& args) {
    if (!args.empty()) {
        HEARTH_TRY_VOID(s.chat.set_param("draft", args));
    }
    for (const SettingValue& value : s.chat.params()) {
        if (value.name == "draft") s.say_dim(fmt::format("draft = {}", value.value));
    }
    if (!args.empty()) return {};
    HEARTH_TRY(const auto candidates, s.chat.draft_candidates());
    Rows rows;
    for (const inspect::DraftCandidate& c : candidates) {
        rows.push_back({c.name, show_bytes(c.file_bytes),
                        c.refusal.empty() ? "can draft for this model" : "no: " + c.refusal});
    }
    if (!rows.empty()) s.say(table(rows, s.columns()));
    s.say_dim("/draft auto takes the first that can, /draft NAME that one, /draft lookup none.");
    return {};
}

Outcome command_system(ReplSession& s, const std::string& args) {
    if (args.empty()) {
        show_system(s);
        return {};
    }
    std::string text = args;
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
        text = text.substr(1, text.size() - 2);  // as Ollama's examples write it
    }
    if (text == "clear") text.clear();
    HEARTH_TRY_VOID(s.chat.set_system(text));
    s.say_dim(text.empty() ? "The system prompt is gone." : "The system prompt is set.");
    return {};
}

Outcome command_context(ReplSession& s, const std::string& args) {
    const Split split = split_word(args);
    if (split.word == "policy" && !split.rest.empty()) {
        HEARTH_TRY_VOID(s.chat.set_param("context_policy", split.rest));
    } else if (!args.empty() && split.word != "policy") {
        return fail(Errc::usage, "/context, or /context policy stop|drop-oldest|drop-middle");
    }
    const ViewState& view = s.chat.view();
    if (!view.last || view.last->stats.context_tokens <= 0) {
        s.say("The context is measured with the first answer of this chat in this run.");
    } else {
        const Stats& stats = view.last->stats;
        const double share = double(stats.context_used) / stats.context_tokens;
        s.say(fmt::format("{} {} of {} tokens ({:.0f} %), {} are free", gauge(share, 30),
                          grouped(stats.context_used), grouped(stats.context_tokens), share * 100,
                          grouped(stats.context_tokens - stats.context_used)));
    }
    if (view.unseen_end > view.unseen_begin) {
        s.say(fmt::format("The model does not see messages {} to {} of {}.", view.unseen_begin + 1,
                          view.unseen_end, view.messages.size()));
    }
    for (const SettingValue& value : s.chat.params()) {
        if (value.name != "context_policy") continue;
        s.say_dim(fmt::format("When it is full: {} ({}). /context policy NAME changes it.",
                              value.value, origin_name(value.origin)));
    }
    for (const std::string& name : view.attachments) {
        s.say_dim("  waits for the next message: " + (name.empty() ? "a text" : name));
    }
    return {};
}

std::string stats_line(const ReplSession& s) {
    const ViewState& view = s.chat.view();
    if (!view.last || view.last->error) return "";
    const Stats& stats = view.last->stats;
    std::string out = fmt::format("{} tokens", grouped(stats.completion_tokens));
    if (stats.completion_tokens > 1 && stats.decode_ms > 0) {
        out += fmt::format(", {:.1f}/s", stats.decode_tok_s());
    }
    out += fmt::format(" · first {:.2f} s · prompt {}", stats.first_token_ms / 1000,
                       grouped(stats.prompt_tokens));
    if (stats.cached_disk_tokens > 0) {
        out += fmt::format(" ({} cached, {} of them on disk)", grouped(stats.cached_tokens),
                           grouped(stats.cached_disk_tokens));
    } else if (stats.cached_tokens > 0) {
        out += fmt::format(" ({} cached)", grouped(stats.cached_tokens));
    }
    if (stats.prefill_ms > 0 && stats.prompt_tokens > stats.cached_tokens) {
        out += fmt::format(", {:.0f}/s", stats.prefill_tok_s());
    }
    if (const SpeculationStats& d = stats.speculation; d.steps > 0) {
        out += fmt::format(" · {} of {} drafts, x{:.2f}", grouped(d.accepted), grouped(d.drafted),
                           d.speedup);
    }
    if (stats.context_tokens > 0) {
        out += fmt::format(" · context {} %", 100 * stats.context_used / stats.context_tokens);
    }
    return out;
}

Outcome command_stats(ReplSession& s, const std::string&) {
    const ViewState& view = s.chat.view();
    if (!view.last) return fail(Errc::failed, "there are no numbers yet: nothing was answered");
    if (view.last->error) return fail(Errc::failed, "the last request failed, it has no numbers");
    std::string text = answer_stats(view, s.chat.params());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    s.say(text);
    return {};
}

Outcome command_file(ReplSession& s, const std::string& args) {
    if (args == "clear") {
        s.chat.clear_attachments();
        s.say_dim("No file goes before the next message.");
        return {};
    }
    if (args.empty()) {
        const auto& names = s.chat.view().attachments;
        if (names.empty()) return fail(Errc::usage, "which file? /file PATH");
        for (const std::string& name : names) s.say("  " + name);
        return {};
    }
    HEARTH_TRY(const std::string sentence, s.chat.attach(path_from(args)));
    s.say_dim(sentence + ".");
    return {};
}

}  // namespace hearth::repl
