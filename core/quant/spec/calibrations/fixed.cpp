// SPDX-License-Identifier: GPL-3.0-or-later
// A bound that is given.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"

#include <algorithm>
#include <fmt/format.h>

namespace qs {
namespace {

GroupBound givenBound(const EncodePlan& plan, const GroupStatistics&) {
    const auto numbers = plan.arguments();
    const float high = float(numbers.back());
    return {numbers.size() == 2 ? float(numbers.front()) : -high, high};
}

Result<void> checkGiven(const Calibration& calibration, const QuantSpec& spec) {
    const auto& [id, numbers] = calibration;
    if (numbers.size() == 1 && !(float(numbers[0]) > 0))
        return advise(fmt::format("the bound of calib={} must be above 0, not {}", id, shownNumber(numbers[0])),
                      {fmt::format("calib={}{}", id, spec.isSymmetric() ? ",1" : ",-1,1")});
    if (numbers.size() == 2 && !(numbers[0] <= 0 && numbers[1] >= 0 && float(numbers[0]) < float(numbers[1])))
        return advise(fmt::format("the range of calib={} must hold 0 and more, not {} to {}", id,
                                  shownNumber(numbers[0]), shownNumber(numbers[1])),
                      {fmt::format("calib={},-1,1", id)});
    if (numbers.size() == 2 && spec.isSymmetric() && numbers[0] != -numbers[1])
        return advise(fmt::format("calib={} is not symmetric", calibrationText(calibration)),
                      {fmt::format("calib={},{}", id, shownNumber(std::max(-numbers[0], numbers[1]))), "sym=no"});
    return {};
}

constexpr double kOne[] = {1};

} // namespace

constinit const CalibrationTraits kFixedCalibration = {
    .id = "fixed",
    .title = "Fixed",
    .arguments = ",b or ,lo,hi",
    .summary = "Bound = b, or from lo to hi, whatever the values are.",
    .minArguments = 1,
    .maxArguments = 2,
    .takes = hasBoundAndLevels,
    .ends = Ends::Either,
    .example = kOne,
    .advised =
        [](std::size_t count) {
            return count == 2 ? std::vector<double>{-1, 1} : std::vector<double>{1};
        },
    .check = checkGiven,
    .from = BoundFrom::Nothing,
    .bound = givenBound,
};

} // namespace qs
