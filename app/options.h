#pragma once
// Options: argv, environment and config file become one plain struct. The only place of the whole
// program that reads environment variables.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/settings.h"
#include "engine/base/result.h"
#include "engine/models/models.h"
#include "engine/store/store_types.h"

namespace hearth {

enum class Verb {
    run,
    window,
    ls,
    show,
    history,
    rm,
    export_chats,
    import_chats,
    backup,
    paths,
    cache,
    inspect,
    bench,
    doctor,
    version,
    help
};

/// Folders and files in use; none is made by looking.
struct AppPaths {
    std::string config_file;  ///< config.toml
    std::string data_dir;     ///< chats and own models
    std::string state_dir;    ///< input history, log
    std::string cache_dir;
    std::string database() const { return data_dir + "/hearth.db"; }
    std::string own_models() const { return data_dir + "/models"; }
    std::string input_history() const { return state_dir + "/input_history"; }
    std::string log_file() const { return state_dir + "/hearth.log"; }
};

struct Options {
    Verb verb = Verb::run;

    // Everywhere.
    AppPaths paths;
    ModelPlaces places;
    SettingLayers settings;  ///< flag, environment and config are filled
    bool portable = false;
    bool json = false;
    bool quiet = false;   ///< no notes, no progress
    bool no_log = false;  ///< nothing is stored
    bool color = false;   ///< stdout is a terminal that takes colour (NO_COLOR, TERM=dumb)
    bool stdin_tty = false, stdout_tty = false, stderr_tty = false;
    bool bare = false;          ///< no verb was given, no model, no prompt: what fits the place
    bool prefers_dark = false;  ///< what the desktop asks of its windows
    bool has_display = false;   ///< DISPLAY or WAYLAND_DISPLAY
    std::string log_level;      ///< debug info warning error off
    std::string editor;         ///< VISUAL, EDITOR or ""
    std::string term;           ///< TERM
    std::vector<std::string> warnings;  ///< from the config file, for stderr

    // run
    std::string model;                  ///< "" = default_model, the last one used, or the only one
    std::string default_model;          ///< of the config file
    std::string default_system;         ///< of the config file, for new chats
    std::optional<std::string> prompt;  ///< "-" = stdin is the prompt
    std::optional<std::string> system;
    std::vector<std::string> files;  ///< documents; import: the files
    std::string chat;                ///< --chat NAME|ID
    bool continue_chat = false;      ///< -c
    bool stats = false;
    bool stream = true;
    bool raw = false;
    std::vector<std::int32_t> ids;

    // show, history, rm, inspect, bench
    std::string topic;   ///< cache: ls prune verify clear; show: info template parameters system
                         ///< license metadata; inspect: verb
    std::string target;  ///< history, rm, export: a chat; inspect nll, backup: the file
    std::string format;  ///< export: md json html, "" = by the file's name
    std::string output;  ///< export: the file, "" = standard output
    bool all = false;    ///< export: every chat
    ChatFolder folder = ChatFolder::shown;  ///< history
    bool forever = false;                   ///< rm: not into the trash
    std::string template_file;              ///< inspect template
    std::string context_file;
    bool special = false;  ///< inspect tokenize
    int top = 10, chunk = 512;
    bool all_positions = false;
    int limit = 20;                        ///< history
    std::optional<std::int64_t> to_bytes;  ///< cache prune
    std::string query;
    bool undo = false;                                           ///< rm
    std::optional<std::vector<int>> contexts, prompts, columns;  ///< bench
    int repeats = 3;
    std::string bench_draft;   ///< bench: measure drafts instead; "" = not
    std::string compare_file;  ///< bench: JSON of an earlier run
};

/// What main does next: run the verb, or print `text` (to stdout when exit_code is 0) and leave.
struct ParsedOptions {
    Options options;
    std::optional<int> exit_code;
    std::string text;
};

/// Reads `name` from the environment; "" when unset or empty.
using Environment = std::string (*)(const char* name);
std::string process_environment(const char* name);

/// `arguments` without the program's name.
ParsedOptions parse_options(std::vector<std::string> arguments, Environment environment);

/// Makes a folder and its parents with mode 0700. Errors: failed.
Result<void> make_private_dir(const std::string& path);

}  // namespace hearth
