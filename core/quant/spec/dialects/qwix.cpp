// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/dialects/rows.h"

namespace qs {
namespace {

constexpr float kLeastScale = 0x1p-63f; ///< sqrt(FLT_MIN)

float oneIfTiny(float scale) { return scale < kLeastScale ? 1.0f : scale; }

std::vector<const ScaleType*> qwixScaleTypes(const FormatTraits& format) {
    if (format.ownScale == OwnScale::E4m3) return {&ScaleType::Ue4m3}; // it has no scale per tensor beside them
    return commonScaleTypes(format);
}

} // namespace

constinit const Dialect kQwixDialect = {
    .id = "qwix",
    .title = "qwix",
    .source = "qwix 0.1.8 qwix/_src/core/numerics.py, qarray.py",
    .takes =
        [](const FormatTraits& f) {
            return f.kind == FormatKind::Integer || f.kind == FormatKind::Float || f.encoder == Encoder::NearestNf4;
        },
    .randomFloats = false,
    .scaleTypes = qwixScaleTypes,
    .integers = IntegerLevels::All,
    .integerRange = [](float half) { return half - 0.5f; },
    .dividesByScale = true,
    .roundsExponentUp = true, // 0.1.8; later ones have another rule
    .scaleOf = [](const EncodePlan& plan, float bound) { return oneIfTiny(bound / plan.range()); },
    .affineScale = [](float scale) { return oneIfTiny(scale); },
};

} // namespace qs
