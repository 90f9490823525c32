#pragma once
// Models on this machine: finds GGUF files where they already are (own folder, Ollama, LM Studio,
// Hugging Face hub, llama.cpp), in place, read only, and resolves names. Opens no network.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace hearth {

/// Where to look. Built by app/options from flags and environment; nothing here reads either.
struct ModelPlaces {
    std::vector<std::string> own;     ///< HEARTH_MODELS and the data folder's models/
    std::vector<std::string> ollama;  ///< folders with manifests/ and blobs/
    std::vector<std::string> lm_studio;
    std::vector<std::string> hub;  ///< …/huggingface/hub
    std::vector<std::string> llama_cpp;
};

struct FoundModel {
    std::string
        name;  ///< what the user can type: "smollm2-135m-q4_1", "llama3.2:1b", "org/repo:Q4_K_M"
    std::string path;        ///< first shard
    std::string origin;      ///< "hearth", "ollama", "lm studio", "hub", "llama.cpp"
    std::int64_t bytes = 0;  ///< of all shards
    std::int64_t modified_ms = 0;
};

/// All models, de-duplicated by device and inode; unreadable folders are reported once in `notes`.
std::vector<FoundModel> find_models(const ModelPlaces& places, std::vector<std::string>* notes);

/// A path, an exact name, `name:tag`, `org/repo[:quant]`, or a unique prefix.
/// Errors: model_not_found, with the candidates when ambiguous and suggestions when unknown.
Result<FoundModel> resolve_model(const std::string& name, const ModelPlaces& places);

}  // namespace hearth
