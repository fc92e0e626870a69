// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Loads the values of single weights. `change`: other values for some weights; null: all as they are stored.

#include "core/eval/network/weight_change.h"
#include "core/eval/network/weight_matrix.h"

#include <span>

namespace qs::eval {

/// Whether a weight stays in 16 bits.
bool staysHalf(const TensorInfo& tensor, bool inputsFirst, const WeightChange* change);
/// [outputs, inputs]. `inputsFirst`: the tensor is [inputs, outputs] and is turned.
Result<std::vector<float>> loadMatrix(const Model& model, const TensorInfo& tensor, bool inputsFirst,
                                      const WeightChange* change, const Job& job);
/// The values of loadMatrix(); f16 and bf16 stay what they are where no value changes.
Result<WeightMatrix> loadStored(const Model& model, const TensorInfo& tensor, bool inputsFirst,
                                const WeightChange* change, const Job& job);
/// The same of `count` values from `begin` on, of a tensor that does not change.
Result<WeightMatrix> loadPart(const Model& model, const TensorInfo& tensor, std::size_t begin, std::size_t count,
                              const WeightChange* change, const Job& job);
/// Whether the experts of a tensor change one by one.
bool changesByExpert(const WeightChange* change, const TensorInfo& tensor);
/// The new values of one expert of a tensor [experts, ...] for which changesByExpert() is true.
Result<std::vector<float>> loadChangedExpert(const Model& model, const TensorInfo& tensor, std::size_t expert,
                                             const WeightChange& change, const Job& job);
/// Whether the values of a weight are others than those that are stored.
bool isChanged(const WeightChange* change, const TensorInfo& tensor);
/// Whether the change's server multiplies with a matrix of a layer.
bool isServed(const WeightChange* change, const TensorInfo& tensor);
/// A matrix of a layer [outputs, inputs] that the change's server holds. `begin`: its first value in the tensor.
Result<WeightMatrix> loadServed(const Model& model, const TensorInfo& tensor, std::span<const std::int64_t> shape,
                                std::size_t begin, bool inputsFirst, const WeightChange& change, const Job& job);
/// [tokens, hidden]: the rows of a table, as they are stored or changed.
Result<std::vector<float>> loadRows(const Model& model, const TensorInfo& table, std::span<const std::int32_t> tokens,
                                    const WeightChange* change, const Job& job);

} // namespace qs::eval
