#include "engine/generate/context_fit.h"

#include <algorithm>

namespace hearth {
namespace {

constexpr int kFillPercent = 60;  ///< after leaving out
constexpr int kAnswerShare = 8;   ///< an eighth of the context is room enough for an answer

/// Where turns begin that may go: indices of user messages, and the end of the last such turn.
std::vector<int> turn_begins(const Request& request) {
    const auto& messages = request.messages;
    // The last message, or the last question with the answer that goes on, stays.
    int end = static_cast<int>(messages.size()) - (request.continue_last ? 2 : 1);
    std::vector<int> begins;
    const int first = !messages.empty() && messages[0].role == "system" ? 1 : 0;
    for (int i = first; i < end; ++i)
        if (i == first || messages[static_cast<std::size_t>(i)].role == "user") begins.push_back(i);
    if (!begins.empty()) begins.push_back(end);
    if (request.context_policy == ContextPolicy::drop_middle && begins.size() > 2)
        begins.erase(begins.begin());
    return begins;
}

Request without(const Request& request, int first, int last) {
    Request shorter = request;
    shorter.messages.erase(shorter.messages.begin() + first, shorter.messages.begin() + last);
    return shorter;
}

int room_for_answer(const Request& request, int context_tokens) {
    const int share = std::max(1, context_tokens / kAnswerShare);
    return request.sampling.max_tokens > 0 ? std::min(share, request.sampling.max_tokens) : share;
}

}  // namespace

Result<FittedPrompt> fit_prompt(const Request& request, int context_tokens,
                                const PromptMaker& make) {
    FittedPrompt whole;
    HEARTH_TRY(whole.ids, make(request));
    whole.whole_tokens = static_cast<int>(whole.ids.size());
    const int most = context_tokens - room_for_answer(request, context_tokens);
    const bool fits = whole.whole_tokens <= most;
    if (fits || request.context_policy == ContextPolicy::stop || !request.raw_ids.empty())
        return whole;
    const std::vector<int> begins = turn_begins(request);
    if (begins.size() < 2) return whole;
    // The fewest turns that reach the aim; each more makes the prompt shorter.
    const int aim = context_tokens * kFillPercent / 100;
    std::size_t low = 1, high = begins.size() - 1;
    FittedPrompt best;
    while (low <= high) {
        const std::size_t n_turns = low + (high - low) / 2;
        FittedPrompt tried;
        tried.first_left_out = begins[0];
        tried.n_left_out = begins[n_turns] - begins[0];
        tried.whole_tokens = whole.whole_tokens;
        HEARTH_TRY(tried.ids, make(without(request, begins[0], begins[n_turns])));
        const bool reaches = static_cast<int>(tried.ids.size()) <= aim;
        if (reaches || n_turns == begins.size() - 1) best = std::move(tried);
        if (reaches)
            high = n_turns - 1;
        else
            low = n_turns + 1;
    }
    // The last message alone may be above the aim, and still fit.
    const bool whole_still_fits = whole.whole_tokens < context_tokens;
    if (static_cast<int>(best.ids.size()) >= context_tokens && whole_still_fits) return whole;
    return best;
}

}  // namespace hearth
