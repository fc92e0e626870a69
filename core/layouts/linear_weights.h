// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What loaders of Hugging Face folders replace by quantized layers: the matrices of linear layers, and nothing else.

#include "core/layouts/layout.h"

namespace qs {

/// "layers.0.q_proj.weight" is of "layers.0.q_proj"; a name that does not end so is its own module.
std::string_view moduleOf(std::string_view tensorName);
/// Or why loaders would not look for codes there.
Result<void> isLinearWeight(const TensorInfo& tensor);
/// Why loaders do not take it for a layer's matrix by its name.
Result<void> hasWeightName(const TensorInfo& tensor);
/// Linear modules that stay as they are, and "lm_head" where its weight is another's.
std::vector<std::string> keptModules(const Model& model, std::span<const TakenTensor> taken);
/// As PyTorch calls the type in which decoded values of a tensor are used.
const char* torchType(DType dtype);

/// Entries of config.json for what bitsandbytes loads.
struct BitsandbytesSettings {
    std::string type;    ///< "nf4", "fp4"; "": LLM.int8
    bool nested = false; ///< double quantization
};
std::string bitsandbytesConfig(const Model& model, std::span<const TakenTensor> taken,
                               const BitsandbytesSettings& settings);

} // namespace qs
