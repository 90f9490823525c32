#include "app/draft_chooser.h"

#include <fmt/format.h>

namespace hearth {

Result<std::vector<inspect::DraftCandidate>> find_drafts(const std::string& model_path,
                                                         const ModelPlaces& places) {
    std::vector<std::string> unread;
    std::vector<inspect::DraftCandidate> files;
    for (const FoundModel& m : find_models(places, &unread)) {
        files.push_back({m.name, m.path, m.bytes, 0, {}});
    }
    return inspect::draft_candidates(model_path, std::move(files));
}

std::string DraftChooser::path_of(const std::string& setting, const std::string& model_path,
                                  std::vector<std::string>& notes) const {
    if (setting != "auto") {
        const auto model = resolve_model(setting, places_);
        if (model) return model->path;
        notes.push_back(fmt::format("no model drafts: {}", model.error().what));
        return {};
    }
    const auto found = find_drafts(model_path, places_);
    if (!found) {
        notes.push_back(fmt::format("no model drafts: {}", found.error().what));
        return {};
    }
    if (!found->empty() && found->front().refusal.empty()) return found->front().path;
    notes.push_back(
        fmt::format("none of the {} other models here can draft for this one; /draft tells why",
                    found->size()));
    return {};
}

DraftChoice DraftChooser::choose(const std::string& setting, const std::string& model_path,
                                 std::vector<std::string>& notes) {
    if (setting == setting_ && model_path == model_path_) return choice_;
    setting_ = setting;
    model_path_ = model_path;
    choice_ = {};
    choice_.lookup = setting != "off";
    if (setting != "off" && setting != "lookup") {
        choice_.model_path = path_of(setting, model_path, notes);
    }
    return choice_;
}

}  // namespace hearth
