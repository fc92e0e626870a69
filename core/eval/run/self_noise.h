// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The noise floor: the KL between a network and itself if only the order of its sums differs. A mean KL near the floor
// says nothing about the weights.

#include "core/eval/run/evaluate.h"

namespace qs::eval {

/// The same network with the values of every head in reverse order. Rows of the value matrix and columns of the output
/// matrix are reversed. In exact arithmetic the layer computes the same. In f32 the sums of the output matrix are added
/// in another order, and all later layers get the difference.
WeightChange inAnotherOrder();

constexpr std::size_t kFloorChunks = 2; ///< chunks to measure; few, so that the floor costs little

/// The mean KL of the plan's reference against its network inAnotherOrder(), over the first chunks, in nats; not below
/// 0. If the reference comes from a file, the rounding of the file is included. Nullopt if logits are not finite.
/// Errors: those of evaluate().
Result<std::optional<double>> selfNoise(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job);

} // namespace qs::eval
