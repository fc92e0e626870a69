// SPDX-License-Identifier: GPL-3.0-or-later
// Bounds and thresholds that are means over the values of a group.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

GroupBound boundOfSquares(const EncodePlan& plan, const GroupStatistics& s) {
    const float rms = s.count ? float(std::sqrt(s.powers / double(s.count))) : 0.0f;
    return {-rms * plan.factor(), rms * plan.factor()};
}

GroupBound boundOfMeans(const EncodePlan& plan, const GroupStatistics& s) {
    const double mean = s.nonZero ? s.powers / double(s.nonZero) : 0.0;
    const float bound = float(std::pow(mean, 1 / plan.arguments()[1])) * plan.factor();
    return {-bound, bound};
}

Result<void> checkMeans(const Calibration& calibration, const QuantSpec&) {
    const auto& [id, numbers] = calibration;
    if (numbers.size() == 2 && !(numbers[1] > 0 && numbers[1] <= 64))
        return advise(
            fmt::format("the power of calib={} must be above 0 and at most 64, not {}", id, shownNumber(numbers[1])),
            {fmt::format("calib={},{},1", id, shownNumber(numbers[0]))});
    return checkFactors(calibration, std::span(numbers).first(std::min<std::size_t>(1, numbers.size())), ",1");
}

constexpr double kThreeTimes[] = {3};
constexpr double kThreeMeans[] = {3, 1};

} // namespace

constinit const CalibrationTraits kRmsCalibration = {
    .id = "rms",
    .title = "Root mean square",
    .arguments = ",c",
    .summary = "Bound = c x sqrt(mean x^2).",
    .minArguments = 1,
    .maxArguments = 1,
    .takes = hasBoundAndLevels,
    .isFactor = true,
    .example = kThreeTimes,
    .from = BoundFrom::Powers,
    .power = [](std::span<const double>) { return 2.0; },
    .bound = boundOfSquares,
};

constinit const CalibrationTraits kAbsMeanCalibration = {
    .id = "absmean",
    .title = "Mean magnitude",
    .arguments = "[,c,p]",
    .summary = "Sign formats, without numbers: scale = mean|x| (binary, BitNet), or mean of the |x| above 0.7 mean|x| "
               "(Ternary Weight Networks). Others: bound = c x (sum|x|^p / number of x that are not 0)^(1/p).",
    .minArguments = 2,
    .maxArguments = 2,
    .takes = [](const FormatTraits& f) { return hasBoundAndLevels(f) || f.kind == FormatKind::Sign; },
    .example = kThreeMeans,
    .check = checkMeans,
    .from = BoundFrom::Powers,
    .statistic =
        [](Encoder encoder) {
            return encoder == Encoder::Threshold ? GroupStatistic::MeanAbsTwn : GroupStatistic::MeanAbs;
        },
    .power = [](std::span<const double> arguments) { return arguments[1]; },
    .bound = boundOfMeans,
};

constinit const CalibrationTraits kStdCalibration = {
    .id = "std",
    .title = "Half a standard deviation",
    .arguments = "",
    .summary = "Threshold = 0.5 std(x) over the whole tensor, no scale: unscaled ternary.",
    .minArguments = 0,
    .maxArguments = 0,
    .takes = [](const FormatTraits& f) { return f.unscaledBy == GroupStatistic::HalfStd; },
    .isThreshold = true,
    .statistic = [](Encoder) { return GroupStatistic::HalfStd; },
};

} // namespace qs
