#pragma once
// DraftChooser: what the setting `draft` (auto, off, lookup, a model's name) means for the model in
// force: looks for models of this machine that may draft, once per model.

#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/inspect.h"
#include "engine/models/models.h"

namespace hearth {

/// The models of `places` as candidates for drafting, the best first, with the reason of each
/// refusal.
Result<std::vector<inspect::DraftCandidate>> find_drafts(const std::string& model_path,
                                                         const ModelPlaces& places);

class DraftChooser {
  public:
    explicit DraftChooser(ModelPlaces places) : places_(std::move(places)) {}

    /// Never fails: what cannot be had is done without and said in `notes`, once.
    DraftChoice choose(const std::string& setting, const std::string& model_path,
                       std::vector<std::string>& notes);

  private:
    std::string path_of(const std::string& setting, const std::string& model_path,
                        std::vector<std::string>& notes) const;

    ModelPlaces places_;
    std::string setting_, model_path_;  ///< of the last choice
    DraftChoice choice_;
};

}  // namespace hearth
