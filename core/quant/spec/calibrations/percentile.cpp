// SPDX-License-Identifier: GPL-3.0-or-later
// A percentile of the magnitudes of a group.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

float percentileOf(const EncodePlan& plan, const float* x, std::size_t n) {
    auto finite = finiteValues(plan, x, n);
    if (!finite) return std::numeric_limits<float>::quiet_NaN();
    if (finite->empty()) return 0;
    std::vector<float>& magnitudes = *finite;
    for (float& value : magnitudes) value = std::fabs(value);
    const double at = plan.arguments().front() / 100 * double(magnitudes.size() - 1);
    const auto below = std::size_t(at);
    const auto place = magnitudes.begin() + std::ptrdiff_t(below);
    std::nth_element(magnitudes.begin(), place, magnitudes.end());
    const double low = double(*place);
    if (below + 1 == magnitudes.size()) return float(low);
    const double high = double(*std::min_element(place + 1, magnitudes.end()));
    return float(low + (high - low) * (at - double(below)));
}

Result<void> checkPercentile(const Calibration& calibration, const QuantSpec&) {
    const auto& [id, numbers] = calibration;
    if (numbers[0] > 0 && numbers[0] <= 100) return {};
    return advise(
        fmt::format("the percentile of calib={} must be above 0 and at most 100, not {}", id, shownNumber(numbers[0])),
        {fmt::format("calib={},99.9", id)});
}

constexpr double kNearlyAll[] = {99.9};

} // namespace

constinit const CalibrationTraits kPercentileCalibration = {
    .id = "percentile",
    .title = "Percentile",
    .arguments = ",p",
    .summary = "Bound = the p-th percentile of |x|, p in percent, linear between values.",
    .minArguments = 1,
    .maxArguments = 1,
    .takes = hasBoundAndLevels,
    .example = kNearlyAll,
    .check = checkPercentile,
    .from = BoundFrom::Values,
    .boundOfValues =
        [](const EncodePlan& plan, const float* x, std::size_t n) {
            const float high = percentileOf(plan, x, n);
            return GroupBound{-high, high};
        },
};

} // namespace qs
