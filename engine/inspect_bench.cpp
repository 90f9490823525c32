// inspect: speed at context frontiers, against what this machine's memory gives in the same run.

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/memory.h"
#include "engine/generate/setup.h"
#include "engine/inspect.h"
#include "engine/probe.h"
#include "kernels/card_roof.h"
#include "kernels/device.h"

namespace hearth::inspect {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

namespace {

using BenchClock = std::chrono::steady_clock;

constexpr int kPrefillTokens = 512;
constexpr int kDecodeTokens = 32;
constexpr int kMostColumns = 64;
constexpr int kColumnsContext = 256;  ///< tokens before a measured step of several columns

double seconds_since(BenchClock::time_point start) {
    return std::chrono::duration<double>(BenchClock::now() - start).count();
}

/// Any text will do: speed does not depend on it. The same ids in every run.
std::vector<std::int32_t> some_ids(int n, int vocab_size) {
    std::vector<std::int32_t> ids;
    std::uint64_t state = 1;
    for (int i = 0; i < n; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        ids.push_back(static_cast<std::int32_t>((state >> 33) % static_cast<unsigned>(vocab_size)));
    }
    return ids;
}

/// Bytes that one decoded token reads: every weight but the embedding table (a row of it), unless
/// that is the output head too, and the visible keys and values.
double bytes_per_token(const Model& model, DType kv, int context) {
    std::int64_t bytes = model.weight_bytes();
    if (model.weights.lm_head.data != model.weights.token_embedding.data) {
        bytes -= model.weights.token_embedding.bytes();
    }
    for (const AttentionSpec& a : model.config.attention) {
        const int visible = a.window > 0 ? std::min(a.window, context) : context;
        bytes += 2 * visible * row_bytes(kv, std::int64_t{a.n_kv_heads} * a.head_dim);
    }
    return static_cast<double>(bytes);
}

Result<BenchRow> measure(Probe& probe, int context, std::span<const std::int32_t> ids, int repeats,
                         double read_gb_s) {
    BenchRow row;
    row.context = context;
    probe.rewind(0);
    HEARTH_TRY_VOID(probe.feed(ids.first(static_cast<std::size_t>(context)), {}));
    std::vector<double> prefill, decode;
    for (int r = 0; r < repeats; ++r) {
        const auto start = BenchClock::now();
        HEARTH_TRY_VOID(
            probe.feed(ids.subspan(static_cast<std::size_t>(context), kPrefillTokens), {}));
        prefill.push_back(seconds_since(start));
        probe.rewind(context);
    }
    for (int r = 0; r < repeats; ++r) {
        for (int i = 0; i < kDecodeTokens; ++i) {
            const auto start = BenchClock::now();
            HEARTH_TRY_VOID(probe.feed_last(ids.subspan(static_cast<std::size_t>(context + i), 1)));
            decode.push_back(seconds_since(start));
        }
        probe.rewind(context);
    }
    row.prefill_tok_s = kPrefillTokens / median(prefill);
    const double token_s = median(decode);
    row.decode_tok_s = 1.0 / token_s;
    row.gb_s = bytes_per_token(probe.model(), probe.kv_type(), context + kDecodeTokens / 2) * 1e-9 /
               token_s;
    row.roof_share = read_gb_s > 0 ? row.gb_s / read_gb_s : 0;
    return row;
}

/// Multiply-adds per prompt token, times two: the matrices of the layers (the output head works for
/// the last token only).
double ops_per_token(const Model& model) {
    double elements = 0;
    for (const LayerWeights& layer : model.weights.layers) {
        for (const TensorView* w : {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.w_gate,
                                    &layer.w_up, &layer.w_down}) {
            elements += static_cast<double>(w->rows) * static_cast<double>(w->cols);
        }
    }
    return 2 * elements;
}

Result<BenchPrompt> measure_prompt(Probe& probe, std::span<const std::int32_t> ids, int repeats,
                                   double int8_gops) {
    std::vector<double> times;
    for (int r = 0; r < repeats; ++r) {
        probe.rewind(0);
        const auto start = BenchClock::now();
        HEARTH_TRY_VOID(probe.feed_last(ids));
        times.push_back(seconds_since(start));
    }
    BenchPrompt out;
    out.tokens = static_cast<int>(ids.size());
    out.tok_s = static_cast<double>(ids.size()) / median(times);
    if (int8_gops > 0) {
        out.peak_share = out.tok_s * ops_per_token(probe.model()) * 1e-9 / int8_gops;
    }
    return out;
}

/// Steps of each size take turns, so that a machine whose speed drifts does not favour one.
Result<std::vector<BenchColumns>> measure_columns(Probe& probe, const std::vector<int>& columns,
                                                  std::span<const std::int32_t> ids, int repeats) {
    probe.rewind(0);
    HEARTH_TRY_VOID(probe.feed(ids.first(kColumnsContext), {}));
    std::vector<std::vector<double>> times(columns.size());
    for (int r = 0; r < 3 * repeats; ++r) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto n = static_cast<std::size_t>(columns[i]);
            const auto start = BenchClock::now();
            HEARTH_TRY_VOID(
                probe.feed(ids.subspan(kColumnsContext, n), [](int, std::span<const float>) {}));
            times[i].push_back(seconds_since(start));
            probe.rewind(kColumnsContext);
        }
    }
    std::vector<BenchColumns> out;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const double ms = median(times[i]) * 1e3;
        out.push_back({columns[i], ms, out.empty() ? 1.0 : ms / out.front().step_ms});
    }
    return out;
}

Result<void> check_plan(const BenchPlan& plan) {
    for (const int c : plan.contexts) {
        if (c < 0) return fail(Errc::usage, "a context must be 0 or more tokens, found {}", c);
    }
    for (const int n : plan.prompts) {
        if (n < 1) return fail(Errc::usage, "a prompt must be 1 or more tokens, found {}", n);
    }
    for (const int n : plan.columns) {
        if (n < 1 || n > kMostColumns) {
            return fail(Errc::usage, "a step has between 1 and {} columns, found {}", kMostColumns,
                        n);
        }
    }
    return {};
}

int longest(const std::vector<int>& lengths) {
    return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

}  // namespace

Result<BenchResult> bench(const std::string& model_path, const BenchPlan& plan,
                          const EngineOptions& options,
                          const std::function<void(const BenchRow&)>& progress) {
    HEARTH_TRY_VOID(check_plan(plan));
    const int repeats = std::max(1, plan.repeats);
    const int chunk = options.prefill_chunk > 0 ? options.prefill_chunk : kPrefillTokens;
    const int n_positions = std::max({longest(plan.contexts) + kPrefillTokens,
                                      longest(plan.prompts), kColumnsContext + kMostColumns});
    const auto start = BenchClock::now();
    HEARTH_TRY(const auto probe, Probe::make(model_path, options, {n_positions, chunk, 0}));
    BenchResult result;
    result.load_ms = seconds_since(start) * 1e3;
    result.model = probe->model().config.name;
    result.backend = backend_text(probe->backend());
    result.weight_bytes = probe->model().weight_bytes();
    if (as_card(probe->backend()) != nullptr) {
        const CardRoof roof = measure_card_roof();
        result.read_gb_s = roof.read_gb_s;
        result.int8_gops = roof.int8_gops;
    } else {
        const CpuRoof roof = measure_cpu_roof(probe->backend().info().n_threads);
        result.read_gb_s = roof.read_gb_s;
        result.int8_gops = roof.int8_gops;
    }
    const auto ids = some_ids(n_positions, probe->model().config.vocab_size);
    HEARTH_TRY_VOID(probe->feed(std::span(ids).first(kPrefillTokens), {}));  // warms caches
    for (const int c : plan.contexts) {
        HEARTH_TRY(const BenchRow row, measure(*probe, c, ids, repeats, result.read_gb_s));
        result.rows.push_back(row);
        if (progress) progress(row);
    }
    for (const int n : plan.prompts) {
        const auto prompt = std::span(ids).first(static_cast<std::size_t>(n));
        HEARTH_TRY(const BenchPrompt row,
                   measure_prompt(*probe, prompt, repeats, result.int8_gops));
        result.prompts.push_back(row);
    }
    HEARTH_TRY(result.columns, measure_columns(*probe, plan.columns, ids, repeats));
    result.memory_bytes = resident_memory_bytes();
    return result;
}

}  // namespace hearth::inspect
