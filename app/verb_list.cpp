// hearth ls, paths, doctor: what is on this machine.

#include <algorithm>
#include <cstdio>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/help_text.h"
#include "app/session.h"
#include "app/verbs.h"
#include "engine/card.h"
#include "engine/inspect.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
    const std::string text =
        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// One row of `paths`: what it is, where, and whether it is there.
struct PathRow {
    std::string what, path;
};

std::vector<PathRow> path_rows(const Options& options) {
    std::vector<PathRow> rows = {
        {"config", options.paths.config_file},
        {"data", options.paths.data_dir},
        {"database", options.paths.database()},
        {"state", options.paths.state_dir},
        {"input history", options.paths.input_history()},
        {"log", options.paths.log_file()},
        {"cache", options.paths.cache_dir},
    };
    const ModelPlaces& places = options.places;
    const std::pair<const char*, const std::vector<std::string>*> kinds[] = {
        {"models", &places.own},
        {"models (ollama)", &places.ollama},
        {"models (lm studio)", &places.lm_studio},
        {"models (hub)", &places.hub},
        {"models (llama.cpp)", &places.llama_cpp}};
    for (const auto& [what, folders] : kinds) {
        for (const std::string& folder : *folders) rows.push_back({what, folder});
    }
    return rows;
}

std::int64_t total_memory_bytes() {
    return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

/// What the kernel says can be used without swapping; 0 when it does not say.
std::int64_t free_memory_bytes() {
    std::int64_t kib = 0;
    if (std::FILE* file = std::fopen("/proc/meminfo", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, file) != nullptr) {
            if (std::sscanf(line, "MemAvailable: %ld", &kib) == 1) break;
        }
        std::fclose(file);
    }
    return kib * 1024;
}

/// "ok", a sentence that says what is wrong, or that there is none yet.
std::string database_state(const Options& options) {
    if (::access(options.paths.database().c_str(), F_OK) != 0) return "none yet";
    auto store = Store::open(options.paths.database());
    if (!store) return store.error().what;
    auto sound = (*store)->check_integrity();
    if (!sound) return sound.error().what;
    return (*store)->read_only() ? "ok, but of a newer hearth: read only" : "ok";
}

}  // namespace

int verb_ls(const Options& options) {
    std::vector<std::string> notes;
    const std::vector<FoundModel> models = find_models(options.places, &notes);
    for (const std::string& sentence : notes) {
        if (!options.quiet) std::fprintf(stderr, "%s\n", printable(sentence).c_str());
    }
    if (options.json) {
        Json list = Json::array();
        for (const FoundModel& model : models) {
            list.push_back({{"name", model.name},
                            {"path", model.path},
                            {"origin", model.origin},
                            {"bytes", model.bytes},
                            {"modified_ms", model.modified_ms}});
        }
        print_json(list);
        return 0;
    }
    if (models.empty() && !options.quiet) {
        std::fprintf(stderr, "no model was found; put a .gguf file into %s\n",
                     options.paths.own_models().c_str());
    }
    std::size_t width = 4;
    for (const FoundModel& model : models) width = std::max(width, model.name.size());
    if (!models.empty())
        fmt::print("{:<{}}  {:>10}  {:<10}  {}\n", "NAME", width, "SIZE", "FROM", "MODIFIED");
    for (const FoundModel& model : models) {
        fmt::print("{:<{}}  {:>10}  {:<10}  {}\n", printable(model.name), width,
                   show_bytes(model.bytes), model.origin, show_time(model.modified_ms));
    }
    return 0;
}

int verb_paths(const Options& options) {
    const std::vector<PathRow> rows = path_rows(options);
    if (options.json) {
        Json list = Json::array();
        for (const PathRow& row : rows) {
            list.push_back({{"what", row.what},
                            {"path", row.path},
                            {"exists", ::access(row.path.c_str(), F_OK) == 0}});
        }
        print_json(list);
        return 0;
    }
    for (const PathRow& row : rows) {
        const bool exists = ::access(row.path.c_str(), F_OK) == 0;
        fmt::print("{:<18}  {}{}\n", row.what, row.path, exists ? "" : "  (not there)");
    }
    return 0;
}

int verb_doctor(const Options& options) {
    std::vector<std::string> notes;
    const std::size_t n_models = find_models(options.places, &notes).size();
    const std::string rungs = fmt::format("{}", fmt::join(inspect::cpu_rungs(), ", "));
    const std::string database = database_state(options);
    const bool is_sound = database == "none yet" || database.rfind("ok", 0) == 0;
    if (options.json) {
        print_json({{"version", version_number()},
                    {"cpu_rungs", inspect::cpu_rungs()},
                    {"threads", inspect::cpu_threads()},
                    {"memory_bytes", total_memory_bytes()},
                    {"available_bytes", free_memory_bytes()},
                    {"models", n_models},
                    {"database", database},
                    {"cuda", card_is_usable()},
                    {"card", card_text()},
                    {"notes", notes}});
        return is_sound ? 0 : 1;
    }
    fmt::print("hearth     {}\n", version_number());
    fmt::print("cpu        {}; {} threads by default\n", rungs, inspect::cpu_threads());
    fmt::print("memory     {}, {} of it available\n", show_bytes(total_memory_bytes()),
               show_bytes(free_memory_bytes()));
    fmt::print("card       {}\n", card_text());
    fmt::print("models     {} found (hearth ls)\n", n_models);
    fmt::print("database   {}: {}\n", options.paths.database(), database);
    for (const std::string& sentence : notes) fmt::print("note       {}\n", printable(sentence));
    for (const std::string& sentence : options.warnings) fmt::print("config     {}\n", sentence);
    return is_sound ? 0 : 1;
}

}  // namespace hearth
