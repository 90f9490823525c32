#pragma once
// Diagnosis: tokenize, template, logits, nll and bench over one model file, synchronously, without
// the engine thread. For tests and for `hearth inspect` and `hearth bench`. All JSON is text.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/engine.h"

namespace hearth::inspect {

/// {"ids":[…],"pieces":[…]}; any bytes are accepted.
Result<std::string> tokenize(const std::string& model_path, const std::string& text,
                             bool parse_special);
/// {"text":"…"}
Result<std::string> detokenize(const std::string& model_path, const std::vector<std::int32_t>& ids);
/// {"text":"…"} or {"error":"…","kind":"…"}; `context_json` as in the reference cases.
Result<std::string> render_template(const std::string& template_source,
                                    const std::string& context_json);
/// The chat template of a model file. Errors when it has none, naming the built-in ones.
Result<std::string> template_of(const std::string& model_path);

struct LogitsOptions {
    EngineOptions engine;
    int top_k = 10;
    bool all_positions = false;
    int chunk = 512;     ///< tokens per forward pass; the bits do not depend on it
    int companions = 0;  ///< other sequences computed in the same passes (invariance tests)
};
struct LogitsResult {
    std::vector<std::vector<std::pair<std::int32_t, float>>> positions;  ///< last, or all
    std::string hash;  ///< xxh3-128 over the logits of every position, in order
};
Result<LogitsResult> logits(const std::string& model_path, const std::vector<std::int32_t>& ids,
                            const LogitsOptions& options);

struct NllResult {
    int tokens = 0;
    double mean_nll = 0, perplexity = 0;
};
/// Mean of -ln p(id[i] | id[<i]) for i >= 1, from an empty context, ids as given.
Result<NllResult> nll_ids(const std::string& model_path, const std::vector<std::int32_t>& ids,
                          const EngineOptions& options);
/// The same of a text, with BOS as the model wants it.
Result<NllResult> nll(const std::string& model_path, const std::string& text,
                      const EngineOptions& options);

/// Greedy choice at each step while `forced` is fed (teacher forcing).
struct ForcedStep {
    std::int32_t top1 = 0;
    float margin = 0;  ///< top-1 minus top-2 logit
};
struct ForcedResult {
    std::vector<std::pair<std::int32_t, float>> top10;  ///< after the prompt
    std::vector<ForcedStep> steps;
};
Result<ForcedResult> teacher_forced(const std::string& model_path,
                                    const std::vector<std::int32_t>& prompt,
                                    const std::vector<std::int32_t>& forced,
                                    const EngineOptions& options);

/// What a benchmark measures; an empty list leaves its part out.
struct BenchPlan {
    std::vector<int> contexts{0, 2048, 8192};  ///< tokens there already: prefill of 512, decode
    std::vector<int> prompts{64, 512, 2048};   ///< prefill from an empty context
    std::vector<int> columns{1, 2, 3, 4, 6, 8, 12, 16};  ///< tokens of one step, each with logits
    int repeats = 3;                                     ///< the median counts
};
struct BenchRow {
    int context = 0;
    double prefill_tok_s = 0, decode_tok_s = 0;
    double gb_s = 0;        ///< weights + KV read per decoded token, per second
    double roof_share = 0;  ///< of the read bandwidth measured in the same run
};
struct BenchPrompt {
    int tokens = 0;
    double tok_s = 0;
    double peak_share = 0;  ///< of the int8 peak measured in the same run; matmuls counted only
};
struct BenchColumns {
    int columns = 0;
    double step_ms = 0;
    double ratio = 0;  ///< to the step of the first entry
};
struct BenchResult {
    std::string model, backend;
    double load_ms = 0, read_gb_s = 0, int8_gops = 0;
    std::int64_t weight_bytes = 0;
    std::int64_t memory_bytes = 0;  ///< resident at the end, mapped weights included; -1 unknown
    std::vector<BenchRow> rows;
    std::vector<BenchPrompt> prompts;
    std::vector<BenchColumns> columns;
};
/// Of an even number the mean of the two in the middle; `values` has one at least.
double median(std::vector<double> values);

/// `progress` is called with each row of the contexts as soon as it is measured.
Result<BenchResult> bench(const std::string& model_path, const BenchPlan& plan,
                          const EngineOptions& options,
                          const std::function<void(const BenchRow&)>& progress);

/// What `show` prints about a file: key, value in file order; cheap, maps only.
struct ModelCard {
    std::string name, family, template_source, tokenizer, quantization;
    std::int64_t file_bytes = 0, n_params = 0;
    int context_length = 0, n_layers = 0, hidden_size = 0, vocab_size = 0;
    std::int64_t kv_bytes_per_token = 0;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::vector<std::string> notes;  ///< "no chat template", tokenizer warnings …
};
Result<ModelCard> card(const std::string& model_path);

/// A model that may draft for another, or may not.
struct DraftCandidate {
    std::string name, path;
    std::int64_t file_bytes = 0;
    std::int64_t kv_bytes_per_token = 0;  ///< 0 = not looked at
    std::string refusal;                  ///< a sentence; "" = it may draft
};
/// Fills in who may draft for the target, by size, memory and vocabulary; the best first. The
/// target itself is left out. Errors: those of the target's file.
Result<std::vector<DraftCandidate>> draft_candidates(const std::string& target_path,
                                                     std::vector<DraftCandidate> files);

/// Rungs this machine has, threads chosen by default: for `doctor`.
std::vector<std::string> cpu_rungs();
int cpu_threads();

/// Names of the built-in chat templates.
std::vector<std::string> template_names();

}  // namespace hearth::inspect
