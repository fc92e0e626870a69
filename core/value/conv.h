// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// conv_general_dilated: any number of spatial axes; x is (batch, features, spatial...), the kernel (out, in, spatial...),
// as JAX's default. Both sides materialize; sums are f64 and rounded once.

#include "core/value/operand.h"

#include <utility>

namespace qs::value {

struct ConvOptions { // per spatial axis; empty: 1 everywhere, no padding
    Shape strides, inputDilation, kernelDilation;
    std::vector<std::pair<std::int64_t, std::int64_t>> padding; ///< before and after; may be negative
    std::int64_t featureGroups = 1;
};
Result<Tensor> convGeneralDilated(const Operand& x, const Operand& kernel, const ConvOptions& options,
                                  const Job& job = {});

} // namespace qs::value
