// hearth bench MODEL --draft auto|lookup|NAME: answers by kind of task with and without drafts, in
// one run: how many drafts are accepted, and what that gains.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/draft_chooser.h"
#include "app/session.h"
#include "app/verbs.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

constexpr int kAnswerTokens = 192;

struct Task {
    const char* kind;
    const char* prompt;
    int most_tokens = kAnswerTokens;
    double temperature = 0;
};

constexpr const char* kText =
    "The harbour office opens at seven. Boats that arrive before that time wait at the outer quay, "
    "where the water is deep enough at every tide. The officer on duty notes the name of the boat, "
    "its length and the number of people on board, and assigns a place at one of the four inner "
    "quays. Fees are paid in the office, in cash or by card, before the boat leaves. A boat that "
    "stays longer than three days pays half from the fourth day on. Water and electricity are "
    "found at every second post; the key to the posts is handed out against a deposit of ten "
    "coins. Fishing from the inner quays is not allowed. In a storm the office may close the "
    "entrance; two red lights above each other on the tower say so.";

constexpr Task kTasks[] = {
    {"chat", "Why does bread rise, and what goes wrong when it does not? Explain it to a friend."},
    {"code",
     "Write a Python class for a bank account with deposit, withdraw, transfer and a transaction "
     "history, with docstrings and type hints."},
    {"edit", "", 320},
    {"translate", ""},
    {"list", "List the numbers from 1 to 40 as English words, one per line."},
    // Nothing can be guessed here: what drafting costs when it does not pay.
    {"random", "xq7 jv lopr zz9 mwe kfi 31 trb uub ox", kAnswerTokens, 1.5},
};

std::string prompt_of(const Task& task) {
    const std::string kind = task.kind;
    if (kind == "edit") {
        return std::string(
                   "Repeat the following text word for word, but write \"ship\" instead of "
                   "\"boat\" everywhere. Answer with the text only.\n\n") +
               kText;
    }
    if (kind == "translate") {
        return std::string("Translate the following text into French.\n\n") + kText;
    }
    return task.prompt;
}

struct Answer {
    std::vector<std::int32_t> ids;
    Stats stats;
    double cpu_s = 0;  ///< processor time of all threads, prefill included
};

double process_cpu_s() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Result<Answer> ask(Engine& engine, const std::string& model_path, const Task& task,
                   const DraftChoice& draft) {
    Request request;
    request.conversation = "bench";
    request.no_disk_cache = true;  // every answer computes its prompt
    request.model_path = model_path;
    request.messages = {{"user", prompt_of(task), {}, {}}};
    request.sampling.temperature = static_cast<float>(task.temperature);
    request.sampling.seed = 1;
    request.sampling.max_tokens = task.most_tokens;
    request.draft = draft;
    const double cpu_before = process_cpu_s();
    const RequestId id = engine.submit(std::move(request));
    Answer answer;
    for (;;) {
        engine.wait(1000);
        for (Event& e : engine.poll()) {
            if (auto* text = std::get_if<event::Text>(&e)) {
                answer.ids.insert(answer.ids.end(), text->token_ids.begin(), text->token_ids.end());
            } else if (auto* loaded = std::get_if<event::Loaded>(&e)) {
                for (const std::string& note : loaded->notes) {
                    std::fprintf(stderr, "%s\n", printable(note).c_str());
                }
            } else if (auto* failed = std::get_if<event::Failed>(&e)) {
                return tl::unexpected<Error>(std::move(failed->error));
            } else if (auto* done = std::get_if<event::Done>(&e); done && done->id == id) {
                answer.stats = std::move(done->stats);
                answer.cpu_s = process_cpu_s() - cpu_before;
                engine.forget("bench");
                return answer;
            }
        }
    }
}

/// Medians of pairs: plain / drafted.
struct Row {
    const char* kind;
    Stats plain, drafted;  ///< of the last pair; the counts are the same in each
    double plain_tok_s = 0, drafted_tok_s = 0, speedup = 0, cpu_ratio = 0;
};

Result<Row> measure(Engine& engine, const std::string& model_path, const Task& task,
                    const DraftChoice& draft, int repeats) {
    DraftChoice none;
    none.lookup = false;
    Row row{task.kind, {}, {}};
    std::vector<double> plain_tok_s, drafted_tok_s, speedup, cpu_ratio;
    for (int i = 0; i < repeats; ++i) {
        // What disturbs the machine, and what runs second, favours neither.
        std::optional<Answer> plain, drafted;
        for (const bool with_drafts : {i % 2 == 1, i % 2 == 0}) {
            HEARTH_TRY(Answer answer, ask(engine, model_path, task, with_drafts ? draft : none));
            (with_drafts ? drafted : plain) = std::move(answer);
        }
        if (plain->ids != drafted->ids) {
            return fail(Errc::failed,
                        "the answers with and without drafts differ for the task '{}'; this is a "
                        "bug, please report it with the names of both models",
                        task.kind);
        }
        plain_tok_s.push_back(plain->stats.decode_tok_s());
        drafted_tok_s.push_back(drafted->stats.decode_tok_s());
        speedup.push_back(plain->stats.decode_ms / std::max(1e-9, drafted->stats.decode_ms));
        cpu_ratio.push_back(plain->cpu_s / std::max(1e-9, drafted->cpu_s));
        row.plain = plain->stats;
        row.drafted = drafted->stats;
    }
    row.plain_tok_s = inspect::median(plain_tok_s);
    row.drafted_tok_s = inspect::median(drafted_tok_s);
    row.speedup = inspect::median(speedup);
    row.cpu_ratio = inspect::median(cpu_ratio);
    return row;
}

void print_row(const Row& row) {
    const SpeculationStats& s = row.drafted.speculation;
    const double accepted = s.drafted > 0 ? 100.0 * s.accepted / s.drafted : 0;
    const double per_step = s.steps > 0 ? double(s.accepted) / s.steps : 0;
    fmt::print("{:<10} {:>7} {:>9.1f} {:>9.1f} {:>8.2f} {:>5.2f} {:>9} {:>8.0f} % {:>9.2f}  {}\n",
               row.kind, row.plain.completion_tokens, row.plain_tok_s, row.drafted_tok_s,
               row.speedup, row.cpu_ratio, s.drafted, accepted, per_step,
               printable(s.drafter.empty() ? "none" : s.drafter));
    std::fflush(stdout);
}

nlohmann::ordered_json to_json(const Row& row) {
    const SpeculationStats& s = row.drafted.speculation;
    return {{"task", row.kind},
            {"tokens", row.plain.completion_tokens},
            {"plain_tok_s", row.plain_tok_s},
            {"drafted_tok_s", row.drafted_tok_s},
            {"speedup", row.speedup},
            {"cpu_ratio", row.cpu_ratio},
            {"drafter", s.drafter},
            {"drafted", s.drafted},
            {"accepted", s.accepted},
            {"steps", s.steps},
            {"draft_ms", s.draft_ms}};
}

}  // namespace

int bench_drafts(const Options& options, const std::string& model_path) {
    std::vector<std::string> notes;
    const DraftChoice draft =
        DraftChooser(options.places).choose(options.bench_draft, model_path, notes);
    for (const std::string& note : notes) std::fprintf(stderr, "%s\n", printable(note).c_str());
    auto engine = Engine::make_local(resolve_settings(options.settings).engine);
    if (!engine) return tell_error(engine.error());
    if (!options.json) {
        fmt::print(
            "task        tokens   plain/s  drafts/s  speedup   cpu   drafted   accepted  per step  "
            "by\n");
    }
    auto json = nlohmann::ordered_json::array();
    for (const Task& task : kTasks) {
        const auto row = measure(**engine, model_path, task, draft, options.repeats);
        if (!row) return tell_error(row.error());
        if (options.json)
            json.push_back(to_json(*row));
        else
            print_row(*row);
    }
    if (options.json) std::printf("%s\n", json.dump(2).c_str());
    return 0;
}

}  // namespace hearth
