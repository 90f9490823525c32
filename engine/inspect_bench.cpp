// inspect: speed at context frontiers, against what this machine's memory gives in the same run.

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/generate/setup.h"
#include "engine/inspect.h"
#include "engine/probe.h"

namespace hearth::inspect {

namespace {

using BenchClock = std::chrono::steady_clock;

constexpr int kPrefillTokens = 512;
constexpr int kDecodeTokens = 32;

double seconds_since(BenchClock::time_point start) {
    return std::chrono::duration<double>(BenchClock::now() - start).count();
}

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    const std::size_t n = v.size();
    return n % 2 == 1 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
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

}  // namespace

Result<BenchResult> bench(const std::string& model_path, const std::vector<int>& contexts,
                          const EngineOptions& options, int repeats,
                          const std::function<void(const BenchRow&)>& progress) {
    int longest = 0;
    for (const int c : contexts) {
        if (c < 0) return fail(Errc::usage, "a context must be 0 or more tokens, found {}", c);
        longest = std::max(longest, c);
    }
    const int chunk = options.prefill_chunk > 0 ? options.prefill_chunk : kPrefillTokens;
    const auto start = BenchClock::now();
    HEARTH_TRY(const auto probe,
               Probe::make(model_path, options, {longest + kPrefillTokens, chunk, 0}));
    BenchResult result;
    result.load_ms = seconds_since(start) * 1e3;
    result.model = probe->model().config.name;
    result.backend = backend_text(probe->backend());
    result.weight_bytes = probe->model().weight_bytes();
    const CpuRoof roof = measure_cpu_roof(probe->backend().info().n_threads);
    result.read_gb_s = roof.read_gb_s;
    result.int8_gops = roof.int8_gops;
    const auto ids = some_ids(longest + kPrefillTokens, probe->model().config.vocab_size);
    HEARTH_TRY_VOID(probe->feed(std::span(ids).first(kPrefillTokens), {}));  // warms caches
    for (const int c : contexts) {
        HEARTH_TRY(const BenchRow row,
                   measure(*probe, c, ids, std::max(1, repeats), roof.read_gb_s));
        result.rows.push_back(row);
        if (progress) progress(row);
    }
    return result;
}

}  // namespace hearth::inspect
