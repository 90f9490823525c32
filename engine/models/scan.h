#pragma once
// Finding model files in the folders of one program each. Read only; folders that do not exist are
// nothing special, folders that cannot be read are noted once.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/models/models.h"

namespace hearth::models {

/// A model with every name under which it can be asked for; `found.name` is the shortest good one.
struct Candidate {
    FoundModel found;
    std::vector<std::string> names;  ///< best first, without ".gguf"
    std::string repo;                ///< "org/repo": a way to ask, not a name, it may hold several
};

/// Names of a file of a repository: "org/repo:Q4_K_M" when its name tells the quantization,
/// "org/repo/file" and "file".
std::vector<std::string> repo_names(const std::string& repo, const std::string& stem);

class Scan {
  public:
    explicit Scan(std::vector<std::string>* notes) : notes_(notes) {}

    void own_folder(const std::string& folder);
    void ollama_folder(const std::string& folder);
    void lm_studio_folder(const std::string& folder);
    void hub_folder(const std::string& folder);
    void llama_cpp_folder(const std::string& folder);

    /// All candidates; `found.name` is unique without regard to case.
    std::vector<Candidate> take();

  private:
    struct File {
        std::string folder, name;
        std::string path() const { return folder + "/" + name; }
    };

    /// Names of the files and folders in a folder, sorted; empty when it cannot be read.
    std::vector<std::string> entries(const std::string& folder);
    /// Model files below a folder, at most `depth` levels down, first parts only.
    std::vector<File> model_files(const std::string& folder, int depth);
    void collect(const std::string& folder, int depth, std::set<std::pair<long, long>>* seen,
                 std::vector<File>* files);
    void ollama_manifest(const std::string& root, const std::string& relative);
    void ollama_manifests(const std::string& root, const std::string& relative, int depth);
    std::vector<std::string> snapshots(const std::string& repo_folder);
    /// Adds the model whose first part is `file`, unless it is a double, a torso or empty.
    void add(const File& file, const char* origin, std::vector<std::string> names,
             const std::string& repo = {});
    void note(std::string text);

    std::vector<std::string>* notes_;
    std::set<std::string> noted_;
    std::set<std::pair<long, long>> files_seen_;  ///< device, inode
    std::vector<Candidate> candidates_;
};

/// Scans all places in the order in which they win.
std::vector<Candidate> scan_places(const ModelPlaces& places, std::vector<std::string>* notes);

}  // namespace hearth::models
