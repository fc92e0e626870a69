// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Calibration inputs of layers, out of a file: a tensor of the layer's name holds the inputs [..., K], K as
// inputsOfLayer() says, or, with one axis,
// the column weights E[x^2] alone; so does an importance matrix of llama.cpp (NAME.in_sum2 over NAME.counts; of a
// tensor that holds all experts they are added up, and one that no token has reached has weights of 1). NAME.gram, F64 [K, K], is X^T X of all inputs, and NAME.rows, I64 [1], their number.

#include "core/value/tensor.h"

#include <optional>

namespace qs::solve {

/// [rows, K], at most `most` rows from the first on; synthetic ones without a file. Where the file has X^T X instead: K
/// rows R with R^T R = X^T X, so that ||R E^T|| = ||X E^T|| for any E; an error where `asTheyWere`.
Result<value::Tensor> inputsOf(const Model* file, const TensorInfo& layer, std::int64_t most, bool asTheyWere = false);
/// E[x_j^2] per index of the layer's inputs (core/model/output_axis.h); none where the file has nothing for the layer.
Result<std::optional<std::vector<float>>> columnWeightsOf(const Model& file, const TensorInfo& layer);

} // namespace qs::solve
