#include "engine/speculate/step_times.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hearth {

namespace {

constexpr double kSlope = 0.04;     ///< of a step per further row, before anything is known
constexpr double kLineWeight = 2;   ///< the line counts as much as this many measurements
constexpr double kMostWeight = 10;  ///< a cell remembers about this many
constexpr double kFade = 0.995;     ///< of the others, per measurement
constexpr int kEnough = 3;

}  // namespace

void StepTimes::measured(int n_rows, double ms) {
    HEARTH_CHECK(n_rows >= 1 && n_rows <= kMostRows);
    for (Cell& c : cells_) c.weight *= kFade;
    Cell& cell = cells_[static_cast<std::size_t>(n_rows)];
    // One step that the system interrupted must not count as news about all of them.
    const double x = cell.count < 2 ? ms : std::clamp(ms, 0.6 * cell.ms, 1.5 * cell.ms);
    cell.weight = std::min(cell.weight + 1, kMostWeight);
    // The second replaces a first one that is far slower: cold caches, pages not read yet.
    if (cell.count == 1 && x < 0.7 * cell.ms)
        cell.ms = x;
    else
        cell.ms += (x - cell.ms) / std::min<double>(++cell.count, kMostWeight);
    cell.count = std::max(cell.count, 1);
}

bool StepTimes::knows(int n_rows) const {
    return cells_[static_cast<std::size_t>(n_rows)].count >= kEnough;
}

/// Through the measured cells, by least squares with kSlope as a further opinion about the slope.
double StepTimes::line(int n_rows) const {
    const auto first =
        std::find_if(cells_.begin(), cells_.end(), [](const Cell& c) { return c.count > 0; });
    if (first == cells_.end()) return 1 + kSlope * (n_rows - 1);
    const auto n0 = static_cast<double>(first - cells_.begin());
    // From the fewest rows measured, whose cell is the best known.
    double top = kSlope * first->ms * 4, bottom = 4;
    for (std::size_t n = static_cast<std::size_t>(n0) + 1; n < cells_.size(); ++n) {
        const double x = static_cast<double>(n) - n0;
        top += cells_[n].weight * x * (cells_[n].ms - first->ms);
        bottom += cells_[n].weight * x * x;
    }
    const double slope = std::max(0.0, top / bottom);
    return std::max(first->ms + slope * (n_rows - n0), 0.1 * first->ms);
}

double StepTimes::ms(int n_rows) const {
    const Cell& cell = cells_[static_cast<std::size_t>(std::clamp(n_rows, 1, kMostRows))];
    if (knows(n_rows) && n_rows == 1) return cell.ms;
    return (cell.weight * cell.ms + kLineWeight * line(n_rows)) / (cell.weight + kLineWeight);
}

}  // namespace hearth
