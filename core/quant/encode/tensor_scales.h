// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What the scales of groups need to know of the whole tensor, where they are too many to be kept.

#include "core/quant/encode/double_quant.h"

#include <optional>

namespace qs {

struct TensorScales {
    float largest = 0;                ///< of all bounds: see EncodePlan::withTensorBound()
    std::optional<NestedGrid> nested; ///< scaletype=u8dq
};

} // namespace qs
