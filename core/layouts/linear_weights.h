// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Loaders of Hugging Face folders replace linear layers by quantized ones, and nothing else. These functions find them.

#include "core/layouts/layout.h"

namespace qs {

/// "layers.0.q_proj" for "layers.0.q_proj.weight"; other names are returned as they are.
std::string_view moduleOf(std::string_view tensorName);
/// Fails with the reason if the tensor is not the matrix of a linear layer.
Result<void> isLinearWeight(const TensorInfo& tensor);
/// Fails if the name does not end with .weight.
Result<void> hasWeightName(const TensorInfo& tensor);
/// The matrix of one of several experts: "layers.0.mlp.experts.3.down_proj.weight".
bool isExpertMatrix(std::string_view tensorName);
/// isLinearWeight() and hasWeightName(), and fails for what transformers keeps in full precision in every layout.
Result<void> isTransformersLinear(const TensorInfo& tensor);
/// Layout::staysIn of loaders of transformers: matrices that a network uses in another way than as a linear layer.
std::string transformersKeeps(const Model& model, const TensorInfo& tensor);
/// Modules of the linear matrices that are not quantized.
std::vector<std::string> keptMatrices(const Model& model, std::span<const TakenTensor> taken);
/// The same under every name that they may have in the network (NetworkNames::all()), and output heads that are no tensor
/// of the file, because they are tied to the embedding. Fails if names in the network are not known, or if the network
/// splits a quantized matrix.
Result<std::vector<std::string>> keptModules(const Model& model, std::span<const TakenTensor> taken);
/// PyTorch's name of the type in which decoded values are used.
const char* torchType(DType dtype);

/// What the entries of config.json for bitsandbytes depend on.
struct BitsandbytesSettings {
    std::string type;    ///< "nf4", "fp4"; "": LLM.int8
    bool nested = false; ///< double quantization
};
/// isTransformersLinear(), and fails for experts, which transformers 5 stacks: bitsandbytes has no stacked layers.
Result<void> isBitsandbytesLinear(const TensorInfo& tensor);
Result<std::string> bitsandbytesConfig(const Model& model, std::span<const TakenTensor> taken,
                                       const BitsandbytesSettings& settings);

} // namespace qs
