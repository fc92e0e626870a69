// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of calib=, and the strings of MaxText's manual_quantize.
#include "core/base/text.h"
#include "core/quant/encode/half_quadratic.h"
#include "core/quant/spec/calibration.h"
#include "core/quant/spec/scale_type.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

const CalibrationTraits& rowOf(std::string_view id) {
    return *std::find_if(calibrations().begin(), calibrations().end(), [&](const auto& row) { return id == row.id; });
}

std::string shownNumber(double value) { return fmt::format("{}", value); }

bool isFactor(double value) { return float(value) > 0 && value <= 1000; }

} // namespace

std::string calibrationText(const Calibration& calibration) {
    std::string text = calibration.id;
    for (const double argument : calibration.arguments) text += fmt::format(",{}", argument);
    return text;
}

/// calib=fixed,SCALE,MAX of dialect=maxtext is a string of manual_quantize.
static Result<void> checkManual(const Calibration& calibration, const QuantSpec& spec) {
    const auto manual = parseManualQuantize(calibrationText(calibration), spec.traits());
    if (!manual) return tl::unexpected(manual.error());
    if (manual->scale > 0) return {};
    return fail(fmt::format("'{}' has a maximum below 0: use for example fixed,1,0.5", calibrationText(calibration)));
}

Result<void> checkArguments(const Calibration& calibration, const QuantSpec& spec) {
    if (spec.effectiveDialect() == "maxtext") return checkManual(calibration, spec);
    const auto& [id, numbers] = calibration;
    const CalibrationTraits& row = rowOf(id);
    const bool sign = spec.traits().kind == FormatKind::Sign;
    int least = row.minArguments, most = row.maxArguments;
    if (id == "absmean") least = most = sign ? 0 : 2;
    const auto advice = calibrationText({id, exampleArguments(id, sign)});
    const int count = int(numbers.size());
    if (count < least || count > most) {
        const std::string takes = most == 0       ? "no numbers"
                                  : least == most ? fmt::format("{} number{}", most, most == 1 ? "" : "s")
                                  : least == 0    ? fmt::format("at most {} numbers", most)
                                                  : fmt::format("{} to {} numbers", least, most);
        return fail(fmt::format("calib={} takes {}, not {}: use calib={}{}", id, takes, count,
                                least == 0 ? std::string(id) : advice, least == 0 && most > 0 ? row.arguments : ""));
    }
    if (id == "fixed") {
        if (numbers.size() == 1 && !(float(numbers[0]) > 0))
            return fail(fmt::format("the bound of calib=fixed must be above 0, not {}: use {}", shownNumber(numbers[0]),
                                    spec.isSymmetric() ? "calib=fixed,1" : "calib=fixed,-1,1"));
        if (numbers.size() == 2 && !(numbers[0] <= 0 && numbers[1] >= 0 && float(numbers[0]) < float(numbers[1])))
            return fail(fmt::format("the range of calib=fixed must hold 0 and more, not {} to {}: use calib=fixed,-1,1",
                                    shownNumber(numbers[0]), shownNumber(numbers[1])));
        if (numbers.size() == 2 && spec.isSymmetric() && numbers[0] != -numbers[1])
            return fail(fmt::format("calib={} is not symmetric: use calib=fixed,{}{}", calibrationText(calibration),
                                    shownNumber(std::max(-numbers[0], numbers[1])),
                                    spec.traits().affine ? " or sym=no" : ""));
        return {};
    }
    if (id == "hqq") {
        const HalfQuadratic asked = halfQuadraticOf(numbers);
        const bool whole = numbers.size() < 4 || numbers[3] == std::floor(numbers[3]);
        if (asked.p > 0 && asked.p <= 1 && asked.beta > 0 && asked.kappa >= 1 && asked.kappa <= 10 && whole &&
            asked.iterations >= 1 && asked.iterations <= 1000)
            return {};
        return fail("calib=hqq takes a power above 0 and at most 1, a beta above 0, a kappa from 1 to 10 and 1 to 1000 "
                    "iterations: use calib=hqq, which is calib=hqq,0.7,10,1.01,20");
    }
    if (id == "percentile") {
        if (numbers[0] > 0 && numbers[0] <= 100) return {};
        return fail(fmt::format("the percentile of calib=percentile must be above 0 and at most 100, not {}: use "
                                "calib=percentile,99.9",
                                shownNumber(numbers[0])));
    }
    if (id == "absmean" && numbers.size() == 2 && !(numbers[1] > 0 && numbers[1] <= 64))
        return fail(
            fmt::format("the power of calib=absmean must be above 0 and at most 64, not {}: use calib=absmean,{},1",
                        shownNumber(numbers[1]), shownNumber(numbers[0])));
    for (std::size_t i = 0; i < (id == "absmean" ? std::min<std::size_t>(1, numbers.size()) : numbers.size()); ++i)
        if (!isFactor(numbers[i]))
            return fail(fmt::format("the factor of calib={} must be above 0 and at most 1000, not {}: use calib={},1{}",
                                    id, shownNumber(numbers[i]), id, id == "absmean" ? ",1" : ""));
    return {};
}

Result<ManualScale> parseManualQuantize(std::string_view text, const FormatTraits& format) {
    const auto wrong = [&](std::string_view why) {
        return fail(fmt::format("'{}' {}: use for example fixed,1,0.5", escapeForPeople(text, 60), why));
    };
    if (format.levels.empty()) return wrong(fmt::format("needs a format with codes, and {} has none", format.id));
    if (!text.starts_with("fixed")) return wrong("is not a fixed calibration");
    const std::size_t first = text.find(','), second = first == text.npos ? text.npos : text.find(',', first + 1);
    if (second == text.npos || text.find(',', second + 1) != text.npos) return wrong("does not have three fields");
    std::string_view last = text.substr(second + 1);
    while (last.starts_with(' ')) last.remove_prefix(1);
    while (last.ends_with(' ')) last.remove_suffix(1);
    if (last.starts_with('+')) last.remove_prefix(1);
    double most = 0;
    const auto [end, error] = std::from_chars(last.data(), last.data() + last.size(), most);
    if (last.empty() || error != std::errc() || end != last.data() + last.size() || !std::isfinite(most))
        return wrong("does not end in a number");
    ManualScale out;
    // The largest float of a format is taken as a bf16 there.
    const float largest =
        format.kind == FormatKind::Float ? roundToHalf(ScaleType::Bf16, format.levels.back()) : format.levels.back();
    out.scale = float(most) / largest;
    if (out.scale == 0) out.scale = 1;
    out.divisor = std::copysign(roundToHalf(ScaleType::Bf16, std::fabs(out.scale)), out.scale);
    return out;
}

} // namespace qs
