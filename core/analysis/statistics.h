// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"
#include "core/analysis/axis_maxima.h"

#include <atomic>

namespace qs {

/// Derived figures out of power sums.
TensorStatistics statisticsOf(const Moments& moments);

/// Largest |x - f32(x)| over the finite values of an F64 tensor's elements [begin, begin + n).
double conversionErrorOf(const TensorView& view, std::uint64_t begin, std::size_t n);

/// Gathers statistics range by range; pieces are folded in order.
class StatisticsGatherer {
public:
    explicit StatisticsGatherer(const TensorView& view);
    void add(const PassRange& range);
    TensorStatistics finish() const;
    const AxisMaxima& maxima() const { return maxima_; }

private:
    Moments moments() const;
    const TensorView* view_;
    AxisMaxima maxima_;
    std::vector<Moments> pieces_;
    std::vector<double> conversion_;
};

} // namespace qs
