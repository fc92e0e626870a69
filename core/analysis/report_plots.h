// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// The plots of an analysis, one per spec. `specs[s]` are the rows under plan.specs[s].

#include "core/analysis/analysis.h"
#include "core/report/report.h"

namespace qs {

using RowsBySpec = std::vector<std::vector<AnalysisRow>>;
using PooledBySpec = std::vector<std::shared_ptr<const Distribution>>; ///< empty: the rows have their own

/// Layer x role; specs whose ranges lie close share their colours.
std::vector<Plot> placeMaps(const AnalysisPlan& plan, const RowsBySpec& specs, const Metric& metric);
/// The 12 worst tensors under each spec.
std::vector<Plot> rankings(const AnalysisPlan& plan, const RowsBySpec& specs, const Metric& metric);
/// How many tensors lie where.
std::vector<Plot> distributions(const AnalysisPlan& plan, const RowsBySpec& specs, const Metric& metric);
/// Signed error of all weights: its density over a symmetric logarithmic axis with the percentiles of its size, and
/// its cumulative distribution. Nothing where histograms were not kept.
std::vector<Plot> errorSpreads(const AnalysisPlan& plan, const RowsBySpec& specs, const PooledBySpec& pooled);
/// Density of the scaled weights with the levels on it, and the share of each code.
std::vector<Plot> codebooks(const AnalysisPlan& plan, const RowsBySpec& specs, const PooledBySpec& pooled);

} // namespace qs
