// hearth show MODEL [topic]: what a model file says about itself.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "app/draft_chooser.h"
#include "app/model_cards.h"
#include "app/session.h"
#include "app/verbs.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const FoundModel& model, const inspect::ModelCard& card) {
    Json metadata = Json::object();
    for (const auto& [key, value] : card.metadata) metadata[key] = value;
    return {{"name", model.name},
            {"title", card.name},
            {"path", model.path},
            {"family", card.family},
            {"quantization", card.quantization},
            {"tokenizer", card.tokenizer},
            {"file_bytes", card.file_bytes},
            {"n_params", card.n_params},
            {"context_length", card.context_length},
            {"n_layers", card.n_layers},
            {"hidden_size", card.hidden_size},
            {"vocab_size", card.vocab_size},
            {"kv_bytes_per_token", card.kv_bytes_per_token},
            {"has_template", !card.template_source.empty()},
            {"notes", card.notes},
            {"metadata", metadata}};
}

std::string show_count(std::int64_t n) {
    if (n >= 1'000'000'000) return fmt::format("{:.2f} billion", static_cast<double>(n) / 1e9);
    return fmt::format("{:.1f} million", static_cast<double>(n) / 1e6);
}

void print_info(const FoundModel& model, const inspect::ModelCard& card) {
    fmt::print("name          {}\n", printable(card.name.empty() ? model.name : card.name));
    fmt::print("file          {} ({})\n", model.path, show_bytes(card.file_bytes));
    fmt::print("family        {}\n", printable(card.family));
    fmt::print("parameters    {}\n", card.n_params > 0 ? show_count(card.n_params) : "unknown");
    fmt::print("quantization  {}\n", card.quantization);
    fmt::print("context       {} tokens\n", card.context_length);
    fmt::print("layers        {}, hidden size {}\n", card.n_layers, card.hidden_size);
    fmt::print("tokenizer     {}, {} tokens\n", printable(card.tokenizer), card.vocab_size);
    fmt::print("kv cache      {} per token\n", show_bytes(card.kv_bytes_per_token));
    fmt::print("template      {}\n", card.template_source.empty() ? "none" : "in the file");
    for (const std::string& sentence : card.notes) fmt::print("note          {}\n", sentence);
}

/// What a second model would cost, before it is loaded.
void print_draft(const FoundModel& model, const Options& options) {
    const auto found = find_drafts(model.path, options.places);
    if (!found || found->empty() || !found->front().refusal.empty()) return;
    const inspect::DraftCandidate& draft = found->front();
    fmt::print("draft         {}: {} more, {} more per token (--draft auto)\n",
               printable(draft.name), show_bytes(draft.file_bytes),
               show_bytes(draft.kv_bytes_per_token));
}

void print_parameters(const inspect::ModelCard& card, const Options& options) {
    SettingLayers layers = options.settings;
    layers.model_card = settings_from_card(card.metadata);
    layers.model_file = settings_from_metadata(card.metadata);
    for (const SettingValue& value : describe_settings(layers)) {
        fmt::print("{:<18} {:<10} {}\n", value.name, value.value, origin_name(value.origin));
    }
}

/// Prints metadata whose key begins with `prefix`; false when there is none.
bool print_metadata(const inspect::ModelCard& card, const std::string& prefix) {
    bool any = false;
    for (const auto& [key, value] : card.metadata) {
        if (key.rfind(prefix, 0) != 0) continue;
        fmt::print("{} = {}\n", printable(key), printable(value));
        any = true;
    }
    return any;
}

}  // namespace

int verb_show(const Options& options) {
    const auto model = resolve_model(options.model, options.places);
    if (!model) return tell_error(model.error());
    const auto card = inspect::card(model->path);
    if (!card) return tell_error(card.error());
    const std::string topic = options.topic.empty() ? "info" : options.topic;
    if (options.json) {
        const std::string text =
            as_json(*model, *card).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
        std::printf("%s\n", text.c_str());
        return 0;
    }
    if (topic == "info") {
        print_info(*model, *card);
        print_draft(*model, options);
    } else if (topic == "template") {
        if (card->template_source.empty()) {
            return tell_error({Errc::failed, model->name + " has no chat template of its own; "
                                                           "--template NAME gives it one"});
        }
        std::printf("%s\n", printable(card->template_source).c_str());
    } else if (topic == "parameters") {
        print_parameters(*card, options);
    } else if (topic == "metadata") {
        print_metadata(*card, "");
    } else if (topic == "license") {
        if (!print_metadata(*card, "general.license")) {
            return tell_error({Errc::failed, "the file of " + model->name + " states no license"});
        }
    } else {
        return tell_error({Errc::usage,
                           "show knows info, template, parameters, metadata and "
                           "license, not '" +
                               topic + "'"});
    }
    return 0;
}

}  // namespace hearth
