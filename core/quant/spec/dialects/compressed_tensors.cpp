// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/dialects/rows.h"

#include <cfloat>

namespace qs {
namespace {

float vllmScale(const EncodePlan& plan, float bound) {
    const float scale = bound / plan.range();
    if (scale != 0) return scale;
    if (plan.encoder() == Encoder::RoundInteger) return FLT_EPSILON;
    return plan.scaleType().holdsNoZero ? scale : 1.0f;
}

} // namespace

constinit const Dialect kCompressedTensorsDialect = {
    .id = "ct",
    .title = "compressed-tensors",
    .source = "compressed-tensors 0.20.1 quantization/utils/helpers.py, mxfp_utils.py, lifecycle/forward.py",
    .takes = [](const FormatTraits& f) { return f.kind == FormatKind::Integer || f.ownScale != OwnScale::F32; },
    .defines = [](const FormatTraits& f) { return f.ownScale != OwnScale::F32; },
    .integers = IntegerLevels::All,
    .integerRange = [](float half) { return half - 0.5f; },
    .roundsMaximumUp = true,
    .scaleOf = vllmScale,
    .affineScale = [](float scale) { return scale == 0 ? FLT_EPSILON : scale; },
};

} // namespace qs
