// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The noise floor: what an evaluation shows between a network and itself when only the order of its sums differs. A mean
// KL near the floor says nothing of the weights.

#include "core/eval/run/evaluate.h"

namespace qs::eval {

/// The same network with the values of every head in reverse order: rows of the value matrix, and with them columns of the
/// output matrix. In exact arithmetic the layer computes the same; in f32 the sums of the output matrix are added in
/// another order, and all layers behind see the difference.
WeightChange inAnotherOrder();

constexpr std::size_t kFloorChunks = 2; ///< of the text, so that the floor costs little

/// Mean KL of the plan's reference against its network inAnotherOrder(), over the first chunks; nats, not below 0. Where
/// the reference comes from a file, the rounding of the file is part of it. Nothing where logits are not finite. Errors:
/// as evaluate().
Result<std::optional<double>> selfNoise(std::shared_ptr<const Model> model, const EvaluationPlan& plan, const Job& job);

} // namespace qs::eval
