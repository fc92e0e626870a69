// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantized weights of ONNX models: integer initializers that a DequantizeLinear node reads, with a constant scale.

#include "core/model/model.h"
#include "core/model/onnx/graph.h"

namespace qs::onnx {

/// Replaces integers, scale and zero point with the dequantized tensor, if all of them are tensors of the model.
/// Otherwise, and for blockwise scales, the tensors stay as they are.
void addQuantizedLayers(Model& model, const std::vector<Dequantize>& nodes);

} // namespace qs::onnx
