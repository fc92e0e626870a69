// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shared by the recipes of llama.cpp and of programs that build on it. They give each tensor a type of ggml.

#include "core/recipes/recipe_format.h"

namespace qs {

/// Sets the spec of a rule from the name of a ggml type, in upper or lower case. If this program cannot encode the
/// type, sets the problem of the rule.
void setGgmlType(RecipeRule& rule, const std::string& type);
/// The name of the ggml type for a spec. Error: there is none.
Result<std::string> ggmlTypeOf(const QuantSpec& spec, const char* program);
/// Whether llama-quantize changes a tensor (llama-quant.cpp, tensor_allows_quantization()).
Result<void> isQuantizedByLlama(const TensorInfo& tensor, const std::string& name);

} // namespace qs
