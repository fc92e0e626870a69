// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/bench/report/bench_charts.h"
#include "core/bench/report/compare.h"
#include "core/report/report.h"

namespace qs {

/// Tables and plots of a run; `compared` is empty without a baseline. The JSON has rows, roofs, model and compared.
Report benchmarkReport(const BenchmarkPlan& plan, const BenchmarkRun& run,
                       const std::vector<ComparedRow>& compared = {});

/// Folders of the model and of libraries: see withoutFolders().
std::vector<std::string> benchPaths(const BenchmarkPlan& plan);

std::vector<Plot> benchmarkPlots(const BenchmarkRun& run);

} // namespace qs
