#include "engine/models/models.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include <sys/stat.h>

#include "engine/models/gguf_name.h"
#include "engine/models/scan.h"

namespace hearth {
namespace models {
namespace {

constexpr std::size_t kListed = 10;
constexpr std::size_t kSuggestions = 3;

/// Insertions, deletions and replacements between two texts (Levenshtein 1966).
std::size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

/// A file given by its path; the first part when another part of a split model was named.
Result<FoundModel> model_at(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    const ShardName shard = parse_shard_name(path.substr(folder.size()));
    FoundModel found;
    found.name = shard.stem;
    found.path = shard.part == 1 ? path : folder + shard_file_name(shard, 1);
    found.origin = "path";
    for (int part = 1; part <= shard.n_parts; ++part) {
        const std::string one = shard.n_parts == 1 ? path : folder + shard_file_name(shard, part);
        struct stat info {};
        if (::stat(one.c_str(), &info) != 0)
            return fail(Errc::model_not_found,
                        "{} is part {} of {}, and {} cannot be found ({}). Put all parts into one "
                        "folder.",
                        path, shard.part, shard.n_parts, one, std::strerror(errno));
        found.bytes += static_cast<std::int64_t>(info.st_size);
        if (part == 1)
            found.modified_ms = static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1000 +
                                info.st_mtim.tv_nsec / 1'000'000;
    }
    return found;
}

using Matches = std::vector<const Candidate*>;

Matches matching(const std::vector<Candidate>& all,
                 const std::function<bool(const std::string&)>& fits) {
    Matches found;
    for (const Candidate& candidate : all)
        if ((!candidate.repo.empty() && fits(lower(candidate.repo))) ||
            std::any_of(candidate.names.begin(), candidate.names.end(),
                        [&](const std::string& name) { return fits(lower(name)); }))
            found.push_back(&candidate);
    return found;
}

std::string listing(const Matches& matches) {
    std::string text;
    for (std::size_t i = 0; i < std::min(matches.size(), kListed); ++i)
        text += fmt::format("\n  {}  ({}, {})", matches[i]->found.name, matches[i]->found.origin,
                            matches[i]->found.path);
    if (matches.size() > kListed)
        text += fmt::format("\n  … and {} more", matches.size() - kListed);
    return text;
}

/// Names that look like what was typed, nearest first.
std::vector<std::string> suggestions(const std::vector<Candidate>& all, const std::string& wanted) {
    std::vector<std::pair<std::size_t, std::string>> near;
    for (const Candidate& candidate : all) {
        std::size_t best = std::string::npos;
        for (const std::string& name : candidate.names) {
            const std::string folded = lower(name);
            std::size_t distance = edit_distance(folded, wanted);
            // A typing error in the beginning of a long name.
            if (folded.size() > wanted.size())
                distance =
                    std::min(distance, 1 + edit_distance(folded.substr(0, wanted.size()), wanted));
            if (folded.find(wanted) != std::string::npos)
                distance = std::min<std::size_t>(distance, 1);
            best = std::min(best, distance);
        }
        if (best <= std::max<std::size_t>(2, wanted.size() / 3))
            near.emplace_back(best, candidate.found.name);
    }
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(near.size(), kSuggestions); ++i)
        names.push_back(near[i].second);
    return names;
}

tl::unexpected<Error> unknown(const std::string& name, const std::vector<Candidate>& all,
                              const ModelPlaces& places) {
    std::string hint;
    for (const std::string& near : suggestions(all, lower(without_extension(name))))
        hint += (hint.empty() ? " Did you mean " : " or ") + near;
    if (!hint.empty()) hint += "?";
    const std::string folder = places.own.empty()
                                   ? std::string()
                                   : fmt::format(", or put one into {}", places.own.front());
    if (all.empty())
        return fail(Errc::model_not_found,
                    "There is no model “{}”, and no model was found on this machine. Give the path "
                    "of a .gguf file{}.",
                    name, folder);
    return fail(
        Errc::model_not_found,
        "There is no model “{}”.{} `hearth ls` shows the {} found here; or give the path of a "
        ".gguf file{}.",
        name, hint, all.size() == 1 ? "one" : fmt::format("{}", all.size()), folder);
}

Result<FoundModel> by_name(const std::string& name, const ModelPlaces& places) {
    const std::vector<Candidate> all = scan_places(places, nullptr);
    const std::string wanted = lower(parse_shard_name(name).stem);
    for (const Candidate& candidate : all)
        if (lower(candidate.found.name) == wanted) return candidate.found;
    Matches found = matching(all, [&](const std::string& n) { return n == wanted; });
    if (found.empty())
        found = matching(
            all, [&](const std::string& n) { return n.compare(0, wanted.size(), wanted) == 0; });
    if (found.size() == 1) return found.front()->found;
    if (found.empty()) return unknown(name, all, places);
    return fail(Errc::model_not_found, "“{}” fits {} models; write more of the name:{}", name,
                found.size(), listing(found));
}

}  // namespace
}  // namespace models

std::vector<FoundModel> find_models(const ModelPlaces& places, std::vector<std::string>* notes) {
    std::vector<FoundModel> found;
    for (models::Candidate& candidate : models::scan_places(places, notes))
        found.push_back(std::move(candidate.found));
    return found;
}

Result<FoundModel> resolve_model(const std::string& name, const ModelPlaces& places) {
    if (name.empty())
        return fail(Errc::model_not_found,
                    "No model was named. `hearth ls` shows the models on this machine.");
    struct stat info {};
    if (::stat(name.c_str(), &info) == 0) {
        if (S_ISREG(info.st_mode)) return models::model_at(name);
        // A folder of that name in the current one must not hide a model's name.
        Result<FoundModel> found = models::by_name(name, places);
        if (found || name.find('/') == std::string::npos) return found;
        return fail(Errc::model_not_found, "{} is a folder; give the .gguf file in it.", name);
    }
    const bool is_path =
        name.front() == '/' || name.compare(0, 2, "./") == 0 || name.compare(0, 3, "../") == 0;
    if (is_path)
        return fail(Errc::model_not_found, "There is no file {} ({}).", name, std::strerror(errno));
    return models::by_name(name, places);
}

}  // namespace hearth
