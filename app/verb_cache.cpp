// hearth cache: what the engine keeps on disk of prefixes that were computed.

#include <cstdio>

#include <nlohmann/json.hpp>

#include "app/session.h"
#include "app/verbs.h"
#include "engine/cache_files.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const Json& json) {
    const std::string text =
        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// The budget in force; 0 when the cache is off.
std::int64_t budget_of(const Options& options) {
    const std::int64_t set = resolve_settings(options.settings).engine.cache_budget_bytes;
    if (set < 0) return 0;
    return set > 0 ? set : cache_files::automatic_budget(options.paths.cache_dir);
}

int list(const Options& options) {
    const std::string& folder = options.paths.cache_dir;
    const std::vector<cache_files::Group> groups = cache_files::list(folder);
    const std::int64_t total = cache_files::total_bytes(folder), budget = budget_of(options);
    if (options.json) {
        Json rows = Json::array();
        for (const cache_files::Group& g : groups) {
            rows.push_back({{"identity", g.identity},
                            {"model", g.model_name},
                            {"records", g.n_records},
                            {"conversations", g.n_conversations},
                            {"tokens", g.n_tokens},
                            {"bytes", g.bytes},
                            {"used_ms", g.used_ms}});
        }
        print_json({{"folder", folder}, {"bytes", total}, {"budget", budget}, {"models", rows}});
        return 0;
    }
    for (const cache_files::Group& g : groups) {
        fmt::print("{}  {:>10}  {:>8} tokens  {:>4} chats  last used {}  {}\n",
                   g.identity.substr(0, 8), show_bytes(g.bytes), g.n_tokens, g.n_conversations,
                   show_time(g.used_ms), printable(g.model_name));
    }
    const std::string of =
        budget > 0 ? fmt::format("of {}", show_bytes(budget)) : std::string("(switched off)");
    fmt::print("{} {} in {}\n", show_bytes(total), of, folder);
    return 0;
}

int tell(const Options& options, const char* what, const Result<int>& done) {
    if (!done) return tell_error(done.error());
    const std::int64_t left = cache_files::total_bytes(options.paths.cache_dir);
    if (options.json)
        print_json({{what, *done}, {"bytes", left}});
    else
        fmt::print("{} records {}, {} left\n", *done, what, show_bytes(left));
    return 0;
}

int verify(const Options& options) {
    const cache_files::Checked checked = cache_files::verify(options.paths.cache_dir);
    if (options.json) {
        print_json({{"records", checked.n_records},
                    {"bytes", checked.bytes},
                    {"damaged", checked.damaged}});
    } else {
        for (const std::string& sentence : checked.damaged) {
            std::fprintf(stderr, "removed: %s\n", printable(sentence).c_str());
        }
        fmt::print("{} records read, {}, {} damaged\n", checked.n_records,
                   show_bytes(checked.bytes), checked.damaged.size());
    }
    return checked.damaged.empty() ? 0 : 1;
}

}  // namespace

int verb_cache(const Options& options) {
    const std::string& folder = options.paths.cache_dir;
    if (options.topic.empty() || options.topic == "ls") return list(options);
    if (options.topic == "verify") return verify(options);
    if (options.topic == "clear") return tell(options, "removed", cache_files::clear(folder));
    const std::int64_t to = options.to_bytes ? *options.to_bytes : budget_of(options);
    return tell(options, "evicted", cache_files::prune(folder, to));
}

}  // namespace hearth
