#pragma once
// TextFilter: generated tokens -> what may be shown. Complete UTF-8 only; text that could still
// become a stop string is held back, and the ids that belong to it too, so that what was handed
// out is always consistent: ids decode to text. Any split of the text into tokens gives the same
// shown text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/detokenizer.h"

namespace hearth {

/// Finds the first stop string to be completed; of several completed by the same byte the longest.
class StopMatcher {
  public:
    explicit StopMatcher(std::vector<std::string> stops);

    struct Output {
        std::string text;  ///< may be shown
        bool stopped = false;
    };
    /// Text after a stop is dropped.
    Output push(std::string_view text);
    /// What is held back: the end of the generation came first.
    std::string flush();

  private:
    std::vector<std::string> stops_;
    std::string held_;  ///< the longest suffix that begins a stop string
};

class TextFilter {
  public:
    explicit TextFilter(std::vector<std::string> stops);

    struct Output {
        std::string text;
        std::vector<std::int32_t> ids;  ///< tokens shown completely since the last output
        bool stopped = false;
        /// After a stop inside a token: its shown beginning, not covered by any id.
        std::string fragment;
    };
    /// `bytes`: what the token stands for, empty for control tokens.
    Output push(std::int32_t id, std::string_view bytes);
    /// The end: everything held back comes out.
    Output finish();

  private:
    struct Pending {
        std::int32_t id;
        std::size_t end;  ///< length of all text made up to and with this token
        bool whole;       ///< no incomplete character after it
    };
    void take_shown_ids(Output& out);

    Utf8Stream utf8_;
    StopMatcher matcher_;
    std::vector<Pending> pending_;
    std::string unclaimed_;    ///< shown text from `claimed_` on, of no id handed out
    std::size_t made_ = 0;     ///< length of all text made
    std::size_t shown_ = 0;    ///< of all text shown
    std::size_t claimed_ = 0;  ///< of all text covered by ids handed out
};

}  // namespace hearth
