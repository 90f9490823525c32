// hearth bench MODEL --draft auto|lookup|NAME: answers by kind of task with and without drafts, in
// one run: how many drafts are accepted, and what that gains.

#include <cstdio>
#include <optional>

#include <nlohmann/json.hpp>

#include "app/draft_chooser.h"
#include "app/session.h"
#include "app/verbs.h"

namespace hearth {
namespace {

constexpr int kAnswerTokens = 192;

struct Task {
    const char* kind;
    const char* prompt;
    int most_tokens = kAnswerTokens;
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
};

Result<Answer> ask(Engine& engine, const std::string& model_path, const Task& task,
                   const DraftChoice& draft) {
    Request request;
    request.conversation = "bench";
    request.model_path = model_path;
    request.messages = {{"user", prompt_of(task), {}, {}}};
    request.sampling.temperature = 0;
    request.sampling.max_tokens = task.most_tokens;
    request.draft = draft;
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
                engine.forget("bench");
                return answer;
            }
        }
    }
}

struct Row {
    const char* kind;
    Answer plain, drafted;
    double speedup() const {
        return plain.stats.decode_ms / std::max(1e-9, drafted.stats.decode_ms);
    }
};

/// Alternating; of each the fastest, since what disturbs a run only slows it.
Result<Row> measure(Engine& engine, const std::string& model_path, const Task& task,
                    const DraftChoice& draft, int repeats) {
    DraftChoice none;
    none.lookup = false;
    Row row{task.kind, {}, {}};
    for (int i = 0; i < repeats; ++i) {
        HEARTH_TRY(Answer plain, ask(engine, model_path, task, none));
        HEARTH_TRY(Answer drafted, ask(engine, model_path, task, draft));
        if (plain.ids != drafted.ids) {
            return fail(Errc::failed,
                        "the answers with and without drafts differ for the task '{}'; this is a "
                        "bug, please report it with the names of both models",
                        task.kind);
        }
        if (i == 0 || plain.stats.decode_ms < row.plain.stats.decode_ms) row.plain = plain;
        if (i == 0 || drafted.stats.decode_ms < row.drafted.stats.decode_ms) row.drafted = drafted;
    }
    return row;
}

void print_row(const Row& row) {
    const SpeculationStats& s = row.drafted.stats.speculation;
    const double accepted = s.drafted > 0 ? 100.0 * s.accepted / s.drafted : 0;
    const double per_step = s.steps > 0 ? double(s.accepted) / s.steps : 0;
    fmt::print("{:<10} {:>7} {:>9.1f} {:>9.1f} {:>8.2f} {:>9} {:>8.0f} % {:>9.2f}  {}\n", row.kind,
               row.plain.stats.completion_tokens, row.plain.stats.decode_tok_s(),
               row.drafted.stats.decode_tok_s(), row.speedup(), s.drafted, accepted, per_step,
               printable(s.drafter.empty() ? "none" : s.drafter));
    std::fflush(stdout);
}

nlohmann::ordered_json to_json(const Row& row) {
    const SpeculationStats& s = row.drafted.stats.speculation;
    return {{"task", row.kind},
            {"tokens", row.plain.stats.completion_tokens},
            {"plain_tok_s", row.plain.stats.decode_tok_s()},
            {"drafted_tok_s", row.drafted.stats.decode_tok_s()},
            {"speedup", row.speedup()},
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
            "task        tokens   plain/s  drafts/s  speedup   drafted   accepted  per step  by\n");
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
