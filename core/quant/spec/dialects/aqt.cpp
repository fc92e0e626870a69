// SPDX-License-Identifier: GPL-3.0-or-later
// AQT multiplies by the reciprocal of the scale; three ways to place the levels.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/dialects/rows.h"

namespace qs {
namespace {

bool isIntegerFormat(const FormatTraits& f) { return f.kind == FormatKind::Integer; }
float scaleOfSome(const EncodePlan& plan, float bound) { return (bound == 0 ? 1.0f : bound) / plan.range(); }

constexpr Dialect aqtRow(const char* id, const char* title, IntegerLevels integers, float (*range)(float half)) {
    return {
        .id = id,
        .title = title,
        .source = "AQT aqt/jax/v2/numerics/int_numerics.py, calibration.py",
        .takes = isIntegerFormat,
        .zeroPoints = false,
        .encoder = Encoder::RoundReciprocal,
        .integers = integers,
        .integerRange = range,
        .zeroMaximumIsOne = true,
        .scaleOf = scaleOfSome,
    };
}

} // namespace

constinit const Dialect kAqtDialect = aqtRow("aqt", "AQT: the maximum on the edge of the last level",
                                             IntegerLevels::Symmetric, [](float half) { return half - 0.5f; });
constinit const Dialect kAqtMaxDialect =
    aqtRow("aqt_max", "AQT: the maximum on the centre of the last level", IntegerLevels::Symmetric, nullptr);
constinit const Dialect kAqtHalvesDialect = aqtRow("aqt_halves", "AQT without a zero: levels between the integers",
                                                   IntegerLevels::Halves, [](float half) { return half; });

} // namespace qs
