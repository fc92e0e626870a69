// SPDX-License-Identifier: GPL-3.0-or-later
// The arithmetic of the formats' own rows in formats().
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/dialects/rows.h"

#include <cfloat>

namespace qs {
namespace {

bool isOwnFormat(const FormatTraits& f) { return f.kind != FormatKind::Superblock && f.ownScale == OwnScale::F32; }

float ownScale(const EncodePlan& plan, float bound) {
    const float scale = bound / plan.range();
    if (plan.encoder() == Encoder::RoundInteger) return scale + FLT_MIN;
    if (plan.encoder() == Encoder::RoundFloat && scale == 0) return 1;
    return scale;
}

} // namespace

constinit const Dialect kEformerDialect = {
    .id = "eformer",
    .title = "eformer",
    .source = "eformer quantization_functions; what FormatTraits::source says",
    .takes = isOwnFormat,
    .defines = isOwnFormat,
    .isOwnArithmetic = true,
    .scaleOf = ownScale,
};

} // namespace qs
