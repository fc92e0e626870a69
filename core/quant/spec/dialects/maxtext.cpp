// SPDX-License-Identifier: GPL-3.0-or-later
// MaxText's manual_quantize: one scale for a tensor, from a maximum that is given as "fixed,SCALE,MAX".
#include "core/base/text.h"
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/dialects/rows.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace qs {
namespace {

std::string manualSpec(const QuantSpec& spec) {
    return fmt::format("{}:scale=tensor:dialect={}:calib={},1,0.5", spec.format, kMaxTextDialect.id,
                       kFixedCalibration.id);
}

Result<void> checkManual(const QuantSpec& spec) {
    const char* id = kMaxTextDialect.id;
    const std::string works = manualSpec(spec);
    if (spec.scaleKind() != ScaleKind::Tensor)
        return advise(fmt::format("dialect={} has one scale per tensor", id), {works});
    if (!spec.calibration || spec.calibration->id != kFixedCalibration.id)
        return advise(
            fmt::format("dialect={} is manual_quantize, whose calibration is {},SCALE,MAX", id, kFixedCalibration.id),
            {works});
    const char* more = spec.sparsity                                            ? "sparse"
                       : spec.randomSeed()                                      ? "round"
                       : !spec.isSymmetric()                                    ? "sym"
                       : spec.scaleType && *spec.scaleType != ScaleType::F32.id ? "scaletype"
                                                                                : nullptr;
    if (more) return advise(fmt::format("dialect={} does not know {}", id, more), {works});
    return {};
}

Result<void> checkManualNumbers(const Calibration& calibration, const QuantSpec& spec) {
    const auto manual = parseManualQuantize(calibrationText(calibration), spec.traits());
    if (!manual) return tl::unexpected(manual.error());
    if (manual->scale > 0) return {};
    return advise(fmt::format("'{}' has a maximum below 0", calibrationText(calibration)),
                  {fmt::format("calib={},1,0.5", kFixedCalibration.id)});
}

void makeManual(QuantSpec& spec) {
    spec.block.reset(), spec.axes.reset(), spec.tiles.reset(), spec.flat.reset();
    spec.keepsOutput = false;
    spec.scale = ScaleSpelling::Tensor;
    spec.calibration = Calibration{kFixedCalibration.id, {1, 1}};
}

ManualScale manualScale(double most, const FormatTraits& format) {
    ManualScale out;
    // The largest float of a format is taken as a bf16 there.
    const float largest =
        format.kind == FormatKind::Float ? roundToHalf(DType::BF16, format.levels.back()) : format.levels.back();
    out.scale = float(most) / largest;
    if (out.scale == 0) out.scale = 1;
    out.divisor = std::copysign(roundToHalf(DType::BF16, std::fabs(out.scale)), out.scale);
    return out;
}

GroupParams manualParams(const EncodePlan& plan, GroupBound) {
    const ManualScale manual = manualScale(plan.arguments().back(), plan.format());
    return {manual.scale, manual.divisor};
}

} // namespace

constinit const Dialect kMaxTextDialect = {
    .id = "maxtext",
    .title = "MaxText's manual_quantize",
    .source = "MaxText layers/quantizations.py, manual_quantize",
    .takes =
        [](const FormatTraits& f) {
            return f.kind == FormatKind::Integer || (f.kind == FormatKind::Float && f.ownScale == OwnScale::F32);
        },
    .check = checkManual,
    .checkNumbers = checkManualNumbers,
    .fit = makeManual,
    .integers = IntegerLevels::All,
    .division = Division::Truncated,
    .params = manualParams,
};

Result<ManualScale> parseManualQuantize(std::string_view text, const FormatTraits& format) {
    const auto wrong = [&](std::string_view why) {
        return advise(fmt::format("'{}' {}", escapeForPeople(text, 60), why),
                      {fmt::format("calib={},1,0.5", kFixedCalibration.id)});
    };
    if (format.levels.empty()) return wrong(fmt::format("needs a format with codes, and {} has none", format.id));
    if (!text.starts_with(kFixedCalibration.id)) return wrong("is not a fixed calibration");
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
    return manualScale(most, format);
}

} // namespace qs
