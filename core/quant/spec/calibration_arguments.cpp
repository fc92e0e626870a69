// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of calib=.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/dialect.h"

#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

bool isFactor(double value) { return float(value) > 0 && value <= 1000; }

} // namespace

std::string shownNumber(double value) { return fmt::format("{}", value); }

Result<void> checkFactors(const Calibration& calibration, std::span<const double> numbers, const char* more) {
    for (const double number : numbers)
        if (!isFactor(number))
            return advise(fmt::format("the factor of calib={} must be above 0 and at most 1000, not {}", calibration.id,
                                      shownNumber(number)),
                          {fmt::format("calib={},1{}", calibration.id, more)});
    return {};
}

std::optional<std::vector<float>> finiteValues(const EncodePlan& plan, const float* x, std::size_t n) {
    std::vector<float> out;
    out.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
        if (std::isfinite(x[i]))
            out.push_back(x[i]);
        else if (!plan.skipsNonFinite())
            return {};
    return out;
}

std::vector<double> exampleArguments(std::string_view id, bool sign) {
    const CalibrationTraits* row = findCalibration(id);
    if (!row || sign) return {};
    return {row->example.begin(), row->example.end()};
}

std::string calibrationText(const Calibration& calibration) {
    std::string text = calibration.id;
    for (const double argument : calibration.arguments) text += fmt::format(",{}", argument);
    return text;
}

Result<void> checkArguments(const Calibration& calibration, const QuantSpec& spec) {
    if (const auto check = dialectOf(spec).checkNumbers) return check(calibration, spec);
    const auto& [id, numbers] = calibration;
    const CalibrationTraits& row = *findCalibration(id);
    const bool sign = spec.traits().kind == FormatKind::Sign; // whose statistics have no numbers
    const int least = sign ? 0 : row.minArguments, most = sign ? 0 : row.maxArguments;
    const int count = int(numbers.size());
    if (count < least || count > most) {
        const std::string takes = most == 0       ? "no numbers"
                                  : least == most ? fmt::format("{} number{}", most, most == 1 ? "" : "s")
                                  : least == 0    ? fmt::format("at most {} numbers", most)
                                                  : fmt::format("{} to {} numbers", least, most);
        return advise(fmt::format("calib={}{} takes {}, not {}", id, most > 0 ? row.arguments : "", takes, count),
                      {fmt::format("calib={}", least == 0 ? id : calibrationText({id, exampleArguments(id, sign)}))});
    }
    return row.check ? row.check(calibration, spec) : checkFactors(calibration, numbers, "");
}

} // namespace qs
