#include "engine/speculate/lookup.h"

#include <algorithm>
#include <iterator>

namespace hearth {

// --- NgramIndex ----------------------------------------------------------------------------------

std::uint64_t NgramIndex::key(int last) const {
    std::uint64_t h = 0;
    for (int i = last - kGram + 1; i <= last; ++i) {
        h = (h ^ static_cast<std::uint32_t>(tokens_[static_cast<std::size_t>(i)])) *
            0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

void NgramIndex::push(std::int32_t id) {
    tokens_.push_back(id);
    before_.push_back(-1);
    const int at = static_cast<int>(tokens_.size()) - 1;
    if (at < kGram - 1) return;
    const auto [it, is_new] = last_.try_emplace(key(at), at);
    if (!is_new) before_.back() = std::exchange(it->second, at);
}

void NgramIndex::cut(int n_tokens) {
    while (static_cast<int>(tokens_.size()) > n_tokens) {
        const int at = static_cast<int>(tokens_.size()) - 1;
        if (at >= kGram - 1) {
            const auto it = last_.find(key(at));
            if (before_.back() < 0)
                last_.erase(it);
            else
                it->second = before_.back();
        }
        tokens_.pop_back();
        before_.pop_back();
    }
}

/// How many tokens up to and with those at a and b agree.
int NgramIndex::matching(int a, int b) const {
    int n = 0;
    while (n < kLongest && a - n >= 0 && b - n >= 0) {
        const std::int32_t id = tokens_[static_cast<std::size_t>(a - n)];
        if (id != tokens_[static_cast<std::size_t>(b - n)] || id == kGap) break;
        ++n;
    }
    return n;
}

std::optional<NgramIndex::Match> NgramIndex::find() const {
    const int end = static_cast<int>(tokens_.size()) - 1;
    if (end < kGram - 1) return std::nullopt;
    std::optional<Match> best;
    int place = before_[static_cast<std::size_t>(end)];
    for (int i = 0; place >= 0 && i < kMostPlaces; ++i) {
        const int length = matching(place, end);  // below kGram only where two keys collide
        const std::int32_t id = tokens_[static_cast<std::size_t>(place + 1)];
        if (length >= kGram && id != kGap) {
            if (!best || length > best->length)
                best = Match{place + 1, length, false};
            else if (length == best->length)
                best->disputed =
                    best->disputed || id != tokens_[static_cast<std::size_t>(best->next)];
        }
        place = before_[static_cast<std::size_t>(place)];
    }
    return best;
}

// --- LookupDrafter -------------------------------------------------------------------------------

namespace {

/// Bins by length of the match, which grows with every accepted token. The last one: disputed.
constexpr int kShortestOfBin[] = {NgramIndex::kGram, 4, 6, 9, 14, 22, 40};
constexpr double kExpected[] = {0.35, 0.45, 0.55, 0.7, 0.8, 0.85, 0.9, 0.25};
constexpr int kDisputed = static_cast<int>(std::size(kShortestOfBin));

int bin_of(int length) {
    const auto it = std::upper_bound(std::begin(kShortestOfBin), std::end(kShortestOfBin), length);
    return static_cast<int>(it - std::begin(kShortestOfBin)) - 1;
}

}  // namespace

int LookupDrafter::n_bins() const { return kDisputed + 1; }

double LookupDrafter::expected_acceptance(int bin) const { return kExpected[bin]; }

LookupDrafter::Talk& LookupDrafter::talk(const std::string& conversation) {
    if (talks_.size() >= kMostTalks && talks_.count(conversation) == 0) {
        talks_.erase(std::min_element(talks_.begin(), talks_.end(), [](auto& a, auto& b) {
            return a.second.last_use < b.second.last_use;
        }));
    }
    Talk& t = talks_[conversation];
    t.last_use = ++uses_;
    return t;
}

/// The index holds earlier answers and `history`; what it has already is kept.
void LookupDrafter::follow(Talk& t, std::span<const std::int32_t> history) {
    if (std::exchange(t.stale, false)) {
        t.index.cut(0);
        for (const auto& answer : t.answers) {
            for (const std::int32_t id : answer) t.index.push(id);
            t.index.push(NgramIndex::kGap);
        }
        t.n_earlier = static_cast<int>(t.index.tokens().size());
    }
    const auto& tokens = t.index.tokens();
    const auto same =
        std::mismatch(tokens.begin() + t.n_earlier, tokens.end(), history.begin(), history.end());
    t.index.cut(static_cast<int>(same.first - tokens.begin()));
    for (auto it = same.second; it != history.end(); ++it) t.index.push(*it);
}

Draft LookupDrafter::propose(const DraftAsk& ask) {
    Talk& t = talk(ask.conversation);
    follow(t, ask.history);
    Draft draft;
    const auto match = t.index.find();
    if (!match) return draft;
    const auto& tokens = t.index.tokens();
    for (int i = 0; i < ask.most_tokens; ++i) {
        // Past the end it reads its own proposal: a text that repeats itself goes on so.
        const auto from = static_cast<std::size_t>(match->next + i);
        const std::int32_t id =
            from < tokens.size() ? tokens[from] : draft.ids[from - tokens.size()];
        if (id == NgramIndex::kGap) break;
        const int bin = i == 0 && match->disputed ? kDisputed : bin_of(match->length + i);
        draft.ids.push_back(id);
        draft.bins.push_back(static_cast<std::uint8_t>(bin));
    }
    return draft;
}

void LookupDrafter::answered(const std::string& conversation,
                             std::span<const std::int32_t> answer) {
    if (answer.size() < NgramIndex::kGram + 1) return;
    Talk& t = talk(conversation);
    t.answers.emplace_back(answer.begin(), answer.end());
    std::size_t total = 0;
    for (const auto& a : t.answers) total += a.size();
    while (total > kMostAnswerTokens && t.answers.size() > 1) {
        total -= t.answers.front().size();
        t.answers.pop_front();
    }
    t.stale = true;
}

}  // namespace hearth
