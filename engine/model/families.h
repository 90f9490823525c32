#pragma once
// Families of models as data rows: metadata keys and tensor names -> ModelConfig and Weights.
// A new family with the same block is one file and one row (README: "how to add a family").

#include <span>
#include <string_view>

#include "engine/base/result.h"
#include "engine/model/config.h"
#include "engine/model/weight_file.h"
#include "engine/model/weights.h"

namespace hearth {

struct Family {
    std::string_view architecture;  ///< value of general.architecture
    /// context_tokens: the context that will be used, 0 = the trained one (LongRoPE's choice).
    Result<ModelConfig> (*config)(const WeightFile&, int context_tokens);
    Result<Weights> (*weights)(const WeightFile&, const ModelConfig&);
};

std::span<const Family> families();
/// Error: model_invalid naming the architecture and listing the supported ones.
Result<const Family*> find_family(const WeightFile& file);

}  // namespace hearth
