// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/analysis/analysis.h"
#include "core/report/report.h"

namespace qs {

/// Which parts a report holds; the report page shows them as checkboxes.
struct ReportContents {
    bool summary = true, heatMaps = true, ranking = true, histograms = true, tensors = true, codebooks = true;
    bool folders = false; ///< of the files, in the provenance; applied by who knows all paths: see withoutFolders()
};
using Provenance = std::vector<std::pair<std::string, std::string>>;
/// Of what is measured on a model: its files with their SHA-256, the specs, the machine.
Result<Provenance> modelProvenance(const Model& model, const std::string& specs, const std::string& commandLine,
                                   const Job& job = {});
/// Hashes the input files (on its own thread while rows are made, when called through analyse(); here it waits).
Result<Report> analysisReport(const AnalysisPlan& plan, const AnalysisResult& result, const ReportContents& contents,
                              const std::string& commandLine, const Job& job = {});

} // namespace qs
