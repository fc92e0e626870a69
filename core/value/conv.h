// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// conv_general_dilated with any number of spatial axes, in JAX's default layout: x is (batch, features, spatial...),
// the kernel is (out, in, spatial...). Both operands are decoded first; sums are f64 and rounded once.

#include "core/value/operand.h"

#include <utility>

namespace qs::value {

struct ConvOptions { // one value per spatial axis; empty: 1 for all, and no padding
    Shape strides, inputDilation, kernelDilation;
    std::vector<std::pair<std::int64_t, std::int64_t>> padding; ///< before and after the data; may be negative
    std::int64_t featureGroups = 1;
};
Result<Tensor> convGeneralDilated(const Operand& x, const Operand& kernel, const ConvOptions& options,
                                  const Job& job = {});

} // namespace qs::value
