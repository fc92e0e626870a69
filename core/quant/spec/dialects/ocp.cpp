// SPDX-License-Identifier: GPL-3.0-or-later
// OCP Microscaling: a scale is 2^(floor(log2 of the largest magnitude) - the exponent of the largest level).
#include "core/quant/encode/encode_plan.h"
#include "core/quant/spec/dialects/rows.h"

namespace qs {

constinit const Dialect kOcpDialect = {
    .id = "ocp",
    .title = "OCP Microscaling",
    .source = "OCP Microscaling Formats (MX) 1.0, section 6.3; torchao's floor",
    .takes = [](const FormatTraits& f) { return f.ownScale == OwnScale::E8m0; },
};

} // namespace qs
