#pragma once
// Resident: the one model in memory with everything sized for it: KV cache, kept prefixes,
// working memory, template. Made on a loader thread, then used by the engine thread alone.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/cache/disk_cache.h"
#include "engine/cache/kv_cache.h"
#include "engine/cache/prefix_cache.h"
#include "engine/engine.h"
#include "engine/generate/forward.h"
#include "engine/generate/prompt.h"
#include "engine/generate/scheduler.h"
#include "engine/model/decode.h"
#include "engine/model/model.h"
#include "engine/speculate/model_drafter.h"
#include "engine/speculate/speculator.h"
#include "kernels/device.h"

namespace hearth {

/// Sequences in one step at most; further requests wait.
inline constexpr int kMostSequences = 16;

struct Resident {
    std::string path;
    std::unique_ptr<Model> model;
    ModelTemplate chat_template;
    int context_tokens = 0;          ///< the limit in force
    std::vector<std::string> notes;  ///< sentences for the user
    double load_ms = 0;
    ChunkSize chunk{0, 0};
    std::int64_t card_bytes = 0;  ///< planned and taken on the card
    CpuLayers cpu;  ///< beside a card that has no room for all layers; before kv: it holds pages
    std::unique_ptr<KvCache> kv;
    std::unique_ptr<PrefixCache> prefixes;  ///< after kv: its pages go back first
    std::unique_ptr<DiskCache> disk;  ///< after prefixes; null: EngineOptions::cache_dir is ""
    bool self_check = false;          ///< EngineOptions::self_check
    std::unique_ptr<Activations> activations;
    std::unique_ptr<Speculator> speculator;
    std::string draft_path;                         ///< of the model that drafts; "" = none
    std::map<std::string, std::string> bad_drafts;  ///< path -> why it cannot; not tried again

    /// A step of this model on the backend it was loaded for.
    ForwardPass pass(Backend& backend) {
        return {*model, kv->layers(), *activations, backend, cpu};
    }
    /// "cuda …", or "cuda …, 3 of 30 layers on the CPU": whatever decides the bits of an answer.
    std::string placement(const std::string& name) const;

    /// Lets a loaded model draft from now on, in place of the one before; or notes why it cannot.
    void set_draft(const std::string& draft_file, Result<std::unique_ptr<ModelDrafter>> drafter);

    static Result<std::unique_ptr<Resident>> load(const std::string& path,
                                                  const EngineOptions& options, Backend& backend,
                                                  const CardBackend::Progress& progress = {});
};

}  // namespace hearth
