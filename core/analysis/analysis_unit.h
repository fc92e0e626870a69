// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// A tensor under a spec as a unit of a shared computation.

#include "core/analysis/analysis.h"

namespace qs {

/// The figures of a tensor under a spec: from `compute` or, if `units` is not null, from its record. The names of spec
/// and effects are those of this run. Nullopt: the unit is left out.
Result<std::optional<TensorAnalysis>> unitOfAnalysis(UnitRun* units, const Model& model, const TensorInfo& tensor,
                                                     const QuantSpec& spec, const OutputEffects* effects,
                                                     const Job& job,
                                                     const std::function<Result<TensorAnalysis>()>& compute);

} // namespace qs
