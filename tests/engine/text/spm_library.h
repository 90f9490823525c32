#pragma once
// The sentencepiece library over the vocabulary of a model file: the oracle of spm_test.cpp and of
// the fuzzer spm_fuzz.cpp.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace hearth::test {

class SpmLibrary {
  public:
    SpmLibrary(const Vocabulary& vocabulary, const std::vector<TokenType>& types);
    ~SpmLibrary();

    /// Ids of valid UTF-8 without U+0000; -1 for unknown characters in a row where the vocabulary
    /// has no unknown token that text may become.
    std::vector<TokenId> encode(std::string_view text) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hearth::test
