// The part of Scan that knows the layouts of Ollama, the hub cache and llama.cpp's cache.

#include <algorithm>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "engine/models/gguf_name.h"
#include "engine/models/scan.h"

namespace hearth::models {
namespace {

constexpr int kManifestDepth = 6;
constexpr std::size_t kMaxManifestBytes = 1 << 20;
constexpr std::string_view kModelLayer = "application/vnd.ollama.image.model";

bool is_folder(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_file(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string read_small_file(const std::string& path, std::size_t max_bytes) {
    std::ifstream file(path, std::ios::binary);
    std::string text(max_bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(max_bytes));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

bool is_gguf(const std::string& path) { return read_small_file(path, 4) == "GGUF"; }

/// "sha256:<64 hex digits>" as the name of a blob; "" for anything else (it becomes part of a
/// path).
std::string blob_name(const std::string& digest) {
    constexpr std::string_view kPrefix = "sha256:";
    constexpr std::size_t kDigits = 64;
    if (digest.size() != kPrefix.size() + kDigits ||
        digest.compare(0, kPrefix.size(), kPrefix) != 0)
        return {};
    const std::string hex = digest.substr(kPrefix.size());
    if (hex.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
    return "sha256-" + hex;
}

/// The digest of the layer that holds the weights; "" when the manifest is no manifest.
std::string model_digest(const std::string& manifest) {
    const nlohmann::json json = nlohmann::json::parse(manifest, nullptr, /*exceptions=*/false);
    if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array()) return {};
    for (const nlohmann::json& layer : json["layers"]) {
        if (!layer.is_object() || !layer.contains("mediaType") || !layer.contains("digest"))
            continue;
        const nlohmann::json& type = layer["mediaType"];
        const nlohmann::json& digest = layer["digest"];
        if (type.is_string() && digest.is_string() &&
            type.get_ref<const std::string&>() == kModelLayer)
            return digest.get<std::string>();
    }
    return {};
}

/// "registry.ollama.ai/library/llama3.2/1b" -> "llama3.2:1b"; the default parts are not typed.
std::string ollama_name(const std::string& relative) {
    std::string name = relative;
    for (const std::string prefix : {"registry.ollama.ai/", "library/"})
        if (name.compare(0, prefix.size(), prefix) == 0) name.erase(0, prefix.size());
    const std::size_t slash = name.find_last_of('/');
    if (slash != std::string::npos) name[slash] = ':';
    return name;
}

/// "models--org--repo" -> "org/repo"; "" when it is no such folder.
std::string hub_repo(const std::string& folder_name) {
    constexpr std::string_view kPrefix = "models--";
    if (folder_name.compare(0, kPrefix.size(), kPrefix) != 0) return {};
    const std::string repo = folder_name.substr(kPrefix.size());
    const std::size_t dashes = repo.find("--");
    if (dashes == std::string::npos) return repo;
    return repo.substr(0, dashes) + '/' + repo.substr(dashes + 2);
}

}  // namespace

void Scan::ollama_manifest(const std::string& root, const std::string& relative) {
    const std::string path = root + "/manifests/" + relative;
    const std::string digest = model_digest(read_small_file(path, kMaxManifestBytes));
    if (digest.empty())
        return note(fmt::format("{} is no Ollama manifest with a model; it is not listed.", path));
    const std::string blob = blob_name(digest);
    if (blob.empty())
        return note(fmt::format("{} names its model in an unknown way (“{}”).", path, digest));
    const File file{root + "/blobs", blob};
    if (!is_file(file.path()))
        return note(fmt::format("{} names a model file that is missing: {}.", path, file.path()));
    if (!is_gguf(file.path()))
        return note(
            fmt::format("{} is a model in another format than GGUF; it is not listed.", path));
    std::vector<std::string> names = {ollama_name(relative)};
    const std::string::size_type colon = names[0].rfind(":latest");
    if (colon != std::string::npos && colon + 7 == names[0].size())
        names.push_back(names[0].substr(0, colon));
    add(file, "ollama", std::move(names));
}

void Scan::ollama_manifests(const std::string& root, const std::string& relative, int depth) {
    const std::string folder =
        relative.empty() ? root + "/manifests" : root + "/manifests/" + relative;
    for (const std::string& name : entries(folder)) {
        const std::string below = relative.empty() ? name : relative + "/" + name;
        if (is_folder(folder + "/" + name)) {
            if (depth > 0) ollama_manifests(root, below, depth - 1);
        } else if (!relative.empty()) {
            ollama_manifest(root, below);
        }
    }
}

void Scan::ollama_folder(const std::string& folder) {
    ollama_manifests(folder, "", kManifestDepth);
}

std::vector<std::string> Scan::snapshots(const std::string& repo_folder) {
    std::vector<std::string> commits = entries(repo_folder + "/snapshots");
    // The commit that "main" means first, so that it gets the short names.
    std::string main = read_small_file(repo_folder + "/refs/main", 64);
    main.erase(main.find_last_not_of(" \n\r\t") + 1);
    std::stable_partition(commits.begin(), commits.end(),
                          [&](const std::string& commit) { return commit == main; });
    return commits;
}

void Scan::hub_folder(const std::string& folder) {
    constexpr int kSnapshotDepth = 3;
    for (const std::string& entry : entries(folder)) {
        const std::string repo = hub_repo(entry);
        if (repo.empty()) continue;
        for (const std::string& commit : snapshots(folder + "/" + entry)) {
            const std::string snapshot = folder + "/" + entry + "/snapshots/" + commit;
            for (const File& file : model_files(snapshot, kSnapshotDepth)) {
                const std::string stem = parse_shard_name(file.name).stem;
                add(file, "hub", repo_names(repo, stem), repo);
            }
        }
    }
}

void Scan::llama_cpp_folder(const std::string& folder) {
    const std::vector<File> files = model_files(folder, 0);
    if (files.empty()) return;
    // "manifest=org=repo=tag.json" tells where the flat name "org_repo_file.gguf" has its borders.
    std::vector<std::string> repos;
    for (const std::string& name : entries(folder)) {
        constexpr std::string_view kPrefix = "manifest=";
        if (name.compare(0, kPrefix.size(), kPrefix) != 0) continue;
        const std::size_t org_end = name.find('=', kPrefix.size());
        if (org_end == std::string::npos) continue;
        const std::size_t repo_end = name.find('=', org_end + 1);
        if (repo_end == std::string::npos) continue;
        repos.push_back(name.substr(kPrefix.size(), org_end - kPrefix.size()) + "/" +
                        name.substr(org_end + 1, repo_end - org_end - 1));
    }
    for (const File& file : files) {
        const std::string stem = parse_shard_name(file.name).stem;
        std::vector<std::string> names = {stem};
        std::string of_repo;
        for (const std::string& repo : repos) {
            std::string prefix = repo + "_";
            std::replace(prefix.begin(), prefix.end(), '/', '_');
            if (stem.compare(0, prefix.size(), prefix) != 0) continue;
            names = repo_names(repo, stem.substr(prefix.size()));
            names.push_back(stem);
            of_repo = repo;
            break;
        }
        add(file, "llama.cpp", std::move(names), of_repo);
    }
}

}  // namespace hearth::models
