// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Shared by all solvers: weights as f32, decoded values of a solution, and the power of the layer's output error.

#include "core/solve/solver.h"

namespace qs::solve {

Result<void> checkProblem(const Problem& problem);
std::vector<float> weightsOf(const TensorView& weight);
/// The decoded values of a solution, without padding, divided by the column scales.
Result<std::vector<float>> decodedOf(const Problem& problem, const Solved& solved, const Job& job);
/// Converts stored values of a layer to [outputs, K]; they may be stored as [K, outputs]. asStored() converts back.
std::vector<float> outputsFirst(const TensorInfo& layer, std::vector<float> stored);
std::vector<float> asStored(const TensorInfo& layer, std::vector<float> outputsFirst);
/// ||X (V - W)^T||^2 for values V, W of [outputs, K]. If `decoded` is empty, V is 0. Nullopt if cancelled.
std::optional<double> outputPower(const value::Tensor& inputs, std::span<const float> w, std::span<const float> decoded,
                                  const Job& job);
/// Describes an f32 tensor in memory with the name and shape of the weight.
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
/// The scales of `values`, whose columns are already scaled. For each group it tries ten clips and takes the best.
Result<std::vector<GroupParams>> clippedParams(const Problem& problem, const std::vector<float>& values,
                                               const std::vector<float>& columnScales,
                                               const std::shared_ptr<const LearnedLevels>& levels, const Job& job);

} // namespace qs::solve
