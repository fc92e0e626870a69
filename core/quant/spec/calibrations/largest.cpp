// SPDX-License-Identifier: GPL-3.0-or-later
// Bounds of the outermost values: the largest magnitude, and both ends of the range.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

namespace qs {
namespace {

GroupStatistic largestStatistic(Encoder) { return GroupStatistic::AbsMax; }

GroupBound boundOfLargest(const EncodePlan& plan, const GroupStatistics& s) {
    const float factor = plan.factor();
    return factor == 1 ? GroupBound{-s.absMax, s.absMax} : GroupBound{-s.absMax * factor, s.absMax * factor};
}

GroupBound boundOfEnds(const EncodePlan& plan, const GroupStatistics& s) {
    const float factor = plan.factor();
    return factor == 1 ? GroupBound{s.min, s.max} : GroupBound{s.min * factor, s.max * factor};
}

} // namespace

constinit const CalibrationTraits kAbsMaxCalibration = {
    .id = "absmax",
    .title = "Absolute maximum",
    .arguments = "[,c]",
    .summary = "Bound = c x max|x| of each scale group; c below 1 clips, c is 1 when not given.",
    .minArguments = 0,
    .maxArguments = 1,
    .takes = [](const FormatTraits& f) { return f.scaledBy == GroupStatistic::AbsMax; },
    .isFactor = true,
    .advised = [](std::size_t) { return std::vector<double>{0.95}; },
    .statistic = largestStatistic,
    .bound = boundOfLargest,
};

constinit const CalibrationTraits kMinMaxCalibration = {
    .id = "minmax",
    .title = "Minimum and maximum",
    .arguments = "[,c]",
    .summary = "From c x min(x, 0) to c x max(x, 0): scale = range / (qmax - qmin), zero point = qmin - min / scale "
               "rounded. Of dialect=mlx from min x to max x: the one of larger magnitude is the bias and a multiple of "
               "the scale.",
    .minArguments = 0,
    .maxArguments = 1,
    .takes = [](const FormatTraits& f) { return f.affine; },
    .ends = Ends::ZeroPoint,
    .isFactor = true,
    .from = BoundFrom::Ends,
    .bound = boundOfEnds,
};

} // namespace qs
