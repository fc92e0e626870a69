// SPDX-License-Identifier: GPL-3.0-or-later
// MLX's affine mode: a scale and a bias for each group of 32, 64 or 128 values of a row, of their minimum and maximum.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/calibrations/rows.h"
#include "core/quant/spec/dialects/rows.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace qs {
namespace {

constexpr std::uint32_t kGroups[] = {32, 64, 128};

Result<void> checkAffineMode(const QuantSpec& spec) {
    const char* id = kMlxDialect.id;
    const std::string works = fmt::format("{}:dialect={}", spec.format, id);
    if (std::find(std::begin(kGroups), std::end(kGroups), spec.blockSize()) == std::end(kGroups))
        return advise(fmt::format("dialect={} has a scale and a bias per group of 32, 64 or 128 of a row", id),
                      {works, works + ":block=32"});
    if (const char* more = keyTooMany(spec, kMinMaxCalibration, false))
        return advise(fmt::format("dialect={} is mlx.core.quantize, which does not know {}", id, more), {works});
    return {};
}

Result<void> checkWholeGroups(const QuantSpec& spec, std::int64_t features) {
    if (features % std::int64_t(spec.blockSize()) == 0) return {};
    const char* id = kMlxDialect.id;
    std::string works = fmt::format("{}:sym=no", spec.format);
    for (const std::uint32_t group : kGroups)
        if (features % std::int64_t(group) == 0) works = fmt::format("{}:block={}:dialect={}", spec.format, group, id);
    return advise(fmt::format("rows of {} values are not whole groups of {}, as dialect={} needs", features,
                              spec.blockSize(), id),
                  {works});
}

// mlx/backend/cpu/quantized.cpp, quantize(): the end of the range of larger magnitude is a multiple of the scale, so that
// 0 is a level where it is within; all in f32, and what is stored is rounded to its type afterwards.
GroupParams biasedParams(const EncodePlan& plan, GroupBound bound) {
    const bool below = std::fabs(bound.low) > std::fabs(bound.high);
    const float least = std::max((bound.high - bound.low) / (plan.highest() - plan.lowest()), 1e-7f);
    const float edge = below ? bound.low : bound.high;
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    if (std::fabs(edge) > plan.largestTaken()) return {nan, nan, nan}; // so that who decodes it refuses the tensor
    float scale = below ? least : -least, bias = 0;
    if (const float steps = std::nearbyint(edge / scale); steps != 0) scale = edge / steps, bias = edge;
    bias = roundedTo(plan.scaleType(), bias);
    return {roundedTo(plan.scaleType(), scale), scale, bias};
}

constexpr const CalibrationTraits* kOnlyEnds[] = {&kMinMaxCalibration};

} // namespace

constinit const Dialect kMlxDialect = {
    .id = "mlx",
    .title = "MLX's affine mode",
    .source = "mlx 0.32.4 mlx/backend/cpu/quantized.cpp",
    .takes = [](const FormatTraits& f) { return f.kind == FormatKind::Integer && f.bits != 7; },
    .defaultScale = ScaleKind::Block,
    .symmetric = false,
    .lastAxisOnly = true,
    .calibrations = kOnlyEnds,
    .scaleTypes = [](const FormatTraits&) -> std::vector<const ScaleType*> {
        return {&ScaleType::Input, &ScaleType::F32, &ScaleType::F16, &ScaleType::Bf16};
    },
    .check = checkAffineMode,
    .checkRows = checkWholeGroups,
    .encoder = Encoder::RoundBiased,
    .integers = IntegerLevels::FromZero,
    .hasBiases = true,
    .rangeHoldsZero = false,
    .params = biasedParams,
    .largestTaken =
        [](const QuantSpec& spec) { return scaleTypeOf(spec) == ScaleType::F16 ? kLargestOfHalf : FLT_MAX / 2; },
};

} // namespace qs
