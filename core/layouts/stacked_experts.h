// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The matrices of a layer's experts in one tensor, [experts, out, in], as mlx_lm has them. It stacks those of most networks
// itself, quantized or not; of some only as long as they are not quantized. Source: mlx_lm 0.32 models/*.py, sanitize().

#include "core/layouts/layout.h"

namespace qs {

/// True for a stack as mlx_lm names it: "layers.0.mlp.switch_mlp.up_proj.weight".
bool isSwitchStack(const TensorInfo& tensor);
/// Layout::stacked of mlx. Fails if the taken experts cannot be one stack, or if mlx_lm takes no stacks of the network.
Result<std::shared_ptr<const Model>> stackedExperts(const Model& model, std::vector<TakenTensor>& taken);

} // namespace qs
