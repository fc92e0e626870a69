// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Other values for some weights of a network, to see what they do to its output: quantized and decoded, with noise added,
// or those of another model.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

#include <functional>

namespace qs::eval {

struct WeightChange {
    std::string name;   ///< for people: the spec, the recipe or the file
    std::string detail; ///< what it is to the last setting, for provenance
    /// Whether the values of a weight change at all. The others are used as they are stored.
    std::function<bool(const TensorInfo& tensor)> touches;
    /// The new values, in the stored shape. `stored`: the values as they are.
    std::function<Result<std::vector<float>>(const TensorInfo& tensor, const TensorView& stored, const Job& job)>
        values;
};

/// All matrices of the layers quantized under one spec and decoded again.
WeightChange quantizedAs(QuantSpec spec);

} // namespace qs::eval
