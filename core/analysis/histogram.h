// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Histograms over floats of unknown range: see kFloatBins. Re-binned to linear axes for charts, and to percentiles.

#include "kernels/kernel_set.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace qs {

class FloatHistogram {
public:
    FloatHistogram() : counts_(kFloatBins) {}
    /// `counts`: of all kFloatBins bins.
    explicit FloatHistogram(std::vector<std::uint64_t> counts) : counts_(std::move(counts)) {}
    void add(std::span<const std::uint32_t> bins);
    void merge(const FloatHistogram& other);
    std::uint64_t total() const;
    /// Value below which `percent` of |x| lies, linear inside a bin (a bin is at most 1/32 wide).
    double absPercentile(double percent) const;
    double minimum() const, maximum() const; ///< outer edges of the occupied bins

    struct Linear {
        double lo = 0, hi = 0;
        std::vector<double> counts;  ///< mass of a bin that straddles an edge is split by length
        double below = 0, above = 0; ///< tails are counted, never dropped
        double width() const { return (hi - lo) / double(counts.size()); }
    };
    Linear linear(double lo, double hi, int bins) const;
    /// The same over bins between ascending edges, two or more.
    struct Binned {
        std::vector<double> counts;
        double below = 0, above = 0;
    };
    Binned binned(std::span<const double> edges) const;
    const std::vector<std::uint64_t>& counts() const { return counts_; }

private:
    std::vector<std::uint64_t> counts_;
};

/// [lower, upper) of a bin; bin of the sign of its values.
double floatBinLower(std::size_t bin);
double floatBinUpper(std::size_t bin);

} // namespace qs
