// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Quantized weights of ONNX models: codes in initializers with a constant scale, read by DequantizeLinear or by an
// operator that computes with codes.

#include "core/model/model.h"
#include "core/model/onnx/graph.h"

namespace qs::onnx {

/// Replaces codes, scales and zero points with the dequantized tensor, if all of them are tensors of the model. There is
/// one scale, one for each index of an axis, or one for each block along an axis (attribute block_size of opset 21).
/// The same for the weights of `packed`. What is not decoded stays as it is stored: its tensors are parts, and a warning
/// says why. So are the scales with which the model itself quantizes (`scales`).
void addQuantizedLayers(Model& model, const std::vector<Dequantize>& nodes, const std::vector<Node>& packed,
                        const std::vector<std::string>& scales);

} // namespace qs::onnx
