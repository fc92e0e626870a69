// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Weights of ONNX Runtime's own operators (domain com.microsoft) that hold several codes in a byte, or blocks with scales.
// Source of each formula: the schemas of ONNX Runtime 1.32 (docs/ContribOperators.md).

#include "core/model/conventions/layer.h"
#include "core/model/onnx/quantized_nodes.h"

#include <functional>
#include <memory>
#include <optional>

namespace qs::onnx {

/// One weight of a node.
struct PackedWeight {
    std::string codes;              ///< name of the tensor with its codes
    std::vector<std::string> parts; ///< names of all its tensors; an empty name: it has none
    Result<std::shared_ptr<const Layer>> layer;
};
/// Finds a constant tensor by name; null: it is none.
using FindConstant = std::function<std::optional<qs::Field>(const std::string& name)>;

/// True for operators that packedWeights() knows. The domain is com.microsoft.
bool hasPackedWeights(std::string_view op);
/// The weights of a node whose codes are constants of the model.
std::vector<PackedWeight> packedWeights(const Node& node, const FindConstant& find);

} // namespace qs::onnx
