// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Codebooks learned from the values that they will stand for: Lloyd-Max, from the optimum of k-means over a histogram,
// then refined over every value. What is minimised is the squared error of the tensors, not of the scaled values.

#include "core/base/job.h"
#include "core/model/model.h"
#include "core/quant/spec/spec.h"

#include <memory>
#include <vector>

namespace qs {

struct Run;

/// In units of the scale.
struct LearnedLevels {
    std::vector<float> levels;     ///< ascending, 2^bits
    std::vector<float> boundaries; ///< see kernels/level_boundaries.h
    int zeroCode = 0;              ///< of the level that 0 has
};
LearnedLevels withBoundaries(std::vector<float> levels);

bool isLearned(const QuantSpec& spec);
const FormatTraits& learnedFormat(); ///< whose levels are learned
/// Puts the levels into a run of NearestLevel; they outlive it.
void useLevels(Run& run, const LearnedLevels& levels);

struct LearnSource {
    TensorView view;
    std::span<const float> columnWeights = {}; ///< E[x^2] per input of the layer, see inputsOfLayer(); empty: all alike
};
/// One codebook for all sources, whatever the number of threads. NaN and Inf are left out.
Result<LearnedLevels> learnLevels(std::span<const LearnSource> sources, const QuantSpec& spec, const Job& job);
/// That of a tensor by itself; the latest ones are kept.
Result<std::shared_ptr<const LearnedLevels>> levelsOf(const TensorView& view, const QuantSpec& spec, const Job& job);

} // namespace qs
