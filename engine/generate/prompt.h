#pragma once
// From a request to the ids that the model sees: template, stored ids, BOS. Knows roles and
// templates; does not know KV or scheduling.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/engine.h"
#include "engine/model/model.h"
#include "engine/text/chat_template.h"

namespace hearth {

/// The chat template of a loaded model, and what is to be said about it.
struct ModelTemplate {
    std::optional<ChatTemplate> compiled;  ///< empty: the file has none that works
    std::string why_not;                   ///< then: a sentence
    std::string note;                      ///< a built-in one stands in: a sentence
};
ModelTemplate model_template(const Model& model);

/// Ids of the whole prompt. Errors: usage (nothing to answer, ids out of range, no template),
/// failed (the template refuses the messages).
Result<std::vector<std::int32_t>> make_prompt(const Request& request, const Model& model,
                                              const ModelTemplate& own);

}  // namespace hearth
