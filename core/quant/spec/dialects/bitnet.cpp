// SPDX-License-Identifier: GPL-3.0-or-later
// BitNet b1.58: round(x / mean|x|) to -1, 0 and +1, one scale per matrix.
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/dialects/rows.h"

#include <fmt/format.h>

namespace qs {

constinit const Dialect kBitNetDialect = {
    .id = "bitnet",
    .title = "BitNet b1.58",
    .source = "Ma et al. 2024, arXiv 2402.17764",
    .takes = [](const FormatTraits& f) { return f.encoder == Encoder::Threshold; },
    .defaultScale = ScaleKind::Tensor,
    .check = [](const QuantSpec& spec) -> Result<void> {
        if (spec.scaleKind() != ScaleKind::None) return {};
        return advise(fmt::format("dialect={} of {} needs a scale", kBitNetDialect.id, spec.format),
                      {fmt::format("{}:scale=tensor:dialect={}", spec.format, kBitNetDialect.id)});
    },
    .encoder = Encoder::RoundTernary,
};

} // namespace qs
