#pragma once
// Makes a conversation fit: leaves out turns in the order that the request's policy names. Pure but
// for the function that makes the prompt. Knows no model.

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/base/result.h"
#include "engine/engine.h"

namespace hearth {

struct FittedPrompt {
    std::vector<std::int32_t> ids;
    /// Messages [first_left_out, first_left_out + n_left_out) of the request are not in it.
    int first_left_out = 0, n_left_out = 0;
    int whole_tokens = 0;  ///< of the prompt with all messages
};

using PromptMaker = std::function<Result<std::vector<std::int32_t>>(const Request&)>;

/// The prompt of the whole request when it fits into `context_tokens` with room for an answer;
/// else, under a policy that allows it, of the request without its oldest or middle turns: as few
/// as leave 40 % of the context free, so that the turns that follow find their beginning in the
/// cache. A system message, the first turn (drop_middle) and the last message always stay. When it
/// does not fit: the whole prompt as it is, or the shortest one; the caller sees by its length.
/// Errors: those of `make`.
Result<FittedPrompt> fit_prompt(const Request& request, int context_tokens,
                                const PromptMaker& make);

}  // namespace hearth
