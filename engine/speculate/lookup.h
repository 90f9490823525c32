#pragma once
// Look-up drafting (Saxena 2023, "Prompt lookup decoding"; Yang et al. 2023, "Inference with
// reference"): what followed the last few tokens where they stood before, in the prompt with its
// earlier turns, in this answer, or in earlier answers of the conversation (another try of the
// same question). Needs no model.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/speculate/drafter.h"

namespace hearth {

/// Finds earlier places of the last tokens of a growing text. Shrinks as cheaply as it grows.
class NgramIndex {
  public:
    static constexpr int kGram = 3;           ///< shortest match
    static constexpr int kLongest = 64;       ///< longer matches count as this
    static constexpr int kMostPlaces = 48;    ///< places looked at, newest first
    static constexpr std::int32_t kGap = -1;  ///< between texts; matches nothing

    void push(std::int32_t id);
    void cut(int n_tokens);
    const std::vector<std::int32_t>& tokens() const { return tokens_; }

    struct Match {
        int next;       ///< index of the token that followed there
        int length;     ///< tokens that agree, kGram to kLongest
        bool disputed;  ///< at another place as good, another token followed
    };
    /// The longest, of equal ones the newest.
    std::optional<Match> find() const;

  private:
    std::uint64_t key(int last) const;
    int matching(int a, int b) const;

    std::vector<std::int32_t> tokens_;
    std::vector<std::int32_t> before_;  ///< by index: the place before with the same last tokens
    std::unordered_map<std::uint64_t, std::int32_t> last_;  ///< key -> newest place
};

class LookupDrafter final : public Drafter {
  public:
    const char* name() const override { return "lookup"; }
    int n_bins() const override;
    double expected_acceptance(int bin) const override;
    Draft propose(const DraftAsk& ask) override;
    void answered(const std::string& conversation, std::span<const std::int32_t> answer) override;
    void forget(const std::string& conversation) override { talks_.erase(conversation); }

  private:
    static constexpr std::size_t kMostTalks = 32;
    static constexpr std::size_t kMostAnswerTokens = 16384;

    struct Talk {
        NgramIndex index;  ///< earlier answers, then the history
        int n_earlier = 0;
        std::deque<std::vector<std::int32_t>> answers;
        bool stale = true;  ///< answers changed
        std::uint64_t last_use = 0;
    };
    Talk& talk(const std::string& conversation);
    static void follow(Talk& talk, std::span<const std::int32_t> history);

    std::map<std::string, Talk> talks_;
    std::uint64_t uses_ = 0;
};

}  // namespace hearth
