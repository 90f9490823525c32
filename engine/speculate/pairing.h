#pragma once
// Pairing: whether a draft model's ids mean what the target's do, by the content of both
// vocabularies, and which models on a machine may draft for another. Knows vocabularies and files;
// does not know drafting.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/text/tokenizer.h"

namespace hearth {

/// What may be drafted: ids below n_common but those that differ.
struct Pairing {
    int n_common = 0;
    std::vector<std::int32_t> differing;  ///< ascending; other text, or unused in one of both
    std::string note;                     ///< a sentence when some differ, else ""
};

/// Errors: usage, a sentence with both sizes or the first tokens that differ. Tolerated: other
/// numbers of unused rows, a few tokens in a thousand with other text, control tokens that neither
/// end an answer nor stand in the target's chat template.
Result<Pairing> pair_vocabularies(const Tokenizer& target, const Tokenizer& draft,
                                  const std::string& chat_template);

}  // namespace hearth
