// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Finds the tensors of a model that are the weights of a network. Every name and every shape is checked; nothing is
// loaded.

#include "core/eval/network/architecture.h"
#include "core/model/model.h"

#include <map>

namespace qs::eval {

struct FoundWeight {
    std::vector<const TensorInfo*> tensors; ///< one, or one for each expert
    const TensorInfo* bias = nullptr;
    const TensorInfo* weight() const { return tensors.front(); }
};
using FoundWeights = std::map<WeightRole, FoundWeight>;

struct NetworkTensors {
    bool isGguf = false;
    FoundWeights outside; ///< weights that belong to no layer
    std::vector<FoundWeights> layers;
};
/// See NetworkWeights::of().
Result<NetworkTensors> findWeights(const Model& model, Network& network);

/// Whether the matrix of a layer is [inputs, outputs]. Loaders that replace such a layer by a quantized linear one store
/// it as [outputs, inputs]: see core/layouts/conv1d.h.
bool isStoredInputsFirst(const Architecture& family, bool isGguf, const TensorInfo& tensor);
/// The shape that a weight must have, as [outputs, inputs].
std::vector<std::int64_t> shapeOf(WeightRole role, const Network& network);
/// The first name of a role in GGUF files or in other files; "" if these have no name for it.
std::string nameOf(std::span<const WeightName> names, WeightRole role, bool isGguf);

} // namespace qs::eval
