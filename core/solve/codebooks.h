// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Learns codebooks for many tensors: one for each tensor, one for each role in all layers, or one for all tensors.
// Columns are weighted by calibration inputs if there are any.

#include "core/quant/codebook/learn.h"

#include <map>

namespace qs::solve {

enum class Share { Tensor, Role, Model };
struct ShareTraits {
    Share share;
    const char* id;
    const char* title;
};
std::span<const ShareTraits> shares();

using Codebooks = std::map<const TensorInfo*, std::shared_ptr<const LearnedLevels>>;
/// Learns codebooks for the tensors that the spec takes; other tensors get none. `activations` may be null. Tensors
/// without activations are not weighted.
Result<Codebooks> learnCodebooks(const Model& model, std::span<const TensorInfo* const> tensors, const QuantSpec& spec,
                                 Share share, const Model* activations, const Job& job);

} // namespace qs::solve
