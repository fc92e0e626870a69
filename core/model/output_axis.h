// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the axis of the output channels of a weight. PyTorch, GGUF and TensorFlow Lite store it first: [out, in], [out,
// in, height, width]. Keras, Flax and Conv1D of transformers store it last: [in, out], [height, width, in, out]. It
// follows from the tensor's name and the model type. For ONNX, the graph shows how each matrix is multiplied.

#include "core/model/model.h"

namespace qs {

/// Sets TensorInfo::outputLast of all tensors of an opened model.
void markOutputAxes(Model& model);

/// True for the weight of a Conv1D layer, as in GPT-2; isConv1dType() is true for model types that use them. Source:
/// transformers, pytorch_utils.py, class Conv1D.
bool isConv1dName(std::string_view tensorName);
bool isConv1dType(std::string_view modelType);

/// Whether a layer's matrix is stored [inputs, outputs]. Others have the inputs as their last axis.
inline bool isInputsFirst(const TensorInfo& layer) { return layer.outputLast && layer.shape.size() == 2; }
/// Values of one input of a layer.
inline std::int64_t inputsOfLayer(const TensorInfo& layer) {
    return isInputsFirst(layer) ? layer.shape.front() : layer.lastAxis();
}

} // namespace qs
