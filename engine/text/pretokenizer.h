#pragma once
// PreTokenizer: cuts text into the pieces inside which byte-level BPE merges (text.md section 2). A
// table of PCRE2 patterns; knows no tokens. Linear time: no pattern backtracks further than the run
// of characters that it is in. Immutable and thread-safe after making.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/text/tokenizer.h"

namespace hearth {

/// One row of the table: a family of vocabularies that split text alike.
struct PreTokenizerRow {
    std::string_view name;
    /// Values of tokenizer.ggml.pre, the name among them, each with a space before and after.
    std::string_view aliases;
    /// Each stage splits the pieces of the one before; what a pattern leaves out is a piece as
    /// well.
    std::vector<std::string> stages;
    bool ignore_merges = false;  ///< a piece that is in the vocabulary is taken whole
    bool add_bos = false;        ///< where the file does not say
    bool nfc = false;            ///< the published tokenizer normalises text first
};

/// The row for a value of tokenizer.ggml.pre, or null.
const PreTokenizerRow* find_pretokenizer(std::string_view pre);
/// The row that the vocabulary's markers, size and digits point to, or null (unknown or missing
/// `pre`). Rules, not one hash: a fine-tune with one more token is still recognised.
const PreTokenizerRow* guess_pretokenizer(const Vocabulary& vocabulary);
/// Names of all rows, for messages: "gpt-2, smollm, …".
std::string pretokenizer_names();

class PreTokenizer {
  public:
    /// Compiles the row's patterns. An error here is a defect of the table or of the library.
    static Result<PreTokenizer> make(const PreTokenizerRow& row);

    using Emit = std::function<void(std::string_view piece)>;
    /// Pieces in order; together they are `text`, byte by byte. A byte that is not UTF-8 counts as
    /// a symbol that is neither letter, digit nor space.
    void split(std::string_view text, const Emit& emit) const;

  private:
    struct Code;
    PreTokenizer() = default;
    std::vector<std::shared_ptr<const Code>> stages_;  ///< shared: PreTokenizer is copied by value
};

}  // namespace hearth
