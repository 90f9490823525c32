// hearth inspect: what the engine computes, as JSON on stdout.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "app/session.h"
#include "app/text_input.h"
#include "app/verbs.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// [[id, logit], …]
Json pairs(const std::vector<std::pair<std::int32_t, float>>& top) {
    Json list = Json::array();
    for (const auto& [id, logit] : top) list.push_back(Json::array({id, logit}));
    return list;
}

Result<std::string> inspect_template(const Options& options) {
    std::string source;
    if (!options.template_file.empty()) {
        HEARTH_TRY(source, read_text_file(options.template_file));
    } else {
        HEARTH_TRY(const std::string path, model_path_of(options));
        HEARTH_TRY(source, inspect::template_of(path));
    }
    HEARTH_TRY(const std::string context, read_text_file(options.context_file));
    return inspect::render_template(source, context);
}

Result<std::string> inspect_logits(const Options& options, const std::string& path) {
    inspect::LogitsOptions logits;
    logits.engine = resolve_settings(options.settings).engine;
    logits.top_k = options.top;
    logits.all_positions = options.all_positions;
    logits.chunk = options.chunk;
    HEARTH_TRY(const inspect::LogitsResult result, inspect::logits(path, options.ids, logits));
    Json json;
    json["top"] = result.positions.empty() ? Json::array() : pairs(result.positions.back());
    json["hash"] = result.hash;
    if (options.all_positions) {
        json["positions"] = Json::array();
        for (const auto& position : result.positions) json["positions"].push_back(pairs(position));
    }
    return dump(json);
}

Result<std::string> inspect_nll(const Options& options, const std::string& path) {
    HEARTH_TRY(const std::string text, read_text_file(options.target));
    const EngineOptions engine = resolve_settings(options.settings).engine;
    HEARTH_TRY(const inspect::NllResult result, inspect::nll(path, text, engine));
    return dump({{"tokens", result.tokens},
                 {"mean_nll", result.mean_nll},
                 {"perplexity", result.perplexity}});
}

Result<std::string> inspect_topic(const Options& options) {
    if (options.topic == "template") return inspect_template(options);
    HEARTH_TRY(const std::string path, model_path_of(options));
    if (options.topic == "tokenize") {
        // Bytes as they are: what a tokenizer does with invalid UTF-8 is worth seeing.
        HEARTH_TRY(const std::string text, read_standard_input());
        return inspect::tokenize(path, text, options.special);
    }
    if (options.topic == "detokenize") return inspect::detokenize(path, options.ids);
    if (options.topic == "logits") return inspect_logits(options, path);
    return inspect_nll(options, path);
}

}  // namespace

int verb_inspect(const Options& options) {
    const auto text = inspect_topic(options);
    if (!text) return tell_error(text.error());
    std::fwrite(text->data(), 1, text->size(), stdout);
    std::fputc('\n', stdout);
    // A template that refuses its messages is an answer of the template: told as JSON and as code.
    return options.topic == "template" && text->rfind("{\"error\"", 0) == 0 ? 1 : 0;
}

}  // namespace hearth
