// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"

namespace qs {

inline constexpr std::uint64_t kProgressElements = std::uint64_t(1) << 20; ///< between two progress reports

/// Called by the workers with the number of elements that are done.
using ElementsDone = std::function<void(std::uint64_t elements)>;
Result<TensorAnalysis> analyseTensor(const Model& model, const TensorInfo& tensor, const QuantSpec& spec,
                                     const AnalysisOptions& options, const Job& job, const ElementsDone& onElements);

} // namespace qs
