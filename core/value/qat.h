// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantization-aware training of one layer: latent weights V that minimise ||X W^T - X Q(V)^T||^2 / ||X W^T||^2 by
// gradient steps through the straight-through estimator. Adam; the rate falls to 0 along half a cosine; all inputs take
// part in every step, so that runs repeat.

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
    double rate = 0.005; ///< of the first step, in units of the weights' root mean square
};
struct QatStep {
    int step = 0;    ///< 0: rounding to nearest, before any step
    double loss = 0; ///< output NMSE
    double best = 0; ///< so far
};
struct QatResult {
    QuantSpec spec;
    Tensor latent; ///< of the best step: Q(latent) under `spec` is the result
    double startLoss = 0, bestLoss = 0;
    int bestStep = 0;
    std::optional<double> weightNmse; ///< of Q(latent) against W: may well be worse than rounding to nearest
    bool stopped = false;             ///< by the callback, before all steps were made
    std::vector<QatStep> curve;
};
/// `onStep` runs on the caller's thread after every evaluation; false ends the training and keeps what it has. A
/// cancelled job gives nothing.
/// Of a tensor of `elements` with rows of `columns`, on `rows` of inputs: W, its gradient, both moments, the latent
/// weights now and at their best, codes, and X or X^T X.
MemoryNeed qatNeed(std::uint64_t elements, std::uint64_t columns, std::uint64_t rows);
Result<QatResult> trainQat(const QatPlan& plan, const Job& job, const std::function<bool(const QatStep&)>& onStep = {});

} // namespace qs::value
