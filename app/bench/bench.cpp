// hearth bench MODEL: prefill and decode speed at several context lengths, prefill of prompts,
// steps of several tokens; as a table or JSON, beside an earlier run's.

#include <cstdio>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "app/session.h"
#include "app/verbs.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const inspect::BenchResult& result) {
    Json json = {{"model", result.model},
                 {"backend", result.backend},
                 {"load_ms", result.load_ms},
                 {"weight_bytes", result.weight_bytes},
                 {"memory_bytes", result.memory_bytes},
                 {"read_gb_s", result.read_gb_s},
                 {"int8_gops", result.int8_gops}};
    json["rows"] = Json::array();
    for (const inspect::BenchRow& row : result.rows) {
        json["rows"].push_back({{"context", row.context},
                                {"prefill_tok_s", row.prefill_tok_s},
                                {"decode_tok_s", row.decode_tok_s},
                                {"gb_s", row.gb_s},
                                {"roof_share", row.roof_share}});
    }
    json["prompts"] = Json::array();
    for (const inspect::BenchPrompt& row : result.prompts) {
        json["prompts"].push_back(
            {{"tokens", row.tokens}, {"tok_s", row.tok_s}, {"peak_share", row.peak_share}});
    }
    json["columns"] = Json::array();
    for (const inspect::BenchColumns& row : result.columns) {
        json["columns"].push_back(
            {{"columns", row.columns}, {"step_ms", row.step_ms}, {"ratio", row.ratio}});
    }
    return json;
}

Result<Json> read_earlier(const std::string& path) {
    std::ifstream file(path);
    if (!file) return fail(Errc::usage, "{} cannot be read", path);
    Json json = Json::parse(file, nullptr, false);
    if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array()) {
        return fail(Errc::usage, "{} is not what `hearth bench --json` writes", path);
    }
    return json;
}

/// now / then of `value` in the row of `list` whose `key` is `at`; nothing where there is none.
std::optional<double> ratio(const std::optional<Json>& earlier, const char* list, const char* key,
                            int at, const char* value, double now) {
    if (!earlier || !earlier->contains(list)) return std::nullopt;
    for (const Json& row : (*earlier)[list]) {
        if (!row.is_object() || row.value(key, -1) != at) continue;
        const double then = row.value(value, 0.0);
        if (then > 0) return now / then;
    }
    return std::nullopt;
}

std::string times(std::optional<double> r) { return r ? fmt::format("  x{:.2f}", *r) : ""; }

void print_row(const inspect::BenchRow& row, const std::optional<Json>& earlier) {
    const auto then = [&](const char* value, double now) {
        return times(ratio(earlier, "rows", "context", row.context, value, now));
    };
    fmt::print("{:>8}  {:>15.1f}  {:>15.1f}  {:>7.1f}  {:>9.0f} %{}{}\n", row.context,
               row.prefill_tok_s, row.decode_tok_s, row.gb_s, 100 * row.roof_share,
               then("prefill_tok_s", row.prefill_tok_s), then("decode_tok_s", row.decode_tok_s));
    std::fflush(stdout);
}

void print_rest(const inspect::BenchResult& result, const std::optional<Json>& earlier) {
    if (!result.prompts.empty()) {
        fmt::print("\n  prompt  prefill tokens/s  of the int8 peak\n");
        for (const inspect::BenchPrompt& row : result.prompts) {
            fmt::print("{:>8}  {:>16.1f}  {:>14.0f} %{}\n", row.tokens, row.tok_s,
                       100 * row.peak_share,
                       times(ratio(earlier, "prompts", "tokens", row.tokens, "tok_s", row.tok_s)));
        }
    }
    if (!result.columns.empty()) {
        fmt::print("\n columns  ms per step  to the first\n");
        for (const inspect::BenchColumns& row : result.columns) {
            fmt::print(
                "{:>8}  {:>11.2f}  {:>12.2f}{}\n", row.columns, row.step_ms, row.ratio,
                times(ratio(earlier, "columns", "columns", row.columns, "step_ms", row.step_ms)));
        }
    }
    fmt::print("\n{}, {}, {} of weights, loaded in {:.0f} ms", result.model, result.backend,
               show_bytes(result.weight_bytes), result.load_ms);
    if (result.memory_bytes >= 0) {
        fmt::print(", {} in memory", show_bytes(result.memory_bytes));
    }
    fmt::print("\nthe roof: {:.1f} GB/s read, {:.0f} G int8 operations/s\n", result.read_gb_s,
               result.int8_gops);
}

}  // namespace

int verb_bench(const Options& options) {
    const auto path = model_path_of(options);
    if (!path) return tell_error(path.error());
    if (!options.bench_draft.empty()) return bench_drafts(options, *path);
    std::optional<Json> earlier;
    if (!options.compare_file.empty()) {
        auto json = read_earlier(options.compare_file);
        if (!json) return tell_error(json.error());
        earlier = std::move(*json);
    }
    inspect::BenchPlan plan;
    if (options.contexts) plan.contexts = *options.contexts;
    if (options.prompts) plan.prompts = *options.prompts;
    if (options.columns) plan.columns = *options.columns;
    plan.repeats = options.repeats;
    const EngineOptions engine = resolve_settings(options.settings).engine;
    const auto progress = [&](const inspect::BenchRow& row) {
        if (!options.json) print_row(row, earlier);
    };
    if (!options.json && !plan.contexts.empty()) {
        fmt::print(" context  prefill tokens/s  decode tokens/s     GB/s  of the roof\n");
    }
    const auto result = inspect::bench(*path, plan, engine, progress);
    if (!result) return tell_error(result.error());
    if (options.json)
        std::printf("%s\n", to_json(*result).dump(2).c_str());
    else
        print_rest(*result, earlier);
    return 0;
}

}  // namespace hearth
