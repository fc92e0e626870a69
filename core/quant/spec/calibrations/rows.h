// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The rows of calibrationRows(), for those that mean one of them, and what several rows share.

#include "core/quant/spec/calibration.h"

namespace qs {

extern const CalibrationTraits kAbsMaxCalibration, kMinMaxCalibration, kRmsCalibration, kFixedCalibration,
    kAbsMeanCalibration, kStdCalibration, kPercentileCalibration, kMseCalibration, kSnrCalibration, kHqqCalibration,
    kMadCalibration;

/// Formats whose levels are divided by a bound of the values, and whose levels are known beforehand.
inline bool hasBoundAndLevels(const FormatTraits& format) {
    return format.scaledBy == GroupStatistic::AbsMax && format.bitWidths.empty();
}
/// Each of `numbers` is a factor: above 0 and at most 1000. `more` follows a factor in the advice: ",1".
Result<void> checkFactors(const Calibration& calibration, std::span<const double> numbers, const char* more);
std::string shownNumber(double value);
/// The finite values of a group; none if another one is there that the plan does not skip.
std::optional<std::vector<float>> finiteValues(const EncodePlan& plan, const float* x, std::size_t n);

} // namespace qs
