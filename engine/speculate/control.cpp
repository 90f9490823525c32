#include "engine/speculate/control.h"

#include <algorithm>

namespace hearth {

namespace {

constexpr double kExpectationWeight = 4;  ///< tries that the expectation stands for
constexpr double kFade = 1.0 - 1.0 / 48;  ///< of what a bin remembers, per try
constexpr double kMeanRate = 0.05;
constexpr double kDraftRate = 0.1;
constexpr int kShortestPause = 8;
constexpr int kLongestPause = 512;
constexpr int kProbeTokens = 2;
constexpr int kFewToRead = 32;     ///< tokens that a probe may read
constexpr int kUsualAnswer = 300;  ///< tokens; what a reading is expected to be good for, at most
constexpr double kReadingCost = 0.2;  ///< of a drafted token, before it was measured

}  // namespace

Acceptance::Acceptance(const Drafter& drafter) : mean_(0) {
    for (int b = 0; b < drafter.n_bins(); ++b) {
        bins_.push_back({drafter.expected_acceptance(b)});
        mean_ += drafter.expected_acceptance(b) / drafter.n_bins();
    }
}

double Acceptance::chance(int bin) const {
    const Bin& b = bins_[static_cast<std::size_t>(bin)];
    return (b.accepted + kExpectationWeight * b.expected) / (b.tried + kExpectationWeight);
}

void Acceptance::saw(std::span<const std::uint8_t> bins, int n_accepted, int n_seen) {
    for (int i = 0; i < n_seen; ++i) {
        Bin& b = bins_[bins[static_cast<std::size_t>(i)]];
        const double right = i < n_accepted ? 1 : 0;
        b.tried = b.tried * kFade + 1;
        b.accepted = b.accepted * kFade + right;
        mean_ += kMeanRate * (right - mean_);
    }
}

Control::Control(const Drafter& drafter)
    : acceptance_(drafter),
      pauses_(static_cast<std::size_t>(drafter.n_bins()) + 1),
      expected_cost_(drafter.expected_cost()) {}

/// Tokens per time with k drafts against without any.
double Control::gain(double expected, double spent_ms, int k, const StepState& s) const {
    const double tokens = s.n_sequences - 1 + expected;
    const double with = tokens / (spent_ms + s.times.ms(s.n_rows + k));
    return with / (s.n_sequences / s.times.ms(s.n_rows));
}

double Control::draft_ms_per_token(const StepState& s) const {
    return draft_ms_ > 0 ? draft_ms_ : expected_cost_ * s.times.ms(1);
}

bool Control::try_again(Pause& p) {
    if (debt_ >= kFirstLoss || ++p.since < p.length) return false;
    p.since = 0;
    return true;
}

void Control::learned(Pause& p, int n_accepted) {
    p.length = n_accepted > 0 ? kShortestPause : std::min(2 * p.length, kLongestPause);
}

bool Control::pays_to_read(double best_gain, const StepState& s, int n_to_read, int n_left) const {
    const double each = read_ms_ > 0 ? read_ms_ : kReadingCost * draft_ms_per_token(s);
    const double saved = (1 - 1 / best_gain) * s.times.ms(1) * std::min(n_left, kUsualAnswer);
    return n_to_read <= kFewToRead || n_to_read * each <= kReadShare * saved;
}

bool Control::may_ask(const StepState& s, int n_to_read, int n_left) {
    if (expected_cost_ == 0) return true;
    const double cost = draft_ms_per_token(s), chance = acceptance_.mean();
    double best = 0, expected = 1, reach = 1;
    for (int k = 1; s.n_rows + k <= StepTimes::kMostRows; ++k) {
        reach *= chance;
        expected += reach;
        best = std::max(best, gain(expected, k * cost, k, s));
    }
    if (best >= kWorthwhile && debt_ < kFirstLoss) {
        return pays_to_read(best, s, n_to_read, n_left);
    }
    return n_to_read <= kFewToRead && try_again(pauses_.back());
}

bool Control::go_on(const Draft& d, const StepState& s) const {
    const int k = d.size();
    if (s.n_rows + k + 1 > StepTimes::kMostRows) return false;
    double expected = 1, reach = 1;
    for (const std::uint8_t bin : d.bins) {
        reach *= acceptance_.chance(bin);
        expected += reach;
    }
    const double cost = draft_ms_per_token(s);
    const double next = expected + reach * acceptance_.mean();
    return gain(next, (k + 1) * cost, k + 1, s) > gain(expected, k * cost, k, s);
}

int Control::choose(const Draft& d, const StepState& s, double spent_ms) {
    if (d.size() == 0) return 0;
    double best = gain(1, spent_ms, 0, s), expected = 1, reach = 1;
    int best_k = 0;
    for (int k = 1; k <= d.size() && s.n_rows + k <= StepTimes::kMostRows; ++k) {
        reach *= acceptance_.chance(d.bins[static_cast<std::size_t>(k - 1)]);
        expected += reach;
        const double g = gain(expected, spent_ms, k, s);
        if (g > best) best = g, best_k = k;
    }
    // Once paid for, a draft is taken whenever that is better than not to.
    if (expected_cost_ > 0) return best_k;
    if (best >= kWorthwhile && debt_ < kFirstLoss) return best_k;
    if (!try_again(pauses_[d.bins.front()])) return 0;
    return std::min({kProbeTokens, d.size(), StepTimes::kMostRows - s.n_rows});
}

void Control::verified(const Draft& d, int n_accepted, int n_seen, const StepState& s,
                       double spent_ms) {
    acceptance_.saw(d.bins, n_accepted, n_seen);
    if (d.size() > 0 && n_seen > 0) {
        learned(pauses_[d.bins.front()], n_accepted);
        if (expected_cost_ > 0) learned(pauses_.back(), n_accepted);
    }
    // In smoothed times: one step that the system interrupted is nobody's loss.
    const double plain = s.times.ms(s.n_rows) / s.n_sequences;
    const double actual = spent_ms + s.times.ms(s.n_rows + d.size()) - s.times.ms(s.n_rows);
    debt_ += actual / plain - n_accepted - kLoss;
    debt_ = std::clamp(debt_, -kMostCredit, 4 * kFirstLoss);
}

void Control::wasted(const StepState& s, double spent_ms) {
    debt_ = std::min(debt_ + spent_ms * s.n_sequences / s.times.ms(s.n_rows), 4 * kFirstLoss);
    learned(pauses_.back(), 0);
}

void Control::drafted(int n, double ms) {
    const double x = ms / n;
    if (draft_ms_ == 0) draft_ms_ = x;
    draft_ms_ += kDraftRate * (std::min(x, 3 * draft_ms_) - draft_ms_);
}

void Control::read(int n, double ms) {
    const double x = ms / n;
    if (read_ms_ == 0) read_ms_ = x;
    read_ms_ += kDraftRate * (std::min(x, 3 * read_ms_) - read_ms_);
}

void Control::plain() { debt_ = std::max(debt_ - kLoss, -kMostCredit); }

}  // namespace hearth
