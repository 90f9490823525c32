#include "app/settings.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/setting_values.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

using Text = std::string_view;

template <auto Field>
Result<void> set_float(Settings& s, Text value, double low, double high) {
    HEARTH_TRY(s.sampling.*Field, read_number(value, low, high));
    return {};
}

template <auto Field>
std::string get_float(const Settings& s) {
    return show_number(s.sampling.*Field);
}

template <auto Field>
Result<void> set_int(Settings& s, Text value, std::int64_t low) {
    HEARTH_TRY(const std::int64_t number, read_integer(value, low, 1'000'000'000));
    s.sampling.*Field = static_cast<int>(number);
    return {};
}

template <auto Field>
std::string get_int(const Settings& s) {
    return std::to_string(s.sampling.*Field);
}

Result<void> set_seed(Settings& s, Text value) {
    s.random_seed = value == "random" || value == "-1";
    if (s.random_seed) return {};
    // JSON and the database keep 53 bits exactly; a drawn seed stays below that as well.
    HEARTH_TRY(const std::int64_t number, read_integer(value, 0, std::int64_t{1} << 53));
    s.sampling.seed = static_cast<std::uint64_t>(number);
    return {};
}

std::string get_seed(const Settings& s) {
    return s.random_seed ? "random" : std::to_string(s.sampling.seed);
}

Result<void> set_stop(Settings& s, Text value) {
    HEARTH_TRY(s.sampling.stop, read_strings(value));
    std::erase(s.sampling.stop, std::string());
    return {};
}

Result<void> set_logit_bias(Settings& s, Text value) {
    std::vector<std::pair<std::int32_t, float>> biases;
    while (!value.empty()) {
        const Text item = value.substr(0, value.find(','));
        value.remove_prefix(std::min(item.size() + 1, value.size()));
        const std::size_t equals = item.find('=');
        if (equals == Text::npos) {
            return fail(Errc::usage, "ID=BIAS pairs such as 42=-5,7=1.5 are expected, found '{}'",
                        item);
        }
        HEARTH_TRY(const std::int64_t id, read_integer(item.substr(0, equals), 0, 0x7fffffff));
        HEARTH_TRY(const float bias, read_number(item.substr(equals + 1), -1e4, 1e4));
        biases.emplace_back(static_cast<std::int32_t>(id), bias);
    }
    s.sampling.logit_bias = std::move(biases);
    return {};
}

std::string get_logit_bias(const Settings& s) {
    std::string out;
    for (const auto& [id, bias] : s.sampling.logit_bias) {
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", id, bias);
    }
    return out;
}

Result<void> set_one_of(std::string& field, Text value, std::initializer_list<Text> choices) {
    if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
        return fail(Errc::usage, "one of {} is expected, found '{}'", fmt::join(choices, ", "),
                    value);
    }
    field = value;
    return {};
}

Result<void> set_kv_type(Settings& s, Text value) {
    if (value == "q8_0") {
        return fail(Errc::usage, "q8_0 is not there yet: f16 or bf16 can be used");
    }
    return set_one_of(s.engine.kv_type, value, {"f16", "bf16"});
}

Result<void> set_isa(Settings& s, Text value) {
    return set_one_of(s.engine.isa, value,
                      {"auto", "scalar", "avx2", "avxvnni", "vnni256", "avx512", "cuda"});
}

Result<void> set_context_policy(Settings& s, Text value) {
    if (value == "stop") {
        s.context_policy = ContextPolicy::stop;
    } else if (value == "drop-oldest" || value == "oldest") {
        s.context_policy = ContextPolicy::drop_oldest;
    } else if (value == "drop-middle" || value == "middle") {
        s.context_policy = ContextPolicy::drop_middle;
    } else {
        return fail(Errc::usage, "one of stop, drop-oldest, drop-middle is expected, found '{}'",
                    value);
    }
    return {};
}

std::string get_context_policy(const Settings& s) {
    switch (s.context_policy) {
        case ContextPolicy::stop:
            return "stop";
        case ContextPolicy::drop_oldest:
            return "drop-oldest";
        case ContextPolicy::drop_middle:
            return "drop-middle";
    }
    return "";
}

Result<void> set_template(Settings& s, Text value) {
    const auto names = inspect::template_names();
    const bool is_source = value.find("{%") != Text::npos || value.find("{{") != Text::npos;
    if (value.empty() || is_source || std::find(names.begin(), names.end(), value) != names.end()) {
        s.chat_template = value;
        return {};
    }
    std::ifstream file{std::string(value)};
    std::stringstream source;
    if (!file || !(source << file.rdbuf())) {
        return fail(Errc::usage, "a readable file or one of {} is expected, found '{}'",
                    fmt::join(names, ", "), value);
    }
    s.chat_template = source.str();
    return {};
}

std::string get_template(const Settings& s) {
    if (s.chat_template.empty()) return "the model's";
    if (s.chat_template.find('{') == std::string::npos) return s.chat_template;
    return fmt::format("{} bytes of Jinja", s.chat_template.size());
}

using S = SamplingParams;

Result<void> set_draft(Settings& s, Text value) {
    if (value.empty()) {
        return fail(Errc::usage, "auto, off, lookup or the name of a model is expected");
    }
    s.draft = value;
    return {};
}

const std::vector<SettingRow> kRows = {
    {"temperature", "temp", "--temp,--temperature", "", "general.sampling.temp",
     "how freely to choose; 0 = always the likeliest token", false,
     [](Settings& s, Text v) { return set_float<&S::temperature>(s, v, 0, 100); },
     get_float<&S::temperature>},
    {"top_k", "", "--top-k", "", "general.sampling.top_k", "only the k likeliest tokens; 0 = off",
     false, [](Settings& s, Text v) { return set_int<&S::top_k>(s, v, 0); }, get_int<&S::top_k>},
    {"top_p", "", "--top-p", "", "general.sampling.top_p",
     "the likeliest tokens up to this sum of probability; 1 = off", false,
     [](Settings& s, Text v) { return set_float<&S::top_p>(s, v, 0, 1); }, get_float<&S::top_p>},
    {"min_p", "", "--min-p", "", "general.sampling.min_p",
     "drop tokens below this share of the likeliest; 0 = off", false,
     [](Settings& s, Text v) { return set_float<&S::min_p>(s, v, 0, 1); }, get_float<&S::min_p>},
    {"typical_p", "typical", "--typical-p", "", "", "locally typical tokens only; 1 = off", false,
     [](Settings& s, Text v) { return set_float<&S::typical_p>(s, v, 0, 1); },
     get_float<&S::typical_p>},
    {"repeat_penalty", "", "--repeat-penalty", "", "general.sampling.penalty_repeat",
     "against tokens that came before; 1 = off", false,
     [](Settings& s, Text v) { return set_float<&S::repeat_penalty>(s, v, 0.01, 100); },
     get_float<&S::repeat_penalty>},
    {"repeat_last_n", "", "--repeat-last-n", "", "general.sampling.penalty_last_n",
     "tokens that the penalties look back; -1 = all", false,
     [](Settings& s, Text v) { return set_int<&S::repeat_last_n>(s, v, -1); },
     get_int<&S::repeat_last_n>},
    {"frequency_penalty", "", "--frequency-penalty", "", "", "against frequent tokens; 0 = off",
     false, [](Settings& s, Text v) { return set_float<&S::frequency_penalty>(s, v, -100, 100); },
     get_float<&S::frequency_penalty>},
    {"presence_penalty", "", "--presence-penalty", "", "", "against tokens used once; 0 = off",
     false, [](Settings& s, Text v) { return set_float<&S::presence_penalty>(s, v, -100, 100); },
     get_float<&S::presence_penalty>},
    {"logit_bias", "", "--logit-bias", "", "", "added to the logits of tokens: ID=BIAS,…", false,
     set_logit_bias, get_logit_bias},
    {"seed", "", "--seed", "", "", "the same seed repeats an answer; random = a new one each time",
     false, set_seed, get_seed},
    {"max_tokens", "num_predict n_predict", "--max-tokens", "", "",
     "longest answer; -1 = until the context is full", false,
     [](Settings& s, Text v) { return set_int<&S::max_tokens>(s, v, -1); },
     get_int<&S::max_tokens>},
    {"stop", "", "--stop", "", "", "text that ends the answer (may be repeated)", false, set_stop,
     [](const Settings& s) { return show_strings(s.sampling.stop); }},
    {"ignore_eos", "", "--ignore-eos", "", "", "on = go on where the model would end", false,
     [](Settings& s, Text v) -> Result<void> {
         HEARTH_TRY(s.sampling.ignore_eos, read_switch(v));
         return {};
     },
     [](const Settings& s) { return std::string(s.sampling.ignore_eos ? "on" : "off"); }},
    {"template", "chat_template", "--template", "", "",
     "chat template: a built-in name or a Jinja file", false, set_template, get_template},
    {"draft", "model_draft", "--draft", "HEARTH_DRAFT", "",
     "guess ahead, never changing the answer: lookup, off, auto, or a small model's name", false,
     set_draft, [](const Settings& s) { return s.draft; }},
    {"context", "num_ctx ctx_size n_ctx", "--ctx,--ctx-size", "HEARTH_CONTEXT", "",
     "tokens that a chat may hold; 0 = the model's, at most 8192", true,
     [](Settings& s, Text v) -> Result<void> {
         HEARTH_TRY(s.engine.context_tokens, read_token_count(v));
         return {};
     },
     [](const Settings& s) { return std::to_string(s.engine.context_tokens); }},
    {"context_policy", "overflow", "--context-policy,--overflow", "", "",
     "when the context is full: stop, drop-oldest, drop-middle", false, set_context_policy,
     get_context_policy},
    {"kv_type", "", "--kv-type", "HEARTH_KV_TYPE", "",
     "what keys and values are kept in: f16, bf16", true, set_kv_type,
     [](const Settings& s) { return s.engine.kv_type; }},
    {"keep_alive", "", "--keep-alive", "HEARTH_KEEP_ALIVE", "",
     "idle time until the model leaves memory: 300, 5m, never", true,
     [](Settings& s, Text v) -> Result<void> {
         HEARTH_TRY(s.engine.keep_alive_s, read_duration_s(v));
         return {};
     },
     [](const Settings& s) { return std::to_string(s.engine.keep_alive_s); }},
    {"cache_budget", "", "--cache-budget", "HEARTH_CACHE_BUDGET", "",
     "disk space for what was computed, so that chats reopen fast: auto, off, 500M, 10G", true,
     [](Settings& s, Text v) -> Result<void> {
         HEARTH_TRY(s.engine.cache_budget_bytes, read_budget(v));
         return {};
     },
     [](const Settings& s) { return show_budget(s.engine.cache_budget_bytes); }},
    {"threads", "num_thread n_threads", "--threads,-t", "", "", "CPU threads; 0 = automatic", true,
     [](Settings& s, Text v) -> Result<void> {
         HEARTH_TRY(const std::int64_t number, read_integer(v, 0, 1024));
         s.engine.n_threads = static_cast<int>(number);
         return {};
     },
     [](const Settings& s) { return std::to_string(s.engine.n_threads); }},
    {"isa", "", "--isa", "", "",
     "what computes: auto, scalar, avx2, avxvnni, vnni256, avx512, cuda", true, set_isa,
     [](const Settings& s) { return s.engine.isa; }},
    {"prefill_chunk", "", "--prefill-chunk", "", "", "prompt tokens per step; 0 = automatic", true,
     [](Settings& s, Text v) -> Result<void> {
         HEARTH_TRY(const std::int64_t number, read_integer(v, 0, 65536));
         s.engine.prefill_chunk = static_cast<int>(number);
         return {};
     },
     [](const Settings& s) { return std::to_string(s.engine.prefill_chunk); }},
};

/// "Top-K" -> "top_k"
std::string normal_name(Text name) {
    std::string out;
    for (const char c : name) {
        out += c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return out;
}

bool has_word(Text words, Text word) {
    while (!words.empty()) {
        const Text first = words.substr(0, words.find(' '));
        if (first == word) return true;
        words.remove_prefix(std::min(first.size() + 1, words.size()));
    }
    return false;
}

/// Calls `visit(origin, layer)` from the weakest to the strongest.
template <typename Visit>
void for_each_layer(const SettingLayers& layers, Visit visit) {
    visit(Origin::model_card, layers.model_card);
    visit(Origin::model_file, layers.model_file);
    visit(Origin::config, layers.config);
    visit(Origin::chat, layers.chat);
    visit(Origin::environment, layers.environment);
    visit(Origin::flag, layers.flag);
}

}  // namespace

const char* origin_name(Origin origin) {
    switch (origin) {
        case Origin::built_in:
            return "built in";
        case Origin::model_card:
            return "model card";
        case Origin::model_file:
            return "model file";
        case Origin::config:
            return "config file";
        case Origin::chat:
            return "this chat";
        case Origin::environment:
            return "environment";
        case Origin::flag:
            return "command line";
    }
    return "";
}

const std::vector<SettingRow>& setting_rows() { return kRows; }

const SettingRow* find_setting(std::string_view name) {
    const std::string wanted = normal_name(name);
    for (const SettingRow& row : kRows) {
        if (wanted == row.name || has_word(row.aliases, wanted)) return &row;
    }
    return nullptr;
}

Result<void> put_setting(SettingLayer& layer, std::string_view name, std::string_view value) {
    const SettingRow* row = find_setting(name);
    if (row == nullptr) {
        std::vector<const char*> names;
        for (const SettingRow& known : kRows) names.push_back(known.name);
        return fail(Errc::usage, "there is no setting '{}'; there are {}", name,
                    fmt::join(names, ", "));
    }
    Settings scratch;
    if (auto set = row->set(scratch, value); !set) {
        return fail(Errc::usage, "{}: {}", row->name, set.error().what);
    }
    // A template file is read once: what is kept with a chat must not depend on a path.
    const bool is_template = Text(row->name) == "template";
    layer[row->name] = is_template ? scratch.chat_template : std::string(value);
    return {};
}

Settings resolve_settings(const SettingLayers& layers, std::vector<std::string>* notes) {
    Settings settings;
    for_each_layer(layers, [&](Origin origin, const SettingLayer& layer) {
        for (const SettingRow& row : kRows) {
            const auto found = layer.find(row.name);
            if (found == layer.end()) continue;
            const auto set = row.set(settings, found->second);
            if (!set && notes != nullptr) {
                notes->push_back(fmt::format("{} ({}) is left out: {}", row.name,
                                             origin_name(origin), set.error().what));
            }
        }
    });
    return settings;
}

std::vector<SettingValue> describe_settings(const SettingLayers& layers) {
    const Settings settings = resolve_settings(layers);
    std::vector<SettingValue> table;
    for (const SettingRow& row : kRows) {
        SettingValue value{row.name, row.get(settings), row.help, Origin::built_in};
        for_each_layer(layers, [&](Origin origin, const SettingLayer& layer) {
            const auto found = layer.find(row.name);
            Settings scratch;
            if (found != layer.end() && row.set(scratch, found->second)) value.origin = origin;
        });
        table.push_back(std::move(value));
    }
    return table;
}

std::string settings_to_json(const SettingLayer& layer) {
    if (layer.empty()) return "";
    return nlohmann::json(layer).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

SettingLayer settings_from_json(const std::string& json) {
    SettingLayer layer;
    const auto object = nlohmann::json::parse(json, nullptr, false);
    if (!object.is_object()) return layer;
    for (const auto& [name, value] : object.items()) {
        if (value.is_string()) (void)put_setting(layer, name, value.get<std::string>());
    }
    return layer;
}

SettingLayer settings_from_metadata(
    const std::vector<std::pair<std::string, std::string>>& metadata) {
    SettingLayer layer;
    for (const auto& [key, value] : metadata) {
        for (const SettingRow& row : kRows) {
            if (*row.metadata != '\0' && key == row.metadata) {
                (void)put_setting(layer, row.name, value);
            }
        }
    }
    return layer;
}

}  // namespace hearth
