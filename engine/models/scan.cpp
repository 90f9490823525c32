#include "engine/models/scan.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <dirent.h>
#include <sys/stat.h>

#include "engine/models/gguf_name.h"

namespace hearth::models {
namespace {

constexpr int kOwnDepth = 5;
constexpr int kLmStudioDepth = 4;

std::optional<struct stat> stat_of(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return info;
}

std::pair<long, long> identity(const struct stat& info) {
    return {static_cast<long>(info.st_dev), static_cast<long>(info.st_ino)};
}

std::string last_part(const std::string& path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string without_slash(std::string folder) {
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    return folder;
}

}  // namespace

std::vector<std::string> repo_names(const std::string& repo, const std::string& stem) {
    std::vector<std::string> names = {repo + "/" + stem, stem};
    const std::string quant = quant_of(stem);
    if (!quant.empty()) names.insert(names.begin(), repo + ":" + quant);
    return names;
}

void Scan::note(std::string text) {
    if (notes_ != nullptr && noted_.insert(text).second) notes_->push_back(std::move(text));
}

std::vector<std::string> Scan::entries(const std::string& folder) {
    std::vector<std::string> names;
    DIR* const dir = ::opendir(folder.c_str());
    if (dir == nullptr) {
        if (errno != ENOENT && errno != ENOTDIR)
            note(fmt::format("The folder {} cannot be read ({}); models in it are not listed.",
                             folder, std::strerror(errno)));
        return names;
    }
    while (const dirent* entry = ::readdir(dir))
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    ::closedir(dir);
    std::sort(names.begin(), names.end());
    return names;
}

void Scan::collect(const std::string& folder, int depth, std::set<std::pair<long, long>>* seen,
                   std::vector<File>* files) {
    const auto self = stat_of(folder);
    if (!self || !S_ISDIR(self->st_mode) || !seen->insert(identity(*self)).second) return;
    std::vector<std::string> folders;
    for (const std::string& name : entries(folder)) {
        const auto info = stat_of(folder + "/" + name);
        if (!info) continue;  // a link into nothing: a download that was not finished
        if (S_ISDIR(info->st_mode))
            folders.push_back(folder + "/" + name);
        else if (S_ISREG(info->st_mode) && is_model_file_name(name))
            files->push_back({folder, name});
    }
    if (depth == 0) return;
    for (const std::string& below : folders) collect(below, depth - 1, seen, files);
}

std::vector<Scan::File> Scan::model_files(const std::string& folder, int depth) {
    std::set<std::pair<long, long>> folders_seen;
    std::vector<File> all, first;
    collect(folder, depth, &folders_seen, &all);
    for (const File& file : all) {
        const ShardName shard = parse_shard_name(file.name);
        if (shard.part == 1) {
            first.push_back(file);
        } else if (!stat_of(file.folder + "/" + shard_file_name(shard, 1))) {
            note(fmt::format("{} is incomplete: part 1 of {} is missing beside it.", file.path(),
                             shard.n_parts));
        }
    }
    return first;
}

void Scan::add(const File& file, const char* origin, std::vector<std::string> names,
               const std::string& repo) {
    const ShardName shard = parse_shard_name(file.name);
    const auto first = stat_of(file.path());
    if (!first || first->st_size == 0) return;
    FoundModel found;
    found.path = file.path();
    found.origin = origin;
    found.bytes = static_cast<std::int64_t>(first->st_size);
    found.modified_ms = static_cast<std::int64_t>(first->st_mtim.tv_sec) * 1000 +
                        first->st_mtim.tv_nsec / 1'000'000;
    for (int part = 2; part <= shard.n_parts; ++part) {
        const std::string path = file.folder + "/" + shard_file_name(shard, part);
        const auto info = stat_of(path);
        if (!info || info->st_size == 0)
            return note(fmt::format("{} is incomplete: {} is missing.", file.path(), path));
        found.bytes += static_cast<std::int64_t>(info->st_size);
    }
    if (!files_seen_.insert(identity(*first)).second) {
        // The same file once more: it only gets more names.
        for (Candidate& known : candidates_) {
            const auto other = stat_of(known.found.path);
            if (other && identity(*other) == identity(*first))
                known.names.insert(known.names.end(), names.begin(), names.end());
        }
        return;
    }
    candidates_.push_back({std::move(found), std::move(names), repo});
}

void Scan::own_folder(const std::string& place) {
    const std::string folder = without_slash(place);
    const auto info = stat_of(folder);
    if (info && S_ISREG(info->st_mode) && is_model_file_name(last_part(folder))) {
        const std::size_t slash = folder.find_last_of('/');
        const std::string above = slash == std::string::npos ? "." : folder.substr(0, slash);
        return add({above, last_part(folder)}, "hearth",
                   {parse_shard_name(last_part(folder)).stem});
    }
    for (const File& file : model_files(folder, kOwnDepth)) {
        const std::string stem = parse_shard_name(file.name).stem;
        std::vector<std::string> names = {stem};
        if (file.folder.size() > folder.size())
            names.push_back(file.folder.substr(folder.size() + 1) + "/" + stem);
        add(file, "hearth", std::move(names));
    }
}

void Scan::lm_studio_folder(const std::string& place) {
    const std::string folder = without_slash(place);
    for (const File& file : model_files(folder, kLmStudioDepth)) {
        const std::string stem = parse_shard_name(file.name).stem;
        const std::string repo =
            file.folder.size() > folder.size() ? file.folder.substr(folder.size() + 1) : "";
        add(file, "lm studio", repo.empty() ? std::vector{stem} : repo_names(repo, stem), repo);
    }
}

std::vector<Candidate> Scan::take() {
    std::set<std::string> taken;
    for (Candidate& candidate : candidates_) {
        candidate.found.name = candidate.found.path;  // can always be typed
        for (const std::string& name : candidate.names) {
            if (!taken.insert(lower(name)).second) continue;
            candidate.found.name = name;
            break;
        }
    }
    return std::move(candidates_);
}

std::vector<Candidate> scan_places(const ModelPlaces& places, std::vector<std::string>* notes) {
    Scan scan(notes);
    for (const std::string& folder : places.own) scan.own_folder(folder);
    for (const std::string& folder : places.ollama) scan.ollama_folder(without_slash(folder));
    for (const std::string& folder : places.lm_studio) scan.lm_studio_folder(folder);
    for (const std::string& folder : places.hub) scan.hub_folder(without_slash(folder));
    for (const std::string& folder : places.llama_cpp) scan.llama_cpp_folder(without_slash(folder));
    return scan.take();
}

}  // namespace hearth::models
