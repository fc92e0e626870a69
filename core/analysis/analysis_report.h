// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"
#include "core/report/report.h"

namespace qs {

/// Which parts a report holds; the report page shows them as checkboxes.
struct ReportContents {
    bool summary = true, heatMaps = true, ranking = true, histograms = true, tensors = true, codebooks = true;
};
/// Hashes the input files (on its own thread while rows are made, when called through analyse(); here it waits).
Result<Report> analysisReport(const AnalysisPlan& plan, const AnalysisResult& result, const ReportContents& contents,
                              const std::string& commandLine, const Job& job = {});

} // namespace qs
