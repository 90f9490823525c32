#pragma once
// What the makers of some families recommend for sampling, from their model cards and generation
// configurations. Few model files carry it, and a small model far from it talks nonsense. Weaker
// than what the file itself says. Nothing here changes a greedy answer (temperature 0).

#include <string>
#include <utility>
#include <vector>

#include "app/settings.h"

namespace hearth {

/// Recommended settings by the name in the metadata; empty for a model that is not known.
SettingLayer settings_from_card(const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace hearth
