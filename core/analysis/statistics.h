// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"
#include "core/analysis/picture.h"

#include <atomic>

namespace qs {

/// Derived figures out of power sums.
TensorStatistics statisticsOf(const Moments& moments);

/// Largest |x - f32(x)| over the finite values of an F64 tensor's elements [begin, begin + n).
double conversionErrorOf(const TensorView& view, std::uint64_t begin, std::size_t n);

/// Gathers statistics range by range; pieces are folded in order.
class StatisticsGatherer {
public:
    StatisticsGatherer(const TensorView& view, std::size_t features);
    /// `rowMax` is given |x| maxima of whole rows unless the blocks of the picture did that.
    void add(const PassRange& range, Picture& picture, bool rowMaxima);
    Moments moments() const;
    TensorStatistics finish(const Picture& picture) const;

private:
    const TensorView* view_;
    std::size_t features_;
    std::vector<Moments> pieces_;
    std::vector<double> conversion_;
};

} // namespace qs
