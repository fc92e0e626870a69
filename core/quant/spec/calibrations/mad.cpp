// SPDX-License-Identifier: GPL-3.0-or-later
// A multiple of the median absolute deviation, which outliers do not move.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qs {
namespace {

/// The middle of the values, the mean of the two middle ones where their count is even. Reorders them; there is one.
double medianOf(std::vector<double>& values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

/// In f64, rounded to f32 once at the end.
GroupBound boundOfDeviation(const EncodePlan& plan, const float* x, std::size_t n) {
    const auto finite = finiteValues(plan, x, n);
    if (!finite) return {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()};
    if (finite->empty()) return {};
    std::vector<double> values(finite->begin(), finite->end());
    const double centre = medianOf(values);
    for (double& value : values) value = std::fabs(value - centre);
    const float high = float(medianOf(values) * plan.arguments().front());
    return {-high, high};
}

constexpr double kThreeDeviations[] = {4.5}; // 3 standard deviations of normal values: 3 / 0.6745

} // namespace

constinit const CalibrationTraits kMadCalibration = {
    .id = "mad",
    .title = "Median absolute deviation",
    .arguments = ",c",
    .summary = "Bound = c x median|x - median(x)|, not multiplied by 1.4826; of an even number of values the median is "
               "the mean of the two in the middle.",
    .minArguments = 1,
    .maxArguments = 1,
    .takes = hasBoundAndLevels,
    .isFactor = true,
    .example = kThreeDeviations,
    .from = BoundFrom::Values,
    .boundOfValues = boundOfDeviation,
};

} // namespace qs
