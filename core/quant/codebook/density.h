// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A weighted distribution of values, and scalar quantizers for it: Lloyd 1982, Max 1960. Units are those of the values.

#include <cstddef>
#include <span>
#include <vector>

namespace qs {

/// Moments of the mass in an interval.
struct Mass {
    double w = 0, x = 0, xx = 0;
    Mass operator-(const Mass& o) const { return {w - o.w, x - o.x, xx - o.xx}; }
    /// Squared error of standing for all of it by `level`; never below 0.
    double error(double level) const;
};

/// Mass spread evenly over [lo, hi]; lo == hi is an atom.
struct DensityCell {
    double lo = 0, hi = 0, mass = 0;
};

class Density {
public:
    Density() = default;
    /// Ascending cells that do not overlap; those without mass are left out.
    explicit Density(std::vector<DensityCell> cells);
    bool empty() const { return cells_.empty(); }
    Mass total() const { return sums_.empty() ? Mass{} : sums_.back(); }
    /// The mass of all values up to and including x.
    Mass upTo(double x) const;
    /// The same, but it walks from cell `near` and does no search. `near` becomes the cell of x.
    Mass upTo(double x, std::size_t& near) const;
    const std::vector<DensityCell>& cells() const { return cells_; }
    double lowest() const { return cells_.empty() ? 0 : cells_.front().lo; }
    double highest() const { return cells_.empty() ? 0 : cells_.back().hi; }
    /// Differential entropy in bits; atoms count as if they were `atom` wide.
    double entropyBits(double atom) const;

private:
    Mass before(std::size_t index, double x) const;
    std::vector<DensityCell> cells_;
    std::vector<Mass> sums_; ///< of the cells before and of this one
};

/// What a codebook does to a density: per code, and together.
struct CodebookFit {
    std::vector<double> levels, boundaries; ///< boundaries: one fewer; values on one have the lower code
    std::vector<double> share, error;       ///< per code: of the mass; squared error over the total mass
    double mse = 0, power = 0;              ///< over the total mass
    double entropyBits = 0;
    int dead = 0;
    double sqnrDb() const; ///< infinite where nothing is lost
};
/// Without boundaries each value takes the nearest level.
CodebookFit fitOf(const Density& density, std::span<const double> levels, std::span<const double> boundaries = {});

/// Levels at the quantiles of the cube root of the density, the best for many levels (Panter and Dite 1951).
std::vector<double> compandedLevels(const Density& density, std::size_t count);
/// The best levels for the density cut into at most 768 pieces, by dynamic programming: the optimum of k-means in one
/// dimension, not one of its local ones.
std::vector<double> bestLevelsOfPieces(const Density& density, std::size_t count);
/// The same where no cell is cut, as of the values themselves; at most 65,535 cells.
std::vector<double> bestLevelsOfAtoms(const Density& density, std::size_t count);
/// Lloyd's iteration from `start` until a round saves less than `least` of the error. Ascending.
std::vector<double> lloydMax(const Density& density, std::vector<double> start, int rounds = 2000, double least = 1e-9);

/// Signal to noise that no code of `bits` per value can pass: Shannon's lower bound to the rate-distortion function.
double shannonBoundDb(const Density& density, double bits, double atom);

} // namespace qs
