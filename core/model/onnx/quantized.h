// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Weights that an ONNX model stores as integers: initializers that a DequantizeLinear node reads with a constant scale.

#include "core/model/model.h"
#include "core/model/onnx/graph.h"

namespace qs::onnx {

/// Puts the values in the place of the integers, the scale and the zero point, where these are tensors of the model. Of a
/// node that reads what another one computes, or scales of blocks, the tensors stay as they are.
void addQuantizedLayers(Model& model, const std::vector<Dequantize>& nodes);

} // namespace qs::onnx
