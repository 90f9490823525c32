#include "app/options.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <unistd.h>

#include "app/config_file.h"
#include "app/environment.h"
#include "app/help_text.h"
#include "app/setting_values.h"
#include "app/text_input.h"

namespace hearth {
namespace {

/// Everything that a parse collects before it becomes Options.
struct Draft {
    Options options;
    std::string data_dir, prompt_flag, ids_text, contexts_text, prompts_text, columns_text, to_text;
    bool prompt_given = false;
    std::map<std::string, std::string> setting_texts;       ///< row name -> text
    std::map<std::string, std::vector<std::string>> stops;  ///< repeatable rows
    std::vector<std::string> words;                         ///< positionals, in order
};

ParsedOptions leave(int exit_code, std::string text) {
    ParsedOptions parsed;
    parsed.exit_code = exit_code;
    parsed.text = std::move(text);
    return parsed;
}

ParsedOptions usage_error(const std::string& sentence, const char* verb = nullptr) {
    return leave(2, fmt::format("hearth: {}\nTry `hearth help{}{}`.\n", sentence,
                                verb != nullptr ? " " : "", verb != nullptr ? verb : ""));
}

void add_common(CLI::App& app, Draft& draft) {
    Options& o = draft.options;
    app.add_option("--data-dir", draft.data_dir, "folder for chats, models, history and log");
    app.add_flag("--portable", o.portable, "everything in data/ beside the program");
    app.add_flag("-q,--quiet", o.quiet, "no notes and no progress");
    app.add_flag("--no-log,--private", o.no_log, "store nothing");
    app.add_flag("--json", o.json, "machine-readable output");
    app.add_flag_callback(
        "--offline", [] {}, "hearth never opens the network by itself; accepted for scripts");
}

/// Flags of the settings table; only those of the engine when `engine_only`.
void add_settings(CLI::App& app, Draft& draft, bool engine_only) {
    for (const SettingRow& row : setting_rows()) {
        const std::string name = row.name;
        if (engine_only && !row.engine_wide) continue;
        if (name == "stop") {
            app.add_option(row.flags, draft.stops[name], row.help)
                ->expected(1)
                ->allow_extra_args(false)
                ->take_all();
        } else if (name == "ignore_eos") {
            app.add_flag_callback(
                row.flags, [&draft, name] { draft.setting_texts[name] = "on"; }, row.help);
        } else {
            app.add_option_function<std::string>(
                row.flags, [&draft, name](const std::string& v) { draft.setting_texts[name] = v; },
                row.help);
        }
    }
}

void add_run(CLI::App& app, Draft& draft) {
    Options& o = draft.options;
    app.add_option("-m,--model", o.model, "model: a name or a .gguf file");
    app.add_option_function<std::string>(
        "-p,--prompt",
        [&draft](const std::string& v) {
            draft.prompt_flag = v;
            draft.prompt_given = true;
        },
        "the question; - = standard input");
    app.add_option_function<std::string>(
        "-s,--system", [&o](const std::string& v) { o.system = v; }, "system prompt");
    app.add_option("-f,--file", o.files, "a text file before the prompt (may be repeated)")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    app.add_option("--chat", o.chat, "go on with this conversation (title or id), or begin it");
    app.add_flag("-c,--continue", o.continue_chat, "go on with the last conversation");
    app.add_flag("--stats,--verbose", o.stats, "speed and settings on stderr");
    app.add_flag_callback(
        "--no-stream", [&o] { o.stream = false; }, "print the answer whole");
    app.add_option("--ids", draft.ids_text, "begin with these token ids (with --raw)");
    app.add_flag("--raw", o.raw, "no chat template");
    add_settings(app, draft, false);
}

void add_inspect(CLI::App& app, Draft& draft) {
    Options& o = draft.options;
    app.add_option("-m,--model", o.model, "model: a name or a .gguf file");
    app.add_flag("--special", o.special, "tokenize: control tokens in the text count as such");
    app.add_option("--ids", draft.ids_text, "token ids: 1,2,3 or @FILE");
    app.add_option("--template-file", o.template_file, "template: a Jinja file");
    app.add_option("--context", o.context_file, "template: JSON file with messages and so on");
    app.add_option("--top", o.top, "logits: how many per position")->check(CLI::Range(0, 1000000));
    app.add_option_function<std::string>(
           "--positions", [&o](const std::string& v) { o.all_positions = v == "all"; },
           "logits: last or all")
        ->check(CLI::IsMember({"last", "all"}));
    app.add_option("--chunk", o.chunk, "logits: tokens per pass")->check(CLI::Range(1, 65536));
}

void add_verb(CLI::App& app, Draft& draft) {
    Options& o = draft.options;
    switch (o.verb) {
        case Verb::run:
            return add_run(app, draft);
        case Verb::window:
            return add_settings(app, draft, true);
        case Verb::inspect:
            add_inspect(app, draft);
            // --context names a file here, so the engine's rows come without it.
            for (const char* name : {"threads", "isa", "kv_type"}) {
                app.add_option_function<std::string>(
                    find_setting(name)->flags,
                    [&draft, name](const std::string& v) { draft.setting_texts[name] = v; },
                    find_setting(name)->help);
            }
            return;
        case Verb::bench:
            app.add_option("-m,--model", o.model, "model: a name or a .gguf file");
            app.add_option("--contexts", draft.contexts_text,
                           "decode and prefill after so many tokens: 0,2048,8192");
            app.add_option("--prompts", draft.prompts_text,
                           "prefill of so many tokens: 64,512,2048; none = leave out");
            app.add_option("--columns", draft.columns_text,
                           "a step of so many tokens: 1,2,3,4,6,8,12,16; none = leave out");
            app.add_option("--draft", o.bench_draft,
                           "answers by task with and without drafts: lookup, auto, or a model");
            app.add_option("--compare", o.compare_file, "JSON of an earlier run, for ratios");
            app.add_option("--repeats", o.repeats, "runs per row; the median counts")
                ->check(CLI::Range(1, 1000));
            return add_settings(app, draft, true);
        case Verb::show:
            app.add_option("-m,--model", o.model, "model: a name or a .gguf file");
            return;
        case Verb::history:
            app.add_option("--limit", o.limit, "how many")->check(CLI::Range(1, 1000000));
            app.add_option("--search", o.query, "only those that contain this text");
            app.add_flag_callback(
                "--trash", [&o] { o.folder = ChatFolder::trash; }, "those that were removed");
            app.add_flag_callback(
                "--archived", [&o] { o.folder = ChatFolder::archived; }, "those of the archive");
            return;
        case Verb::cache:
            app.add_option("--to", draft.to_text, "prune: keep at most this much: 0, 500M, 2G");
            app.add_option_function<std::string>(
                find_setting("cache_budget")->flags,
                [&draft](const std::string& v) { draft.setting_texts["cache_budget"] = v; },
                find_setting("cache_budget")->help);
            return;
        case Verb::rm:
            app.add_flag("--undo", o.undo, "bring back the conversation removed last");
            app.add_flag("--forever", o.forever,
                         "no way back; also for a number of `hearth history --trash`");
            return;
        case Verb::export_chats:
            app.add_option("--format", o.format, "md, json or html; else by the file's name")
                ->check(CLI::IsMember({"md", "markdown", "json", "html"}));
            app.add_option("-o,--output", o.output, "a new file; else standard output");
            app.add_flag("--all", o.all, "every conversation");
            return;
        case Verb::import_chats:
        case Verb::backup:
        case Verb::ls:
        case Verb::paths:
        case Verb::doctor:
        case Verb::version:
        case Verb::help:
            return;
    }
}

/// Takes positionals out of CLI11's leftovers; an error sentence for unknown flags.
std::string take_words(const CLI::App& app, Draft& draft) {
    for (const std::string& word : app.remaining()) {
        const bool is_flag = word.size() > 1 && word.front() == '-' &&
                             (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])));
        if (!is_flag) {
            draft.words.push_back(word);
            continue;
        }
        if (std::string sentence = not_yet(word); !sentence.empty()) return sentence;
        std::vector<std::string> known;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
        }
        const std::string near = nearest(word, known);
        return fmt::format("there is no flag {}{}", word,
                           near.empty() ? "" : fmt::format("; did you mean {}?", near));
    }
    return "";
}

Result<void> place_run_words(Draft& draft) {
    Options& o = draft.options;
    std::vector<std::string>& words = draft.words;
    if (o.model.empty() && !words.empty()) {
        o.model = words.front();
        words.erase(words.begin());
    }
    if (!words.empty() && draft.prompt_given) {
        return fail(Errc::usage, "the prompt is there twice: as -p and as '{}'", words.front());
    }
    if (draft.prompt_given) o.prompt = draft.prompt_flag;
    if (!words.empty()) o.prompt = fmt::format("{}", fmt::join(words, " "));
    if (!draft.ids_text.empty()) {
        HEARTH_TRY(o.ids, read_ids(draft.ids_text));
        if (!o.raw) return fail(Errc::usage, "--ids takes --raw as well: ids are used as they are");
        if (o.prompt) return fail(Errc::usage, "--ids and a prompt cannot both be given");
    }
    if (o.continue_chat && !o.chat.empty()) {
        return fail(Errc::usage, "--continue and --chat cannot both be given");
    }
    return {};
}

/// "@FILE" and "1,2,3".
Result<std::vector<std::int32_t>> ids_of(const std::string& text) {
    if (text.empty() || text.front() != '@') return read_ids(text);
    HEARTH_TRY(const std::string content, read_text_file(text.substr(1)));
    return read_ids(content);
}

Result<void> place_inspect_words(Draft& draft) {
    Options& o = draft.options;
    std::vector<std::string>& words = draft.words;
    const std::vector<std::string> topics = {"tokenize", "detokenize", "template", "logits", "nll"};
    if (words.empty() || std::find(topics.begin(), topics.end(), words[0]) == topics.end()) {
        return fail(Errc::usage, "inspect takes one of {}", fmt::join(topics, ", "));
    }
    o.topic = words[0];
    std::size_t next = 1;
    const bool takes_model = !(o.topic == "template" && !o.template_file.empty());
    if (takes_model && o.model.empty() && next < words.size()) o.model = words[next++];
    if (o.topic == "nll" && next < words.size()) o.target = words[next++];
    if (takes_model && o.model.empty()) {
        return fail(Errc::usage, "inspect {} takes a model", o.topic);
    }
    if (next < words.size()) return fail(Errc::usage, "'{}' is one argument too many", words[next]);
    if (o.topic == "nll" && o.target.empty()) {
        return fail(Errc::usage, "inspect nll takes a model and a text file");
    }
    if (o.topic == "template" && o.context_file.empty()) {
        return fail(Errc::usage, "inspect template takes --context FILE");
    }
    HEARTH_TRY(o.ids, ids_of(draft.ids_text));
    if ((o.topic == "detokenize" || o.topic == "logits") && draft.ids_text.empty()) {
        return fail(Errc::usage, "inspect {} takes --ids 1,2,3", o.topic);
    }
    return {};
}

Result<void> place_cache_words(Draft& draft) {
    Options& o = draft.options;
    const std::vector<std::string>& words = draft.words;
    if (words.size() > 1) return fail(Errc::usage, "'{}' is one argument too many", words[1]);
    if (!words.empty()) o.topic = words.front();
    const std::vector<std::string> topics = {"", "ls", "prune", "verify", "clear"};
    if (std::find(topics.begin(), topics.end(), o.topic) == topics.end()) {
        return fail(Errc::usage, "cache takes one of ls, prune, verify, clear, found '{}'",
                    o.topic);
    }
    if (draft.to_text.empty()) return {};
    if (o.topic != "prune") return fail(Errc::usage, "--to is for cache prune");
    HEARTH_TRY(const std::int64_t bytes, read_budget(draft.to_text));
    if (bytes == 0) return fail(Errc::usage, "--to takes a size such as 0, 500M or 2G");
    o.to_bytes = std::max<std::int64_t>(bytes, 0);  // off: nothing
    return {};
}

Result<void> place_words(Draft& draft, const std::string& verb_name) {
    Options& o = draft.options;
    if (o.verb == Verb::cache) return place_cache_words(draft);
    if (o.verb == Verb::run) return place_run_words(draft);
    if (o.verb == Verb::inspect) return place_inspect_words(draft);
    if (o.verb == Verb::import_chats) {
        if (draft.words.empty()) return fail(Errc::usage, "import takes the files to import");
        o.files = draft.words;
        return {};
    }
    std::vector<std::string*> slots;
    if (o.verb == Verb::show || o.verb == Verb::bench) {
        if (o.model.empty()) slots.push_back(&o.model);
        if (o.verb == Verb::show) slots.push_back(&o.topic);
    } else if (verb_name == "search") {
        slots.push_back(&o.query);
    } else if (o.verb == Verb::export_chats) {
        if (!o.all) slots.push_back(&o.target);
        if (o.output.empty()) slots.push_back(&o.output);
    } else if (o.verb == Verb::history || o.verb == Verb::rm || o.verb == Verb::help ||
               o.verb == Verb::backup) {
        slots.push_back(&o.target);
    }
    for (std::size_t i = 0; i < draft.words.size(); ++i) {
        if (i >= slots.size()) {
            return fail(Errc::usage, "'{}' is one argument too many", draft.words[i]);
        }
        *slots[i] = draft.words[i];
    }
    if ((o.verb == Verb::show || o.verb == Verb::bench) && o.model.empty()) {
        return fail(Errc::usage, "{} takes a model: a name of `hearth ls`, or a file", verb_name);
    }
    if (o.verb == Verb::rm && o.target.empty() && !o.undo) {
        return fail(Errc::usage, "rm takes a conversation: an id or a title of `hearth history`");
    }
    if (verb_name == "search" && o.query.empty()) {
        return fail(Errc::usage, "search takes a text");
    }
    const auto read_lengths = [](const std::string& text,
                                 std::optional<std::vector<int>>& to) -> Result<void> {
        if (text.empty()) return {};
        to.emplace();
        if (text == "none") return {};
        HEARTH_TRY(const std::vector<std::int32_t> list, read_ids(text));
        to->assign(list.begin(), list.end());
        return {};
    };
    HEARTH_TRY_VOID(read_lengths(draft.contexts_text, o.contexts));
    HEARTH_TRY_VOID(read_lengths(draft.prompts_text, o.prompts));
    HEARTH_TRY_VOID(read_lengths(draft.columns_text, o.columns));
    return {};
}

Result<void> put_flag_settings(Draft& draft) {
    SettingLayer& flags = draft.options.settings.flag;
    for (const auto& [name, values] : draft.stops) {
        if (!values.empty()) draft.setting_texts[name] = show_strings(values);
    }
    for (const auto& [name, text] : draft.setting_texts) {
        const std::string flag = find_setting(name)->flags;
        if (auto put = put_setting(flags, name, text); !put) {
            return fail(Errc::usage, "{}: {}", flag.substr(0, flag.find(',')),
                        put.error().what.substr(name.size() + 2));
        }
    }
    return {};
}

bool is_on(const std::string& value) {
    return !value.empty() && value != "0" && value != "off" && value != "false" && value != "no";
}

Result<void> add_environment(Draft& draft, Environment environment) {
    Options& o = draft.options;
    for (const SettingRow& row : setting_rows()) {
        if (*row.env == '\0') continue;
        const std::string value = environment(row.env);
        if (value.empty()) continue;
        if (auto put = put_setting(o.settings.environment, row.name, value); !put) {
            return fail(Errc::usage, "{}: {}", row.env, put.error().what);
        }
    }
    o.no_log = o.no_log || is_on(environment("HEARTH_NO_HISTORY"));
    o.portable = o.portable || has_portable_marker();
    o.paths = find_paths(environment, draft.data_dir, o.portable);
    o.places = find_places(environment, o.paths);
    o.log_level = environment("HEARTH_LOG");
    o.editor = environment("VISUAL");
    if (o.editor.empty()) o.editor = environment("EDITOR");
    o.term = environment("TERM");
    o.prefers_dark = prefers_dark(environment);
    o.has_display = !environment("DISPLAY").empty() || !environment("WAYLAND_DISPLAY").empty();
    o.stdin_tty = ::isatty(STDIN_FILENO) != 0;
    o.stdout_tty = ::isatty(STDOUT_FILENO) != 0;
    o.stderr_tty = ::isatty(STDERR_FILENO) != 0;
    o.color =
        o.stdout_tty && environment("NO_COLOR").empty() && !o.term.empty() && o.term != "dumb";
    return {};
}

void add_config(Options& o) {
    ConfigFile config = read_config_file(o.paths.config_file);
    o.settings.config = std::move(config.settings);
    o.warnings = std::move(config.warnings);
    if (o.model.empty() && (o.verb == Verb::run || o.verb == Verb::window))
        o.default_model = config.model;
    if (!o.system && !config.system.empty()) o.default_system = config.system;
    o.places.own.insert(o.places.own.begin(), config.models.begin(), config.models.end());
}

/// Finds the verb among leading flags and takes it out. `run` where argv begins with a flag of
/// run or with a model file. Empty when the first word is none of these: it is `unknown` then.
std::string take_verb(std::vector<std::string>& arguments, std::string* unknown) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string word = arguments[i];
        if (word == "--data-dir") {
            ++i;
        } else if (word == "-h" || word == "--help" || word == "--version" || word == "-V") {
            arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
            return word[1] == 'h' || word == "--help" ? "help" : "version";
        } else if (find_verb(word) != nullptr) {
            arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
            return word;
        } else if (word.rfind("--data-dir=", 0) != 0 && word != "-q" && word != "--quiet" &&
                   word != "--portable" && word != "--no-log" && word != "--json" &&
                   word != "--offline") {
            const bool is_file = word.size() > 5 && word.compare(word.size() - 5, 5, ".gguf") == 0;
            if (word.empty() || word.front() == '-' || is_file) return "run";
            *unknown = word;
            return "";
        }
    }
    return "run";
}

ParsedOptions unknown_verb(const std::string& word) {
    if (std::string sentence = not_yet(word); !sentence.empty()) {
        return usage_error("hearth " + sentence);
    }
    std::vector<std::string> known;
    for (const VerbRow& row : verb_rows()) known.push_back(row.name);
    const std::string near = nearest(word, known);
    return usage_error(fmt::format("there is no verb '{}'{}", word,
                                   near.empty()
                                       ? fmt::format("; `hearth run {}` talks with a model "
                                                     "of that name",
                                                     word)
                                       : fmt::format("; did you mean {}?", near)));
}

/// Invalid UTF-8 in argv becomes visible marks; a file's name keeps its bytes.
void clean_text(Options& o) {
    if (o.prompt) o.prompt = valid_utf8(*o.prompt);
    if (o.system) o.system = valid_utf8(*o.system);
}

ParsedOptions parse_verb(const VerbRow& row, std::vector<std::string> arguments,
                         Environment environment) {
    Draft draft;
    draft.options.verb = row.verb;
    CLI::App app(row.help, fmt::format("hearth {}", row.name));
    app.allow_extras();
    app.set_help_flag("-h,--help", "this text");
    // As everywhere: of two values for one flag the last counts. Repeatable flags say otherwise.
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    add_common(app, draft);
    add_verb(app, draft);

    // What follows `--` is never a flag.
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    std::vector<std::string> verbatim;
    if (dashes != arguments.end()) verbatim.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
    // CLI11 takes its arguments from the back.
    std::reverse(arguments.begin(), arguments.end());
    try {
        app.parse(arguments);
    } catch (const CLI::CallForHelp&) {
        return leave(
            0, fmt::format("Usage: hearth {} {} [flags]\n{}", row.name, row.arguments, app.help()));
    } catch (const CLI::ParseError& error) {
        return usage_error(error.what(), row.name);
    }
    if (std::string sentence = take_words(app, draft); !sentence.empty()) {
        return usage_error(sentence, row.name);
    }
    draft.words.insert(draft.words.end(), verbatim.begin(), verbatim.end());
    Result<void> done = place_words(draft, row.name);
    if (done) done = put_flag_settings(draft);
    if (done) done = add_environment(draft, environment);
    if (!done) return usage_error(done.error().what, row.name);
    add_config(draft.options);
    clean_text(draft.options);
    ParsedOptions parsed;
    parsed.options = std::move(draft.options);
    return parsed;
}

}  // namespace

ParsedOptions parse_options(std::vector<std::string> arguments, Environment environment) {
    std::string unknown;
    const bool bare = arguments.empty();
    const std::string verb = take_verb(arguments, &unknown);
    if (verb.empty()) return unknown_verb(unknown);
    if (verb == "version") return leave(0, version_text());
    if (verb == "help") {
        for (const std::string& word : arguments) {
            const VerbRow* of = find_verb(word);
            if (of != nullptr && of->verb != Verb::help && of->verb != Verb::version) {
                return parse_verb(*of, {"--help"}, environment);
            }
        }
        return leave(0, main_help());
    }
    ParsedOptions parsed = parse_verb(*find_verb(verb), std::move(arguments), environment);
    parsed.options.bare = bare;
    return parsed;
}

}  // namespace hearth
