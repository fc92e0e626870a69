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
/// Facts about all rows of an analysis that has more rows than memory should hold. The result then has only some rows,
/// those of whole tensors, and the plan has only these tensors.
struct WholeAnalysis {
    const AnalysisPlan* plan = nullptr; ///< the plan of all rows
    std::vector<SpecTotal> totals;
    std::vector<std::string> remarks;
};
/// What there is of such a report: plots of how all tensors lie are left out.
inline constexpr ReportContents kPartContents{true, false, true, false, true, false};
using Provenance = std::vector<std::pair<std::string, std::string>>;
/// The provenance of a measurement on a model: its files with their SHA-256, the specs, the machine.
Result<Provenance> modelProvenance(const Model& model, const std::string& specs, const std::string& commandLine,
                                   const Job& job = {});
/// Says which quantized layers are left out because they are not decoded: as the array "left_out", as a section, and, if
/// rows are of tensors, units or classes, as a refused row for each spec. `specs`: as the rows name them; {""}: one row.
void addLeftOut(const Model& model, const std::vector<std::string>& specs, Report& report);
/// Says a seed that was used, in place of "none"; several stand behind each other.
void addSeed(Provenance& provenance, const std::string& seed);
/// Hashes the input files (on its own thread while rows are made, when called through analyse(); here it waits).
Result<Report> analysisReport(const AnalysisPlan& plan, const AnalysisResult& result, const ReportContents& contents,
                              const std::string& commandLine, const Job& job = {},
                              const WholeAnalysis* whole = nullptr);

} // namespace qs
