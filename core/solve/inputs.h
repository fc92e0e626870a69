// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Reads the calibration inputs of layers from a file. A tensor with the layer's name holds the inputs [..., K], with K
// from inputsOfLayer(). If it has one axis, it holds only the column weights E[x^2]. An importance matrix of llama.cpp
// also holds column weights: NAME.in_sum2 / NAME.counts. If a tensor holds all experts, their sums are added; an expert
// that no token has reached has weights of 1. NAME.gram, F64 [K, K], is X^T X of all inputs, and NAME.rows, I64 [1],
// their number.

#include "core/value/tensor.h"

#include <optional>

namespace qs::solve {

/// The inputs of a layer, [rows, K]; without a file 512 synthetic rows. If the file has only X^T X, returns K rows R with
/// R^T R = X^T X, so that ||R E^T|| = ||X E^T|| for any E. With `asTheyWere` that is an error.
Result<value::Tensor> inputsOf(const Model* file, const TensorInfo& layer, bool asTheyWere = false);
/// E[x_j^2] for each input j of the layer (core/model/output_axis.h); nullopt if the file has nothing for this layer.
Result<std::optional<std::vector<float>>> columnWeightsOf(const Model& file, const TensorInfo& layer);

} // namespace qs::solve
