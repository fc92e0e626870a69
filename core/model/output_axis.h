// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Which axis of a weight is that of the output channels. PyTorch, GGUF and TensorFlow Lite keep it first: [out, in],
// [out, in, height, width]. Keras, Flax and the Conv1D of transformers keep it last: [in, out], [height, width, in, out].
// Names and the type of the model say it; an ONNX graph says how each matrix is multiplied.

#include "core/model/model.h"

namespace qs {

/// Sets TensorInfo::outputLast of all tensors of a model that was opened.
void markOutputAxes(Model& model);

/// A matrix of a linear layer in models whose type is one of GPT-2's kin. Source: transformers pytorch_utils.py (Conv1D).
bool isConv1dName(std::string_view tensorName);
bool isConv1dType(std::string_view modelType);

} // namespace qs
