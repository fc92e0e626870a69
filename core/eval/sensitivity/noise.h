// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Changes of weights by noise of a known size, and the size of any change.

#include "core/eval/network/weight_change.h"

namespace qs::eval {

constexpr std::uint64_t kNoiseSeed = 18;

/// Adds noise to every matrix, so that ||V - W||^2 / ||W||^2 is `nmse` within f32 rounding. The noise is normally
/// distributed and depends only on the tensor's name and the place. So noise of two sizes has the same direction.
WeightChange withNoise(double nmse);

/// ||V - W||^2 and ||W||^2 of a change; values that are not finite are left out.
struct SquaredError {
    double error = 0, power = 0;
};
Result<SquaredError> squaredError(const TensorInfo& tensor, const TensorView& stored, const WeightChange& change,
                                  const Job& job);

} // namespace qs::eval
