// hearth bench MODEL: prefill and decode speed at several context lengths.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "app/session.h"
#include "app/verbs.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

void print_row(const inspect::BenchRow& row) {
    fmt::print("{:>8}  {:>15.1f}  {:>14.1f}  {:>7.1f}  {:>9.0f} %\n", row.context,
               row.prefill_tok_s, row.decode_tok_s, row.gb_s, 100 * row.roof_share);
    std::fflush(stdout);
}

void print_json(const inspect::BenchResult& result) {
    nlohmann::ordered_json json = {
        {"model", result.model},         {"backend", result.backend},
        {"load_ms", result.load_ms},     {"weight_bytes", result.weight_bytes},
        {"read_gb_s", result.read_gb_s}, {"int8_gops", result.int8_gops}};
    json["rows"] = nlohmann::ordered_json::array();
    for (const inspect::BenchRow& row : result.rows) {
        json["rows"].push_back({{"context", row.context},
                                {"prefill_tok_s", row.prefill_tok_s},
                                {"decode_tok_s", row.decode_tok_s},
                                {"gb_s", row.gb_s},
                                {"roof_share", row.roof_share}});
    }
    std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

int verb_bench(const Options& options) {
    const auto path = model_path_of(options);
    if (!path) return tell_error(path.error());
    EngineOptions engine = resolve_settings(options.settings).engine;
    const auto progress = [&options](const inspect::BenchRow& row) {
        if (!options.json) print_row(row);
    };
    if (!options.json)
        fmt::print(" context  prefill tokens/s  decode tokens/s     GB/s  of the roof\n");
    const auto result = inspect::bench(*path, options.contexts, engine, options.repeats, progress);
    if (!result) return tell_error(result.error());
    if (options.json) {
        print_json(*result);
        return 0;
    }
    fmt::print("{}, {}, {} of weights, loaded in {:.0f} ms\n", result->model, result->backend,
               show_bytes(result->weight_bytes), result->load_ms);
    fmt::print("the roof: {:.1f} GB/s read, {:.0f} G int8 operations/s\n", result->read_gb_s,
               result->int8_gops);
    return 0;
}

}  // namespace hearth
