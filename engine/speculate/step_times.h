#pragma once
// StepTimes: what a decode step of n rows costs, from measured times. Rows that were not measured,
// or not lately, lean on a line through the others. Knows milliseconds; does not know tokens.

#include <array>

namespace hearth {

class StepTimes {
  public:
    static constexpr int kMostRows = 16;

    /// A step of n_rows (1 to kMostRows) without any prompt took `ms`.
    void measured(int n_rows, double ms);
    /// Estimate; in units of a step of one row while nothing was measured.
    double ms(int n_rows) const;
    /// Measured often enough to compare with.
    bool knows(int n_rows) const;

  private:
    struct Cell {
        double ms = 0;
        double weight = 0;  ///< measurements, fading
        int count = 0;
    };
    double line(int n_rows) const;
    std::array<Cell, kMostRows + 1> cells_{};
};

}  // namespace hearth
