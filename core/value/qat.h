// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization-aware training of one layer: finds latent weights V that minimise ||X W^T - X Q(V)^T||^2 / ||X W^T||^2
// by gradient steps through the straight-through estimator. Uses Adam; the learning rate falls to 0 along half a
// cosine. Every step uses all inputs, so that runs are repeatable.

#include "core/base/machine_memory.h"
#include "core/value/operand.h"

#include <functional>
#include <optional>

namespace qs::value {

struct QatPlan {
    Tensor weight; ///< [..., K]: rows are output channels, as checkpoints store a linear layer
    Tensor inputs; ///< [M, K]
    QuantSpec spec;
    int steps = 200;
    double rate = 0.005; ///< learning rate of the first step, in units of the root mean square of the weights
};
struct QatStep {
    int step = 0;    ///< 0: rounding to nearest, before the first step
    double loss = 0; ///< output NMSE
    double best = 0; ///< the lowest loss so far
};
struct QatResult {
    QuantSpec spec;
    Tensor latent; ///< latent weights of the best step: Q(latent) under `spec` is the result
    double startLoss = 0, bestLoss = 0;
    int bestStep = 0;
    std::optional<double> weightNmse; ///< of Q(latent) against W; often worse than rounding to nearest
    bool stopped = false;             ///< by the callback, before the last step
    std::vector<QatStep> curve;
};
/// Memory for a tensor of `elements` with rows of `columns`, and `rows` rows of inputs: W, its gradient, both moments,
/// the current and the best latent weights, codes, and X or X^T X.
MemoryNeed qatNeed(std::uint64_t elements, std::uint64_t columns, std::uint64_t rows);
/// `onStep` runs on the caller's thread after every evaluation; if it returns false, training ends with the best result
/// so far. A cancelled job gives no result.
Result<QatResult> trainQat(const QatPlan& plan, const Job& job, const std::function<bool(const QatStep&)>& onStep = {});

} // namespace qs::value
