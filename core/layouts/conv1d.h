// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// GPT-2 and related models store matrices as [in, out] (Conv1D of transformers). Loaders of bitsandbytes and GPTQ replace
// each by a linear layer, whose matrix is [out, in], and expect codes of that matrix. Other loaders make no quantized
// module of it. Sources: transformers pytorch_utils.py (Conv1D), integrations/bitsandbytes.py; optimum
// gptq/quantizer.py (_replace_by_quant_layers); gptqmodel quantization/gptq.py.

#include "core/layouts/layout.h"
#include "core/model/tensors_to_write.h"

namespace qs {

/// The matrix of a Conv1D.
bool isConv1d(const TensorInfo& tensor);
/// Whether the layout writes the transposed matrix.
bool isTurned(const Layout& layout, const TensorInfo& tensor);
/// The tensor with the shape that the layout writes.
TensorInfo asWritten(const Layout& layout, const TensorInfo& tensor);
/// The transposed matrix. Null if the elements do not lie plain in a file.
std::shared_ptr<const TensorInfo> turned(const Model& model, const TensorInfo& tensor);
/// Of a network with such layers: whether this decoded layer is stored as their loaders take it, [out, in].
bool isStoredTurned(const Model& model, const TensorInfo& tensor);
/// Its values as the network itself stores them, [in, out]. The matrix is in memory while it is written.
Result<TensorToWrite> turnedBack(const Model& model, const TensorInfo& tensor);
/// Fails for the matrix of a Conv1D; `loader`: who makes no quantized module of it.
Result<void> isNoConv1d(const TensorInfo& tensor, const char* loader);

} // namespace qs
