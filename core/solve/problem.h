// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shared by all solvers: weights as f32, decoded values of a solution, and the power of the layer's output error.

#include "core/solve/solver.h"

namespace qs::solve {

Result<void> checkProblem(const Problem& problem);
std::vector<float> weightsOf(const TensorView& weight);
/// The decoded values of a solution, without padding, divided by the column scales.
Result<std::vector<float>> decodedOf(const Problem& problem, const Solved& solved, const Job& job);
/// The values of a layer [outputs, K], of those that are stored as [K, outputs] too; and back.
std::vector<float> outputsFirst(const TensorInfo& layer, std::vector<float> stored);
std::vector<float> asStored(const TensorInfo& layer, std::vector<float> outputsFirst);
/// ||X (V - W)^T||^2 of values [outputs, K], with V = 0 where `decoded` is empty; none when cancelled.
std::optional<double> outputPower(const value::Tensor& inputs, std::span<const float> w, std::span<const float> decoded,
                                  const Job& job);
/// An f32 tensor in memory of the weight's name and shape.
TensorInfo f32Info(const TensorInfo& like);

/// E[x_j^2] per column of the inputs.
std::vector<float> meanSquares(const value::Tensor& inputs);
/// The codebook of a spec that learns one, columns weighted by E[x^2]; null for all others.
Result<std::shared_ptr<const LearnedLevels>> weightedLevels(const TensorView& weight, const QuantSpec& spec,
                                                            std::span<const float> meanSquares, const Job& job);

Result<void> gptqAccepts(const QuantSpec& spec, const Settings& settings);
Result<Solved> runGptq(const Problem& problem, std::string& remark, const Job& job);
Result<void> awqAccepts(const QuantSpec& spec, const Settings& settings);
Result<Solved> runAwq(const Problem& problem, std::string& remark, const Job& job);
/// The scales of `values` (columns scaled) by the best of ten clips for each group of a row.
Result<std::vector<GroupParams>> clippedParams(const Problem& problem, const std::vector<float>& values,
                                               const std::vector<float>& columnScales,
                                               const std::shared_ptr<const LearnedLevels>& levels, const Job& job);

} // namespace qs::solve
