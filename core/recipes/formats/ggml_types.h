// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// What recipes of llama.cpp and of those who build on it have in common: a type of ggml for each tensor.

#include "core/recipes/recipe_format.h"

namespace qs {

/// Sets the spec of a rule by the name of a ggml type in any case, or its problem where we do not encode the type.
void setGgmlType(RecipeRule& rule, const std::string& type);
/// The name of the ggml type of a spec. Error: it is none.
Result<std::string> ggmlTypeOf(const QuantSpec& spec, const char* program);
/// Whether llama-quantize changes a tensor (llama-quant.cpp, tensor_allows_quantization()).
Result<void> isQuantizedByLlama(const TensorInfo& tensor, const std::string& name);

} // namespace qs
