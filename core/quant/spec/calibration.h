// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/quant/spec/spec.h"

namespace qs {

/// Numbers to begin with, where a calibration does not do without; `sign`: of binary and ternary.
std::vector<double> exampleArguments(std::string_view id, bool sign);
/// Values of scaletype= that the format and the dialect of a spec take, the default first.
std::vector<std::string_view> scaleTypesOf(const QuantSpec& spec);
/// The numbers make sense for the calibration; the sentence names the nearest that do.
Result<void> checkArguments(const Calibration& calibration, const QuantSpec& spec);
/// "percentile,99.9"
std::string calibrationText(const Calibration& calibration);

/// MaxText's manual_quantize strings: "fixed,SCALE,MAX". The second field is ignored, as there; scale = MAX / the
/// largest value of the format (0 becomes 1), and what values are divided by is that scale rounded to bf16.
struct ManualScale {
    float scale = 1;   ///< stored
    float divisor = 1; ///< rounded to bf16
};
Result<ManualScale> parseManualQuantize(std::string_view text, const FormatTraits& format);

} // namespace qs
