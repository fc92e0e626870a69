// SPDX-License-Identifier: GPL-3.0-or-later
// HQQ's zero points between the levels.
#include "core/quant/encode/half_quadratic.h"
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

GroupBound boundWithZero(const EncodePlan& plan, const float* x, std::size_t n) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const auto finite = finiteValues(plan, x, n);
    if (!finite) return {nan, nan};
    if (finite->empty()) return {0, 0, plan.lowest()};
    const auto [low, high] = std::minmax_element(finite->begin(), finite->end());
    GroupBound bound{*low, *high};
    bound.zero = halfQuadraticZero(*finite, plan.affineScale(bound), plan.lowest(), plan.highest(),
                                   halfQuadraticOf(plan.arguments()));
    return bound;
}

Result<void> checkHalfQuadratic(const Calibration& calibration, const QuantSpec&) {
    const auto& [id, numbers] = calibration;
    const HalfQuadratic asked = halfQuadraticOf(numbers);
    const bool whole = numbers.size() < 4 || numbers[3] == std::floor(numbers[3]);
    if (asked.p > 0 && asked.p <= 1 && asked.beta > 0 && asked.kappa >= 1 && asked.kappa <= 10 && whole &&
        asked.iterations >= 1 && asked.iterations <= 1000)
        return {};
    return advise(
        fmt::format("calib={} takes a power above 0 and at most 1, a beta above 0, a kappa from 1 to 10 and 1 "
                    "to 1000 iterations, and without them 0.7,10,1.01,20",
                    id),
        {fmt::format("calib={}", id)});
}

} // namespace

constinit const CalibrationTraits kHqqCalibration = {
    .id = "hqq",
    .title = "Half-quadratic zero point",
    .arguments = "[,p[,beta[,kappa[,iterations]]]]",
    .summary = "Scale = (max - min) / (qmax - qmin); the zero point, not rounded, by HQQ's solver for the least "
               "|error|^p of the group: shrink, then average, until the mean error grows. 0.7, 10, 1.01 and 20 when "
               "not given.",
    .minArguments = 0,
    .maxArguments = 4,
    .takes = [](const FormatTraits& f) { return f.affine; },
    .ends = Ends::ZeroPoint,
    .check = checkHalfQuadratic,
    .from = BoundFrom::Values,
    .boundOfValues = boundWithZero,
    .findsZero = true,
};

} // namespace qs
